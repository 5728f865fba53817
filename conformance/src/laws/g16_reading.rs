//! G16: reading changes nothing, and stands in nobody's way.

use futures_util::StreamExt;
use sessionlog_core::{SeqNum, SessionRef, Severity};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::dump::Dump;
use crate::files::Files;
use crate::law::law;
use crate::laws::g03_durability::{fill, watch};
use crate::make::{event, events, id, request};

pub(super) const LAWS: &[Law] = &[
    law!(
        g16_reading_changes_no_byte,
        "No read, list, probe, verification or dry repair changes a byte or makes a file.",
        Folder
    ),
    law!(
        g16_reading_makes_no_call_that_changes,
        "Nor does it make a file call that could.",
        Folder,
        Calls
    ),
    law!(
        g16_opening_to_read_changes_no_byte,
        "Opening a store that is whole, reading it and closing it changes no byte.",
        Folder,
        SilentOpen
    ),
    law!(
        g16_an_open_read_blocks_no_writer,
        "While reads are under way, appends, leases, blobs and deletes work, on the same handle and on another."
    ),
    law!(
        g16_foreign_files_are_left_alone,
        "Files, folders and links that are not the store's are no sessions, are not followed, changed or deleted, and are reported.",
        Folder
    ),
];

/// Everything that reads.
async fn read_all(store: &Handle, sessions: &[SessionRef]) -> Held {
    Dump::of(store).await?;
    for session in sessions {
        store.verify(&session.id).await?;
        // Not every storage has something to mend.
        drop(store.repair(&session.id, false).await);
        store.holder(session).await?;
        drop(store.read(session, SeqNum::all()).next().await);
        store.changed(session, SeqNum::ZERO).await?;
        drop(
            store
                .latest(session, &crate::make::FOLD, 9, SeqNum::MAX)
                .await?,
        );
    }
    store.strays().await?;
    let missing = id("not-there")?;
    ensure!(
        store.head(&missing).await.is_err(),
        "a session that is not there has a head"
    );
    ensure!(
        store.verify(&missing).await.is_err(),
        "a session that is not there was verified"
    );
    Ok(())
}

async fn g16_reading_changes_no_byte(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let lease = store
        .lease(
            sessions.first().unwrap_or(&crate::make::fresh("x")?),
            "driver",
        )
        .await?;
    let before = Files::below(bench.place.dir())?;
    read_all(&store, &sessions).await?;
    before.same(
        &Files::below(bench.place.dir())?,
        "after everything that reads",
    )?;
    store.release(&lease).await?;
    Ok(())
}

async fn g16_reading_makes_no_call_that_changes(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let watch = watch(bench)?;
    read_all(&store, &sessions).await?;
    let calls = watch.counts();
    ensure_eq!(
        calls.calls() + calls.shared_maps,
        0,
        "calls that change files while reading: {calls:?}"
    );
    Ok(())
}

async fn g16_opening_to_read_changes_no_byte(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    drop(store);
    let before = Files::below(bench.place.dir())?;
    let store = bench.open().await?;
    before.same(&Files::below(bench.place.dir())?, "after opening")?;
    read_all(&store, &sessions).await?;
    before.same(
        &Files::below(bench.place.dir())?,
        "after opening and reading",
    )?;
    drop(store);
    before.same(&Files::below(bench.place.dir())?, "after closing")
}

async fn g16_an_open_read_blocks_no_writer(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let other = bench.beside(&store).await?;
    let mut left = sessions.len();
    for (session, writer) in sessions.iter().zip([&store, &other]) {
        writes_beside_reads(&store, session, writer).await?;
        left -= 1;
        ensure_eq!(
            store.ids().await?.len(),
            left,
            "sessions after a delete under open reads"
        );
    }
    Ok(())
}

/// Reads of one handle are under way, and a handle, the same or another, writes to the session.
async fn writes_beside_reads(store: &Handle, session: &SessionRef, writer: &Handle) -> Held {
    let blob = store
        .list(session)
        .next()
        .await
        .transpose()?
        .map(|info| info.id);
    let mut log = store.read(session, SeqNum::all());
    let mut names = store.sessions();
    let mut cards = store.scan(&crate::make::FOLD, 1);
    let mut bytes = store.get(
        session,
        blob.unwrap_or(sessionlog_core::BlobId::of(b"")),
        0..u64::MAX,
    );
    ensure!(
        log.next().await.is_some(),
        "a log of 12 events has no first chunk"
    );
    drop((names.next().await, cards.next().await, bytes.next().await));

    writer.put_events(session, vec![event(900)]).await?;
    let lease = writer.acquire(session, request("driver")?).await?;
    writer.put_under(session, events(901..903), &lease).await?;
    writer
        .put(session, crate::make::pieces(b"more", 2), Some(lease.token))
        .await?;
    writer.delete(session, Some(lease.token)).await?;
    drop((log, names, cards, bytes));
    Ok(())
}

async fn g16_foreign_files_are_left_alone(bench: &Bench) -> Held {
    let dir = bench.place.dir();
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let store = {
        std::fs::write(dir.join("notes.txt"), "somebody's notes\n")?;
        std::fs::create_dir(dir.join("photos"))?;
        std::fs::write(dir.join("photos").join("events.jsonl"), "{}\n")?;
        let outside = dir.with_file_name("outside");
        std::fs::create_dir(&outside)?;
        std::fs::write(outside.join("precious"), "not the store's")?;
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, dir.join("link"))?;
        bench.reopen(store).await?
    };
    let names = store.ids().await?;
    let expected: Vec<_> = sessions.iter().map(|s| s.id.clone()).collect();
    ensure_eq!(names, expected, "the sessions beside foreign files");
    let strays = store.strays().await?;
    for name in ["notes.txt", "photos", "link"] {
        let told = |f: &sessionlog_core::Finding| {
            f.severity == Severity::Note
                && f.place
                    .file
                    .as_deref()
                    .is_some_and(|file| file.contains(name))
        };
        let expected = cfg!(unix) || name != "link";
        ensure!(
            !expected || strays.iter().any(told),
            "{name} is not reported among the strays: {strays:?}"
        );
    }
    for session in &sessions {
        store.put_events(session, vec![event(900)]).await?;
        store.delete(session, None).await?;
    }
    drop(store);
    drop(bench.open().await?);
    let kept = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    ensure_eq!(
        kept(dir.join("notes.txt")),
        "somebody's notes\n",
        "the foreign file"
    );
    ensure_eq!(
        kept(dir.join("photos").join("events.jsonl")),
        "{}\n",
        "the file in the foreign folder"
    );
    ensure_eq!(
        kept(dir.with_file_name("outside").join("precious")),
        "not the store's",
        "the file behind the link"
    );
    Ok(())
}
