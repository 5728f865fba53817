//! What is done while requests are spoiled, and the laws of it.

use sessionlog_core::{Error, ErrorKind, FencingToken, Result, SeqNum, Snapshot};

use super::acts::Answer;
use super::explore::{Search, search};
use super::history::Saved;
use super::play::{Play, odd};
use crate::bench::{Ask, Bench};
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::make::{FOLD, life, noise, pieces, snapshot, span};

/// The usual search: every fault at the first requests, few faults anywhere.
pub(super) fn usual(bench: &Bench) -> Search {
    let budget = bench.options.budget;
    Search {
        depth: budget.of(2, 3, 6),
        few: budget.of(1, 2, 3),
        most: budget.of(700, 1_500, 2_000_000),
        random: budget.of(60, 150, 100_000),
    }
}

/// A run in which something never happened that must happen sometimes shows nothing.
pub(super) fn happened(bench: &Bench, names: &[&'static str]) -> Held {
    if bench.options.replay.is_some() {
        return Ok(());
    }
    let counters = bench.counters();
    let zero = |name: &&&str| counters.get(**name).copied().unwrap_or(0) == 0;
    match names.iter().find(zero) {
        Some(name) => Err(End::NotMeasured(format!("it never happened: {name}"))),
        None => Ok(()),
    }
}

pub(crate) async fn g18_object_faults_leave_one_copy_of_a_batch(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        let life = play.life()?;
        if !play.create(0, life).await? {
            return Ok(());
        }
        let first = play.history().batch(life, 2, None);
        play.append_surely(0, first).await?;
        let second = play.history().batch(life, 1, None);
        play.append_surely(1, second).await?;
        // Somebody else sends it again, as after a restart.
        play.append_surely(1, first).await?;
        let third = play.history().batch(life, 3, None);
        play.append_surely(0, third).await?;
        Ok(())
    })
    .await?;
    happened(bench, &["spoiled requests", "lost acknowledgements"])
}

pub(crate) async fn g08_object_faults_let_no_old_writer_in(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        let life = play.life()?;
        if !play.create(0, life).await? {
            return Ok(());
        }
        let Some(old) = play.acquire(0, life).await? else {
            return Ok(());
        };
        let first = play.history().batch(life, 2, Some(old));
        play.append_surely(0, first).await?;
        let under_way = play.history().batch(life, 1, Some(old));
        play.append(0, under_way).await?;
        let new = play.acquire(1, life).await?;
        if let Some(new) = new {
            let batch = play.history().batch(life, 2, Some(new));
            play.append_surely(1, batch).await?;
        }
        // It does not know yet that it was replaced.
        let late = play.history().batch(life, 1, Some(old));
        let answer = play.append_surely(0, late).await?;
        ensure!(
            new.is_none() || answer != Answer::Acked,
            "an append with token {old} was acknowledged after token {new:?} was granted"
        );
        play.append(0, under_way).await?;
        if let Some(new) = new {
            let batch = play.history().batch(life, 1, Some(new));
            play.append_surely(1, batch).await?;
        }
        Ok(())
    })
    .await?;
    happened(
        bench,
        &["take-overs", "spoiled requests", "lost acknowledgements"],
    )
}

/// What a reader may be told while its requests are spoiled: what is there, or to try again.
fn read_right<T: PartialEq + std::fmt::Debug>(
    play: &Play<'_>,
    what: &str,
    got: Result<T>,
    expected: &T,
) -> Held {
    match got {
        Ok(got) => {
            ensure_eq!(&got, expected, "{what}, read while requests were spoiled");
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable) && play.may_fail() => Ok(()),
        Err(error) => Err(odd(what, &Err::<(), _>(error))),
    }
}

pub(crate) async fn g04_object_faults_never_shorten_a_read(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        play.conductor.arm(false);
        let n = play.life()?;
        play.create(0, n).await?;
        let session = play.session(n)?;
        let writer = play.client(0)?;
        let content = noise(3, 3_000);
        for _ in 0..6 {
            let batch = play.history().batch(n, 2, None);
            play.append(0, batch).await?;
        }
        let head = writer.end(&session).await?;
        let log = writer.log(&session).await?;
        let kept = snapshot(4, log.get(3).map_or(head.sum, |e| e.sum), "state");
        writer.save(&session, kept.clone(), None).await?;
        let asked = play.history().tick();
        let saved = Saved {
            life: n,
            snapshot: kept.clone(),
            token: u64::MAX,
            asked,
        };
        play.history().saved.push(saved);
        let other = life("t", 1)?;
        writer.create(&other).await?;
        let both = vec![session.id.clone(), other.id];
        let blob = writer
            .put(&session, pieces(&content, 1_000), None)
            .await?
            .id;
        play.conductor.arm(true);

        let reader = play.client(1)?;
        let seen = play.bounded(1, reader.head(&session.id)).await?;
        read_right(play, "the head", seen, &(session.clone(), head))?;
        let read = play.bounded(1, reader.log(&session)).await?;
        read_right(play, "the log", read, &log)?;
        let some = play.bounded(1, reader.events(&session, span(3, 9))).await?;
        read_right(
            play,
            "a slice",
            some,
            &log.get(3..9).unwrap_or_default().to_vec(),
        )?;
        let ids = play.bounded(1, reader.ids()).await?;
        read_right(play, "the list", ids, &both)?;
        let latest = async { reader.latest(&session, &FOLD, 1, SeqNum::MAX).await };
        match play.bounded(1, latest).await? {
            // Snapshots may be lost at any time.
            Ok(None) => {}
            latest => read_right(play, "the snapshot", latest, &Some(kept))?,
        }
        let got = play
            .bounded(1, reader.blob(&session, blob, 0..u64::MAX))
            .await?;
        read_right(play, "a blob", got, &content)?;
        Ok(())
    })
    .await?;
    happened(bench, &["spoiled requests"])
}

pub(crate) async fn g11_object_faults_put_no_snapshot_ahead(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        play.conductor.arm(false);
        let life = play.life()?;
        play.create(0, life).await?;
        let old = play.acquire(0, life).await?.unwrap_or(0);
        play.conductor.arm(true);
        for round in 0..2 {
            let batch = play.history().batch(life, 2, Some(old));
            play.append_surely(0, batch).await?;
            if let Some(kept) = fold(play, 0, life, round).await? {
                save(play, 0, life, old, kept).await?;
            }
        }
        let late = fold(play, 0, life, 2).await?;
        let new = play.acquire(1, life).await?;
        // It does not know yet that it was replaced.
        if let Some(late) = late {
            save(play, 0, life, old, late).await?;
        }
        if let Some(new) = new {
            let batch = play.history().batch(life, 1, Some(new));
            play.append_surely(1, batch).await?;
            if let Some(kept) = fold(play, 1, life, 3).await? {
                save(play, 1, life, new, kept).await?;
            }
        }
        Ok(())
    })
    .await?;
    happened(bench, &["spoiled requests", "lost acknowledgements"])
}

/// A snapshot of what a client sees; `None` if it sees nothing now.
async fn fold(play: &Play<'_>, client: usize, life: usize, round: u64) -> Held<Option<Snapshot>> {
    let session = play.session(life)?;
    let head = play.client(client)?.end(&session);
    let head = play.bounded(client, head).await?.ok();
    Ok(head.map(|head| snapshot(head.tail.get(), head.sum, format!("state {round}"))))
}

async fn save(play: &Play<'_>, client: usize, life: usize, token: u64, kept: Snapshot) -> Held {
    let session = play.session(life)?;
    let handle = play.client(client)?;
    let asked = play.history().tick();
    play.history().saved.push(Saved {
        life,
        snapshot: kept.clone(),
        token,
        asked,
    });
    let saving = handle.save(&session, kept, Some(FencingToken::new(token)));
    let saved = play.bounded(client, saving).await?;
    match saved.as_ref().map_err(Error::kind) {
        Ok(()) => {
            let mut grants = play
                .history()
                .grants
                .iter()
                .map(|g| (g.token, g.acked))
                .collect::<Vec<_>>();
            grants.retain(|(newer, acked)| *newer > token && *acked < asked);
            ensure!(
                grants.is_empty(),
                "a snapshot was accepted from a writer that had been replaced"
            );
            Ok(())
        }
        Err(ErrorKind::Indeterminate) => Ok(()),
        Err(ErrorKind::Unavailable) if play.may_fail() => Ok(()),
        Err(ErrorKind::Fenced { .. }) if play.history().somebody_asked_since(token) => Ok(()),
        Err(_) => Err(odd("the save of a snapshot", &saved)),
    }
}

pub(crate) async fn g10_object_faults_free_no_later_holder(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        play.conductor.arm(false);
        let life = play.life()?;
        play.create(0, life).await?;
        play.acquire(0, life).await?;
        play.conductor.arm(true);
        play.gives_back(0, life).await?;
        let Some(token) = play.acquire(1, life).await? else {
            return Ok(());
        };
        // Behind whatever comes late.
        for _ in 0..3 {
            let batch = play.history().batch(life, 1, Some(token));
            play.append_surely(1, batch).await?;
        }
        Ok(())
    })
    .await?;
    happened(bench, &["take-overs", "spoiled requests"])
}

pub(crate) async fn g17_object_faults_bring_nothing_back(bench: &Bench) -> Held {
    search(bench, 2, &usual(bench), async |play| {
        play.conductor.arm(false);
        let life = play.life()?;
        play.create(0, life).await?;
        let token = play.acquire(0, life).await?;
        for _ in 0..3 {
            let batch = play.history().batch(life, 2, token);
            play.append(0, batch).await?;
        }
        let session = play.session(life)?;
        let content = bytes::Bytes::from(super::play::marker(life));
        play.client(0)?
            .put(&session, pieces(&content, 1_000), None)
            .await?;
        play.conductor.arm(true);

        let under_way = play.history().batch(life, 1, token);
        play.append(0, under_way).await?;
        play.delete(0, life).await?;
        play.append(0, under_way).await?;
        let plain = play.history().batch(life, 1, None);
        play.append(1, plain).await?;
        let next = play.life()?;
        if play
            .history()
            .lives
            .get(life)
            .is_some_and(|l| l.dead.is_some())
            && play.create(1, next).await?
        {
            let batch = play.history().batch(next, 2, None);
            play.append_surely(1, batch).await?;
            let again = play.append(0, under_way).await?;
            ensure!(
                again != Answer::Acked,
                "an append to a deleted life was acknowledged"
            );
        }
        Ok(())
    })
    .await?;
    happened(
        bench,
        &["deletes", "spoiled requests", "lost acknowledgements"],
    )
}
