//! Repair of a damaged store, and writing on to it.

use std::sync::Arc;

use sessionlog_core::{ErrorKind, Event, NewEvent, SessionId, Store};

use super::explore::{Context, HARMLESS, Happened};
use super::harm::What;
use super::judge::damage;
use super::look::{Seen, SeenSession, read};
use super::tree::Tree;
use crate::bench::{Ask, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::make::events;

pub(super) const SALVAGED: &str = "repair salvaged";
/// A flipped bit took events, and a repair left more behind than the last batch that nobody knows of.
pub(super) const LOST: &str = "a flipped bit lost an event";
pub(super) const KEPT: &str = "an event behind a lost one was kept";
/// So many losses behind which nothing is kept are no chance.
const FEW: u64 = 8;

pub(super) fn same_event(stored: &NewEvent, found: &Event) -> bool {
    let found = found.clone().into_new();
    (stored.id, stored.at, &stored.kind, &stored.data)
        == (found.id, found.at, &found.kind, &found.data)
}

/// Every event that can be read before the repair can be read after it, and what is lost is said.
pub(super) async fn repaired(context: Arc<Context>) -> Held<Happened> {
    let (mut happened, mut mended) = (Vec::new(), Vec::new());
    let Ok(handle) = context.open().await else {
        return Ok(happened);
    };
    let seen = Seen::of(&handle, context.now()).await;
    for (id, session) in &seen.sessions {
        let is_damaged = match &session.verified {
            Ok(found) => damage(found),
            Err(error) => !(error.is_not_found() && context.may_be_absent(id)),
        };
        if !is_damaged || !context.now().contains_key(id) {
            continue;
        }
        let before = Tree::of(&context.place)?;
        let would = handle.repair(id, false).await;
        let touched = before.changed(&Tree::of(&context.place)?);
        let touched: Vec<_> = touched
            .iter()
            .filter(|f| **f == context.harm.file)
            .collect();
        ensure!(
            touched.is_empty(),
            "a repair that only tells changes {touched:?}"
        );
        let did = match handle.repair(id, true).await {
            Ok(did) => did,
            Err(error) => {
                let honest = !matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::Internal | ErrorKind::InvalidInput
                );
                ensure!(honest, "the repair of {id}: {error} ({:?})", error.kind());
                continue;
            }
        };
        let would = would.map_err(|e| breach(format!("repair tells {e}, and then repairs")))?;
        // How much can be read behind damaged pages may show only when they are replaced.
        let known = would.steps.is_empty() || (would.events, would.lost) != (0, 0);
        ensure!(
            !known || (would.events, would.lost) == (did.events, did.lost),
            "a repair of {id} that only tells says {would:?}, the repair {did:?}"
        );
        let (after, ended) = read(&handle, id).await;
        ensure!(
            ended.is_ok(),
            "{id} can't be read after its repair: {ended:?}"
        );
        for (n, single) in session.singles.iter().enumerate() {
            for event in single.iter().flatten() {
                let kept = after
                    .get(n)
                    .is_some_and(|a| same_event(&event.clone().into_new(), a));
                ensure!(
                    kept,
                    "event {n} of {id} could be read, and was lost by its repair"
                );
            }
        }
        judged(&context, id, &after, did.events, did.lost)?;
        happened.extend(context.salvaged(id, &after)?);
        writes_on(&handle, id, &after).await?;
        context.kept_beside(&handle, id, session, &after).await?;
        happened.push(SALVAGED);
        mended.push(id);
    }
    for (id, session) in &seen.sessions {
        if session.ended.is_ok() && !mended.contains(&id) {
            let (now, ended) = read(&handle, id).await;
            // A repair that gave up may have looked closer: then nothing is read any more.
            if ended.is_err() && mended.is_empty() {
                continue;
            }
            ensure_eq!(
                now,
                session.events,
                "the log of {id} behind a repair of {mended:?}"
            );
        }
    }
    let touched = happened.contains(&SALVAGED);
    if !touched {
        happened.push(HARMLESS);
    }
    for (id, session) in &seen.sessions {
        let is_whole = session.verified.as_ref().is_ok_and(|found| !damage(found));
        if is_whole && context.now().contains_key(id) {
            can_be_written(&handle, id).await?;
        }
    }
    Ok(happened)
}

/// A session of which verification finds nothing takes an append, or does behind a repair.
async fn can_be_written(handle: &Handle, id: &SessionId) -> Held {
    let Ok(session) = Store::shared(handle.clone()).open(id).await else {
        return Ok(());
    };
    let Err(refused) = session.append(events(7_100..7_101)).await else {
        return Ok(());
    };
    if handle.repair(id, true).await.is_ok() {
        let again = session.append(events(7_100..7_101)).await;
        ensure!(
            again.is_ok(),
            "verification finds no damage in {id}, an append is refused ({refused}), and a repair that succeeds \
             changes nothing: {again:?}"
        );
    }
    Ok(())
}

/// What stands in a log after a repair: what was there, at its position, or a word of its loss.
fn judged(context: &Context, id: &SessionId, after: &[Event], whole: u64, lost: u64) -> Held {
    let known = context.now().get(id).map_or(&[][..], |truth| &truth.events);
    let mut marks = 0;
    for (n, event) in after.iter().enumerate() {
        if event.kind == "repair.lost" {
            marks += 1;
            continue;
        }
        let right = known
            .get(n)
            .is_some_and(|k| same_event(&k.clone().into_new(), event));
        let right = right || context.truth_of_any(id, n, |k| same_event(k, event));
        ensure!(
            right,
            "event {n} of {id} is another after the repair: {event:?}"
        );
    }
    ensure_eq!(
        marks,
        lost,
        "events of {id} that are said to be lost, and marked so"
    );
    ensure_eq!(
        after.len() as u64 - marks,
        whole,
        "events of {id} that are said to be whole, and are"
    );
    Ok(())
}

impl Context {
    /// What a repair left of a log of which a bit was flipped. In a file that is the session's alone
    /// it can have taken the last batch, which looks like one that was never finished, and no other.
    fn salvaged(&self, id: &SessionId, after: &[Event]) -> Held<Happened> {
        let Some(truth) = self.now().get(id) else {
            return Ok(Vec::new());
        };
        if !matches!(self.harm.what, What::Flip { .. }) {
            return Ok(Vec::new());
        }
        let least = truth.ends.iter().rev().nth(1).copied().unwrap_or(0);
        let own = self.built.owner(&self.harm.file) == Some(id);
        ensure!(
            !own || after.len() >= least,
            "a repair of {id} leaves {} of {} events, one bit was flipped",
            after.len(),
            truth.events.len()
        );
        let is_mark = |event: &Event| event.kind == "repair.lost";
        let mut happened = Vec::new();
        let first = after.iter().position(is_mark);
        if first.is_some() || after.len() < least {
            happened.push(LOST);
        }
        let behind = after.iter().skip(first.unwrap_or(after.len()));
        if behind.into_iter().any(|event| !is_mark(event)) {
            happened.push(KEPT);
        }
        Ok(happened)
    }

    /// A breach if a repair took what lies beside the log: a blob, or the newest token.
    async fn kept_beside(
        &self,
        handle: &Handle,
        id: &SessionId,
        before: &SeenSession,
        after: &[Event],
    ) -> Held {
        let (life, _) = handle.head(id).await?;
        for (blob, content) in &before.blobs {
            let Ok(content) = content else { continue };
            let now = handle.blob(&life, *blob, 0..u64::MAX).await;
            ensure!(
                now.as_ref().is_ok_and(|now| now == content),
                "blob {blob} of {id} could be read, and is lost by its repair: {:?}",
                now.err()
            );
        }
        let truth = self.now().get(id).filter(|truth| truth.life == life);
        let Some(truth) = truth else { return Ok(()) };
        let Some(lease) = self.granted(handle, truth).await? else {
            return Ok(());
        };
        self.grows(truth, lease.token, after.len())
    }

    fn truth_of_any(&self, id: &SessionId, n: usize, is: impl Fn(&NewEvent) -> bool) -> bool {
        let stages = self.built.stages.iter().map(|stage| &stage.truths);
        let mut all = stages.chain([&self.built.other_truths]);
        if matches!(self.harm.what, What::OfFile { .. }) {
            // Repair may take the log that it finds for the session's, if it said so.
            let mut others = self.now().values().filter_map(|truth| truth.events.get(n));
            return others.any(|event| is(&event.clone().into_new()));
        }
        all.any(|truths| {
            let event = truths.get(id).and_then(|truth| truth.events.get(n));
            event.is_some_and(|event| is(&event.clone().into_new()))
        })
    }
}

/// The next append works, and a second repair has nothing to do.
async fn writes_on(handle: &Handle, id: &SessionId, after: &[Event]) -> Held {
    let session = Store::shared(handle.clone()).open(id).await?;
    let range = session.append(events(7_000..7_002)).await?;
    ensure_eq!(
        range.start.get(),
        after.len() as u64,
        "where an append behind a repair starts"
    );
    let (now, ended) = read(handle, id).await;
    ensure!(
        ended.is_ok(),
        "reading {id} behind a repair and an append: {ended:?}"
    );
    ensure_eq!(
        now.len(),
        after.len() + 2,
        "events behind a repair and an append"
    );
    match handle.repair(id, true).await {
        Ok(again) => {
            let (found, _) = read(handle, id).await;
            ensure_eq!(
                found,
                now,
                "the log after a second repair, which said {again:?}"
            );
        }
        Err(error) => ensure!(!error.is_not_found(), "a second repair: {error}"),
    }
    Ok(())
}

/// A breach if repairs kept nothing behind a loss, time and again.
pub(super) fn kept_behind(lost: u64, kept: u64) -> Held {
    ensure!(
        lost < FEW || kept > 0,
        "each of {lost} repairs of a log with a flipped bit ends it at the first event that is lost"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_logs_that_end_at_their_loss_are_chance() {
        assert!(kept_behind(FEW - 1, 0).is_ok());
        assert!(kept_behind(FEW, 0).is_err());
        assert!(kept_behind(FEW, 1).is_ok());
    }
}
