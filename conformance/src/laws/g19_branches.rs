//! G19: rollbacks, branches, compactions and forks only append.

use std::sync::Arc;

use sessionlog_core::transcript::kinds;
use sessionlog_core::{Event, NewEvent, Session, Store};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure, ensure_eq};
use crate::kill::happened;
use crate::law::law;
use crate::make::{at, fresh, id};
use crate::talk::{head, prompt, rollback, talk};
use crate::told::{Expected, session_of};

pub(super) const LAWS: &[Law] = &[
    law!(
        g19_rollback_compaction_and_branches_only_append,
        "After every rollback, move of the head and compaction all earlier events are there, byte for byte, and every old tip can be selected again."
    ),
    law!(
        g19_a_fork_leaves_its_source_unchanged,
        "A fork has the events, conversation and blobs of its source up to the position; nothing that is done to it changes an event or a blob of the source."
    ),
];

const LEN: u64 = 24;
const OLD_TIP: &str = "old tip selected";

/// A breach unless a log begins with these events, byte for byte.
fn begins_with(log: &[Event], expected: &[NewEvent], when: &str) -> Held {
    ensure!(
        log.len() >= expected.len(),
        "{} events {when}, of {} that were there",
        log.len(),
        expected.len()
    );
    for ((event, new), seq) in log.iter().zip(expected).zip(0..) {
        ensure_eq!(event.seq, at(seq), "the position of event {seq} {when}");
        ensure!(
            event.holds(new),
            "event {seq} {when}\nexpected: {new:?}\nobserved: {event:?}"
        );
    }
    Ok(())
}

async fn g19_rollback_compaction_and_branches_only_append(bench: &Bench) -> Held {
    let handle = bench.open().await?;
    for seed in 20..20 + bench.options.budget.of(2, 3, 80) {
        let mut log = talk(seed, LEN);
        let mut expected = Expected::of(&log).await?;
        let place = fresh(&format!("s{seed}"))?;
        handle.create(&place).await?;
        for (n, event) in log.iter().enumerate() {
            handle.put_events(&place, vec![event.clone()]).await?;
            let stored = handle.log(&place).await?;
            let so_far = log.get(..=n).unwrap_or_default();
            begins_with(&stored, so_far, &format!("behind {}", event.kind))?;
            ensure_eq!(stored.len(), n + 1, "events behind {}", event.kind);
        }
        let session = session_of(&handle, &place).await?;
        let mut tips = expected.transcript().branches(None);
        tips.retain(|branch| !branch.current);
        for (n, branch) in (LEN..).zip(tips) {
            let event = head(seed * 10_000 + n, branch.tip);
            handle.put_events(&place, vec![event.clone()]).await?;
            log.push(event.clone());
            expected.push(event).await?;
            ensure_eq!(
                expected.transcript().head(None),
                Some(branch.tip),
                "the head in the reference"
            );
            let when = format!("with the head moved to the old tip {}", branch.tip);
            expected.check(&session, n + 1, &when).await?;
            begins_with(&handle.log(&place).await?, &log, &when)?;
            bench.sometimes(OLD_TIP, 1);
        }
    }
    happened(bench, &[OLD_TIP])
}

async fn blobs(session: &Session) -> Held<Vec<(String, u64)>> {
    let mut all: Vec<_> = session.blobs().await?;
    all.sort_by_key(|info| info.id);
    Ok(all
        .iter()
        .map(|info| (info.id.to_string(), info.len))
        .collect())
}

async fn g19_a_fork_leaves_its_source_unchanged(bench: &Bench) -> Held {
    let (handle, place) = bench.session("source").await?;
    let mut log = talk(30, LEN);
    let expected = Expected::of(&log).await?;
    handle.put_events(&place, log.clone()).await?;
    let store = Store::shared(Arc::clone(&handle));
    let source = session_of(&handle, &place).await?;
    source.put_blob("an image").await?;
    source.put_blob("a long output").await?;
    let had = blobs(&source).await?;
    for until in [LEN, LEN / 2, 1, 0] {
        let when = format!("of a fork at {until}");
        let fork = store
            .fork(&source, Some(at(until)), id(&format!("fork-{until}"))?)
            .await?;
        let stored = handle.log(&place).await?;
        begins_with(&stored, &log, &format!("in the source {when}"))?;
        ensure_eq!(stored.len(), log.len() + 1, "events in the source {when}");
        let noted = stored.last().cloned().map(Event::into_new);
        let kind = noted.as_ref().map(|event| &event.kind);
        ensure_eq!(kind, Some(&kinds::SESSION_FORKED), "the note {when}");
        log.extend(noted);

        let own: Vec<_> = fork.read(at(0)..at(until)).collect().await?;
        let copied = usize::try_from(until).unwrap_or(0);
        begins_with(&own, log.get(..copied).unwrap_or_default(), &when)?;
        expected.check(&fork, until, &when).await?;
        ensure_eq!(blobs(&fork).await?, had, "the blobs {when}");
        ensure_eq!(blobs(&source).await?, had, "the blobs of the source {when}");

        // What is done to the fork is done to the fork alone.
        let n = 900_000 + until;
        fork.append(vec![rollback(n, 2), prompt(n + 100)]).await?;
        if until == 1 {
            store.delete(fork.id()).await?;
        }
        let stored = handle.log(&place).await?;
        begins_with(&stored, &log, &format!("in the source, behind work {when}"))?;
        ensure_eq!(stored.len(), log.len(), "events behind work {when}");
        for until in [LEN / 3, LEN] {
            expected.check(&source, until, "of the source").await?;
        }
        for info in source.blobs().await? {
            let content = handle.blob(&place, info.id, 0..u64::MAX).await?;
            ensure_eq!(
                content.len() as u64,
                info.len,
                "the bytes of a blob of the source"
            );
        }
        ensure_eq!(blobs(&source).await?, had, "the blobs behind work {when}");
    }
    Ok(())
}
