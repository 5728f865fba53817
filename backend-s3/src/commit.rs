//! Appends: those that wait share a head.

use std::sync::Arc;

use futures_util::future::join;
use sessionlog_core::{Admission, AppendCondition, Event, EventId, Ledger, NewEvent, Result};

use crate::codec::put_event;
use crate::head::{Held, Sort, Tail};
use crate::moment::time;
use crate::run::{ROUNDS, Step, crowded};
use crate::seat::{Desk, Done, Job, Seat, What};
use crate::view::View;

/// A write takes no further batch when it has so many bytes.
const BYTES: usize = 8 << 20;

/// What is decided of a group before it is written.
struct Draft {
    /// One for each batch that was looked at.
    outcomes: Vec<Result<Done>>,
    events: Vec<Event>,
    frames: Vec<u8>,
    ledger: Ledger,
    /// Somebody appends under the newest token.
    renewed: bool,
}

impl Seat {
    /// Appends batches, as many as one write takes; an outcome for each of those.
    pub(crate) async fn appends(&self, desk: &mut Desk, jobs: &[Job]) -> Vec<Result<Done>> {
        for round in 1..=ROUNDS {
            match self.try_appends(desk, jobs).await {
                Ok(Step::Done(outcomes)) => return outcomes,
                Ok(Step::Again) => self.env.objects.pause(round.min(6)).await,
                Err(error) => return jobs.iter().map(|_| Err(error.clone())).collect(),
            }
        }
        jobs.iter().map(|_| Err(crowded(self))).collect()
    }

    async fn try_appends(&self, desk: &mut Desk, jobs: &[Job]) -> Result<Step<Vec<Result<Done>>>> {
        self.settle(desk).await?;
        let known = self.view();
        let view = match &known {
            Some(view) => Arc::clone(view),
            None => self.load().await?.0,
        };
        let Step::Done(held) = self.held_for_write(&view).await? else {
            return Ok(Step::Again);
        };
        let draft = match self.draft(desk, &view, &held, jobs).await {
            Err(error) => return self.overtaken(&view, error).await,
            Ok(draft) => draft,
        };
        if draft.events.is_empty() {
            return self.sure(desk, known.is_some(), &view, draft).await;
        }
        // Whoever did not write the newest head fences those who did.
        let view = if self.owns(&view) {
            view
        } else {
            match self.claim(desk, &view, Sort::Fence, |_| ()).await? {
                Step::Done(view) => view,
                Step::Again => return Ok(Step::Again),
            }
        };
        let outcomes = self.commit(desk, &view, &held, draft).await?;
        if matches!(outcomes, Step::Done(_)) {
            self.collect(desk).await;
        }
        Ok(outcomes)
    }

    /// Hands out answers that need no write, if the head that they rest on is still the newest.
    async fn sure(
        &self,
        desk: &mut Desk,
        known: bool,
        view: &Arc<View>,
        draft: Draft,
    ) -> Result<Step<Vec<Result<Done>>>> {
        if known && self.fresh().await?.state.stamp != view.state.stamp {
            return Ok(Step::Again);
        }
        let repeats = |outcome: &Result<Done>| matches!(outcome, Ok(Done::Appended(range)) if !range.is_empty());
        if draft.outcomes.iter().any(repeats) && !self.owns(view) {
            let newest = self.env.keys.head(&self.dir, view.state.slot);
            self.env.objects.prove(&newest).await?;
        }
        desk.ledger = Some((view.state.slot, draft.ledger));
        Ok(Step::Done(draft.outcomes))
    }

    /// Decides what becomes of each batch.
    async fn draft(
        &self,
        desk: &mut Desk,
        view: &View,
        held: &Held,
        jobs: &[Job],
    ) -> Result<Draft> {
        let ledger = match desk.ledger.take() {
            Some((slot, ledger)) if slot == view.state.slot && ledger.head() == view.state.end => {
                ledger
            }
            _ => ledger_of(view.state.tail, held),
        };
        let mut draft = Draft {
            outcomes: Vec::with_capacity(jobs.len()),
            events: Vec::new(),
            frames: Vec::new(),
            ledger,
            renewed: false,
        };
        for job in jobs {
            let What::Append(events, condition) = &job.what else {
                break;
            };
            if draft.frames.len() >= BYTES {
                break;
            }
            let outcome = match view.is(&job.session) {
                Ok(()) => {
                    self.admit(desk, view, held, &mut draft, events, *condition)
                        .await?
                }
                Err(error) => Err(error),
            };
            draft.outcomes.push(outcome);
        }
        Ok(draft)
    }

    /// The outer error is that of looking, which is everybody's.
    async fn admit(
        &self,
        desk: &mut Desk,
        view: &View,
        held: &Held,
        draft: &mut Draft,
        events: &[NewEvent],
        condition: AppendCondition,
    ) -> Result<Result<Done>> {
        let stored = match draft.ledger.wanted(events) {
            Some(wanted) => {
                let ids: Vec<EventId> = events.iter().map(|event| event.id).collect();
                let mut stored = self.find(desk, view, &wanted, &ids).await?;
                let later = held.events.iter().chain(&draft.events);
                stored.extend(later.filter(|event| wanted.matches(event)).cloned());
                stored
            }
            None => Vec::new(),
        };
        let limits = &self.env.objects.options.limits;
        let (newest, start) = (view.state.token, draft.ledger.head().tail);
        let admitted = draft
            .ledger
            .admit(events.to_vec(), condition, limits, newest, &stored);
        Ok(admitted.map(|admission| match admission {
            Admission::Repeat(range) => Done::Appended(range),
            Admission::Write(events) => {
                draft.renewed |= condition.token.is_some();
                events
                    .iter()
                    .for_each(|event| put_event(&mut draft.frames, event));
                draft.events.extend(events);
                Done::Appended(start..draft.ledger.head().tail)
            }
        }))
    }

    /// Writes what was decided.
    async fn commit(
        &self,
        desk: &mut Desk,
        view: &View,
        held: &Held,
        draft: Draft,
    ) -> Result<Step<Vec<Result<Done>>>> {
        let mut state = self.next(view, Sort::Append);
        state.end = draft.ledger.head();
        if let Some(grant) = state.grant.as_mut().filter(|_| draft.renewed) {
            grant.renewed = time();
        }
        let new = draft.frames.len();
        let held = self
            .sealed(desk, &mut state, held, draft.events, draft.frames)
            .await?;
        let (frames, events) = (held.frames.clone(), Arc::clone(&held.events));
        let (unnamed, merges) = (Arc::clone(&desk.unnamed), !desk.unmerged);
        let due = self.is_due(&held, new).then(|| state.clone());
        let chunk = async {
            let state = due?;
            self.seal_ahead(&unnamed, merges, state, &events).await
        };
        let next = View::new(state, Some(held), true).since(view);
        let (written, ahead) = join(self.write(desk, next, &frames), chunk).await;
        let Step::Done(next) = written? else {
            return Ok(Step::Again);
        };
        self.keep_ahead(desk, &next, ahead).await;
        desk.ledger = Some((next.state.slot, draft.ledger));
        desk.since = desk.since.saturating_add(1);
        self.won(desk, view, &next);
        Ok(Step::Done(draft.outcomes))
    }
}

/// The ledger of a log, from the events that are in no chunk.
fn ledger_of(tail: Tail, held: &Held) -> Ledger {
    let mut ledger = Ledger::new(tail.base);
    held.events.iter().for_each(|event| ledger.advance(event));
    ledger
}
