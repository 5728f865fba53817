//! What must hold after a kill: every acknowledged step, and the one under way whole or not at all.

mod apart;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sessionlog_core::{Memory, SeqNum, Severity, Snapshot, Store};

use super::work::{Step, Worker, work_event};
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held, breach, ensure, ensure_eq};
use crate::dump::Dump;
use crate::make::{event, request};
use crate::{Capability, Place};

/// A step that was under way is there after the crash.
pub(crate) const DONE: &str = "step under way done";
/// A step that was under way left nothing.
pub(crate) const NOT_DONE: &str = "step under way not done";

/// What was known of the steps before a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// So many were acknowledged.
    pub(crate) done: usize,
    /// So many more were seen to have happened.
    pub(crate) seen: usize,
    /// These were only seen, and may be lost while a later one is there that does not rest on them.
    pub(crate) loose: Vec<usize>,
}

impl Before {
    /// What is known where every step was acknowledged that is known.
    pub(crate) fn acknowledged(done: usize) -> Self {
        Self {
            done,
            ..Self::default()
        }
    }
}

/// The state of the reference backend before the first step and after each.
pub(crate) struct Oracle {
    steps: Vec<Step>,
    states: Vec<Dump>,
    /// Every snapshot that was saved up to each state.
    saved: Vec<Vec<Snapshot>>,
}

impl Oracle {
    /// What the reference backend makes of the steps; `Broken` if it refuses one, since such a list
    /// can't be done by anybody.
    pub(crate) async fn of(steps: Vec<Step>) -> Held<Self> {
        let store: Handle = Arc::new(Memory::new());
        let mut worker = Worker::new(Arc::clone(&store));
        let mut states = vec![Dump::of(&store).await?];
        let mut seen: Vec<Snapshot> = Vec::new();
        let mut saved = vec![Vec::new()];
        for step in &steps {
            if let Err(refused) = worker.attempt(*step).await? {
                return Err(End::Broken(format!("{step} can't be done: {refused}")));
            }
            let state = Dump::of(&store).await?;
            let all = state.sessions.values().flat_map(|s| s.snapshots.clone());
            let new: Vec<_> = all.filter(|s| !seen.contains(s)).collect();
            seen.extend(new);
            saved.push(seen.clone());
            states.push(state);
        }
        Ok(Self {
            steps,
            states,
            saved,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// A breach unless a store that crashed after `done` acknowledged steps, with `seen` more that
    /// were only seen to have happened, is in the state there or up to one step further than was
    /// seen. Whether it is further than what was acknowledged.
    pub(crate) fn fits(&self, found: &Dump, done: usize, seen: usize) -> Held<bool> {
        let most = (done + seen + 1).min(self.steps.len());
        let saved = self.saved.get(most);
        let snapshots = found.sessions.values().flat_map(|s| &s.snapshots);
        for snapshot in snapshots {
            let known = saved.is_some_and(|all| all.contains(snapshot));
            ensure!(
                known,
                "a snapshot that nobody saved: it covers {}",
                snapshot.covers
            );
        }
        // The furthest first: a step that changes nothing counts as done.
        let mut why = Vec::new();
        for state in (done..=most).rev() {
            match self.is_at(found, state, "after the crash") {
                Ok(()) => return Ok(state > done),
                Err(end) => why.push(end),
            }
        }
        match (why.pop(), why.first()) {
            (Some(before), None) => Err(before),
            (Some(before), Some(after)) => Err(breach(format!(
                "the store is neither as before nor as after the step that was under way, {:?}\n\
                 as before: {before:?}\nas after: {after:?}",
                self.steps.get(done),
            ))),
            (None, _) => Err(breach("more steps were acknowledged than there are")),
        }
    }

    /// A breach unless a store is the state after so many steps.
    pub(crate) fn is_at(&self, found: &Dump, done: usize, when: &str) -> Held {
        match self.states.get(done) {
            Some(state) => state.same_log(found, when),
            None => Err(breach("more steps were acknowledged than there are")),
        }
    }

    /// Opens what a crash left, and checks everything. `tokens` are those that were told before.
    pub(crate) async fn check(
        &self,
        bench: &Bench,
        place: &Place,
        before: Before,
        tokens: &[u64],
    ) -> Held {
        let Before { done, seen, .. } = before;
        let store = bench.open_at(place).await?;
        let mut found = Dump::of(&store).await?;
        let further = match self.fits(&found, done, seen) {
            Ok(further) => further,
            Err(end) => self.fits_apart(&found, &before).await.ok_or(end)?,
        };
        if done < self.steps.len() && self.states.get(done) != self.states.get(done + 1) {
            bench.sometimes(if further { DONE } else { NOT_DONE }, 1);
        }
        for id in found.sessions.keys() {
            let findings = store.verify(id).await?;
            let bad: Vec<_> = findings
                .iter()
                .filter(|f| f.severity == Severity::Damage)
                .collect();
            ensure!(
                bad.is_empty(),
                "verification of {id} after a crash found damage: {bad:?}"
            );
        }
        let store = again(bench, store, place).await?;
        goes_on(bench, &store, &mut found, tokens).await?;
        self.settles(&store, &mut found, done).await?;
        let store = again(bench, store, place).await?;
        // What the second opening takes away, or the writing, does not come back: one look behind
        // both sees it.
        found.same_durable(
            &Dump::of(&store).await?,
            "after opening it a second time, writing on and opening it a third time",
        )
    }

    /// A batch whose answer was lost can be sent again: it is there once afterwards.
    async fn settles(&self, store: &Handle, found: &mut Dump, done: usize) -> Held {
        let sent = self
            .steps
            .get(..=done.min(self.steps.len().saturating_sub(1)));
        let there = self.states.get(done).map(|s| &s.sessions);
        for step in sent.unwrap_or_default() {
            let (Step::Append(who, from, to) | Step::Drive(who, from, to)) = *step else {
                continue;
            };
            let session = who.session()?;
            let lives = there.is_some_and(|t| t.values().any(|s| s.life == session));
            if !lives {
                continue;
            }
            let batch: Vec<_> = (from..to).map(work_event).collect();
            let range = match store.put_events(&session, batch.clone()).await {
                // The step under way may have been the delete.
                Err(error) if error.is_not_found() => continue,
                range => range?,
            };
            let log = found.sessions.get_mut(&session.id);
            let log = log.filter(|log| log.life == session);
            let log = log.ok_or_else(|| breach(format!("an append to {who}, which is gone")))?;
            log.settle(batch, range)?;
        }
        Ok(())
    }
}

/// The next lease, append and read work, in every session.
async fn goes_on(bench: &Bench, store: &Handle, found: &mut Dump, tokens: &[u64]) -> Held {
    for (id, session) in &mut found.sessions {
        let mut wanted = request("parent")?;
        if bench.subject.prompt_leases != Capability::Yes {
            wanted = wanted.forced();
        }
        let lease = store.acquire(&session.life, wanted).await?;
        let newest = if id.as_str() == "s" {
            tokens.iter().max()
        } else {
            None
        };
        ensure!(
            newest.is_none_or(|t| lease.token.get() > *t),
            "the grant after a crash has token {}, one before it had {newest:?}",
            lease.token
        );
        let next = vec![event(5_000)];
        let range = store.put_under(&session.life, next.clone(), &lease).await?;
        ensure_eq!(
            range.start,
            session.head.tail,
            "where the next append of {id} starts"
        );
        session.append(next);
        let opened = Store::shared(Arc::clone(store)).open(id).await?;
        let log = opened.read(SeqNum::all()).collect().await?;
        ensure_eq!(log.len(), session.events.len(), "verified events of {id}");
        ensure!(
            log == session.events,
            "the verified events of {id} are others than those before the next append"
        );
        store.release(&lease).await?;
    }
    Ok(())
}

/// Closes a handle and opens its place again, some time later.
pub(crate) async fn again(bench: &Bench, store: Handle, place: &Place) -> Held<Handle> {
    ensure_eq!(Arc::strong_count(&store), 1, "users of the handle");
    drop(store);
    place.rest()?;
    bench.open_at(place).await
}
