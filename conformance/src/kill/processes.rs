//! The laws of several processes that live at the same time.

use std::sync::Arc;

use sessionlog_core::{ErrorKind, Liveness, Store};

use super::child::Told;
use super::parent::Process;
use super::work::Who;
use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq, ensure_err};
use crate::files::Files;
use crate::law::law;
use crate::make::{at, events, request};
use crate::patience::patient;

pub(crate) const LAWS: &[Law] = &[
    law!(
        Kill,
        g06_another_process_sees_what_was_acknowledged,
        "A process that opens the store sees every acknowledged event, and what it appends is seen here, and followed.",
        Durable,
        SeveralProcesses,
        Child
    ),
    law!(
        Kill,
        g01_appends_of_several_processes_are_one_order,
        "Plain appends of several processes at once are all there once, in one dense order, each batch together.",
        Durable,
        SeveralProcesses,
        Child
    ),
    law!(
        Kill,
        g09_the_holder_in_another_process_is_told,
        "A lease that another process holds is told with its owner, and is free at once when that process is killed.",
        Durable,
        SeveralProcesses,
        PromptLeases,
        Child
    ),
    law!(
        Kill,
        g09_a_killed_holder_is_replaced_at_once,
        "The lease of a killed process can be taken as soon as the store is opened, with a larger token.",
        Durable,
        PromptLeases,
        Child
    ),
    law!(
        Kill,
        y08_files_are_private_whatever_the_umask,
        "With an umask of 000, every file has mode 0600 or less, and every folder 0700 or less.",
        Folder,
        PrivateFiles,
        Child
    ),
];

async fn prepared(bench: &Bench) -> Held<Handle> {
    let store = bench.open().await?;
    let session = Who("s", 1).session()?;
    store.create(&session).await?;
    store.put_events(&session, events(0..5)).await?;
    Ok(store)
}

/// A batch's events stand together: their numbers ascend by one, in threes.
fn in_threes(log: &[sessionlog_core::Event]) -> Held {
    for batch in log.chunks(3) {
        let numbers: Vec<_> = batch.iter().map(|e| crate::make::number_of(e.id)).collect();
        let first = numbers.first().copied().flatten().unwrap_or(0);
        let expected: Vec<_> = (first..first + 3).map(Some).collect();
        ensure_eq!(numbers, expected, "the events of a batch of three");
    }
    Ok(())
}

async fn g06_another_process_sees_what_was_acknowledged(bench: &Bench) -> Held {
    let store = prepared(bench).await?;
    let session = Who("s", 1).session()?;
    let mut follower = Store::shared(Arc::clone(&store))
        .open(&session.id)
        .await?
        .follow(at(5));
    let child = Process::start(bench, &bench.place, "visit", None, None)?;
    ensure_eq!(
        child.next()?,
        Some(Told::Seen(5)),
        "how many events the other process sees"
    );
    if bench.subject.live_notification == crate::Capability::Yes {
        for n in 5..65 {
            let next = patient(bench.options.patience, follower.next()).await;
            let seq = match next {
                Some(Some(event)) => event?.seq,
                other => {
                    return Err(breach(format!(
                        "a follower got {other:?} instead of event {n}"
                    )));
                }
            };
            ensure_eq!(
                seq,
                at(n),
                "the next event that was followed from the other process"
            );
        }
    }
    let ended = child.end()?;
    ended.sound()?;
    let log = store.log(&session).await?;
    ensure_eq!(
        log.len(),
        65,
        "events here after the other process appended 60"
    );
    in_threes(log.get(5..).unwrap_or_default())?;
    let next = store.put_events(&session, events(5..6)).await?;
    ensure_eq!(next.start, at(65), "where the next append here starts");
    Ok(())
}

async fn g01_appends_of_several_processes_are_one_order(bench: &Bench) -> Held {
    const CHILDREN: usize = 3;
    let store = prepared(bench).await?;
    let session = Who("s", 1).session()?;
    let mut children = Vec::new();
    for _ in 0..CHILDREN {
        children.push(Process::start(bench, &bench.place, "visit", None, None)?);
    }
    for child in children {
        child.end()?.sound()?;
    }
    let log = store.log(&session).await?;
    ensure_eq!(log.len(), 5 + CHILDREN * 60, "events in the log");
    in_threes(log.get(5..).unwrap_or_default())?;
    let mut ids: Vec<_> = log.iter().map(|e| e.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ensure_eq!(ids.len(), log.len(), "different events in the log");
    let opened = Store::shared(Arc::clone(&store)).open(&session.id).await?;
    let verified = opened
        .read(sessionlog_core::SeqNum::all())
        .collect()
        .await?;
    ensure_eq!(verified.len(), log.len(), "verified events");
    Ok(())
}

async fn g09_the_holder_in_another_process_is_told(bench: &Bench) -> Held {
    let store = prepared(bench).await?;
    let session = Who("s", 1).session()?;
    let child = Process::start(bench, &bench.place, "hold", None, None)?;
    let Some(Told::Done(0, Some(token))) = child.next()? else {
        return Err(breach("the child got no lease"));
    };
    match store.holder(&session).await? {
        Liveness::Live(Some(h)) if h.owner.as_str() == "child" && h.token.get() == token => {}
        other => {
            return Err(breach(format!(
                "the probe of a lease that a child holds says {other:?}"
            )));
        }
    }
    let held = store.acquire(&session, request("parent")?).await;
    ensure_err!(held, ErrorKind::LeaseHeld { holder, .. } if holder.owner.as_str() == "child", "a request beside the child's lease");
    store.put_events(&session, events(5..6)).await?;
    let ended = child.kill()?;
    ensure!(
        ended.killed,
        "the child ended before it was killed: {ended:?}"
    );
    ensure_eq!(
        store.holder(&session).await?,
        Liveness::Idle,
        "the probe after the holder was killed"
    );
    let lease = store.acquire(&session, request("parent")?).await?;
    ensure!(
        lease.token.get() > token,
        "the grant has token {}, the killed holder had {token}",
        lease.token
    );
    Ok(())
}

async fn g09_a_killed_holder_is_replaced_at_once(bench: &Bench) -> Held {
    let session = Who("s", 1).session()?;
    drop(prepared(bench).await?);
    let child = Process::start(bench, &bench.place, "hold", None, None)?;
    let Some(Told::Done(0, Some(token))) = child.next()? else {
        return Err(breach("the child got no lease"));
    };
    child.kill()?;
    let store = bench.open().await?;
    ensure_eq!(
        store.holder(&session).await?,
        Liveness::Idle,
        "the probe after the holder was killed"
    );
    let lease = store.acquire(&session, request("parent")?).await?;
    ensure!(
        lease.token.get() > token,
        "the grant has token {}, the killed holder had {token}",
        lease.token
    );
    let stale = sessionlog_core::AppendCondition::with(sessionlog_core::FencingToken::new(token));
    let late = store.append(&session, events(5..6), stale).await;
    ensure_err!(
        late,
        ErrorKind::Fenced { .. },
        "an append under the killed holder's token"
    );
    Ok(())
}

async fn g_private(bench: &Bench, work: &str) -> Held {
    let place = bench.new_place()?;
    let process = Process::start(bench, &place, work, None, Some("000"))?;
    process.end()?.sound()?;
    // The folder itself was made by the suite.
    let open = Files::below(place.dir())?.open_to_others();
    let open: Vec<_> = open.iter().filter(|line| !line.starts_with(' ')).collect();
    ensure!(open.is_empty(), "others than the owner may use: {open:?}");
    Ok(())
}

async fn y08_files_are_private_whatever_the_umask(bench: &Bench) -> Held {
    for work in ["appends", "lease", "beside", "delete"] {
        g_private(bench, work).await?;
    }
    Ok(())
}
