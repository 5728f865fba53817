//! Taking over: a fence, and a second look.

use std::sync::Arc;

use sessionlog_core::{Error, Result};

use crate::head::{Sort, State};
use crate::moment::Moment;
use crate::run::Step;
use crate::seat::{Desk, Seat};
use crate::view::View;

impl Seat {
    /// The head behind `view` that changes no event: written plainly where this handle writes, else
    /// as a fence. Cost: 1 PUT, or 1 PUT and 1 LIST.
    pub(crate) async fn advance(
        &self,
        desk: &mut Desk,
        view: &View,
        change: impl FnOnce(&mut State),
    ) -> Result<Step<Arc<View>>> {
        if !self.owns(view) {
            return self.claim(desk, view, Sort::Fence, change).await;
        }
        let mut state = self.next(view, Sort::Turn);
        change(&mut state);
        self.name_all_ahead(desk, &mut state, view);
        let next = View::new(state, view.held.get().cloned(), true).since(view);
        let step = self.write(desk, next, &[]).await?;
        if let Step::Done(next) = &step {
            self.won(desk, view, next);
        }
        Ok(step)
    }

    /// Takes over the writing: nobody who wrote before can write behind it.
    ///
    /// The fence holds no events. Then the list must show it as the newest head: if it does not,
    /// the slot had been written before, and its head collected since.
    pub(crate) async fn claim(
        &self,
        desk: &mut Desk,
        view: &View,
        sort: Sort,
        change: impl FnOnce(&mut State),
    ) -> Result<Step<Arc<View>>> {
        let mut state = self.next(view, sort);
        state.epoch += 1;
        state.fences.push(state.slot);
        change(&mut state);
        let before = &view.state;
        let says = (state.incarnation, state.token, &state.grant)
            != (before.incarnation, before.token, &before.grant);
        let fence = View::new(state, view.held.get().cloned(), false);
        let Step::Done(fence) = self.write(desk, fence, &[]).await? else {
            return Ok(Step::Again);
        };
        let slots = self.slots().await.map_err(|error| {
            self.forget();
            match says {
                // The fence is the grant or the creation, and it is written.
                true => Error::indeterminate("it was written, but not seen in its place")
                    .with_source(error),
                false => error,
            }
        })?;
        if slots.first() != Some(&fence.state.slot) {
            self.forget();
            return Ok(Step::Again);
        }
        let mut state = fence.state.clone();
        state.fences.retain(|slot| slots.contains(slot));
        let held = fence.held.get().cloned();
        let view = Arc::new(View::new(state, held, true).since(&fence));
        self.took(desk, &view, &slots);
        Ok(Step::Done(view))
    }

    /// Takes note of what a take-over found.
    fn took(&self, desk: &mut Desk, view: &Arc<View>, slots: &[u64]) {
        let state = &view.state;
        let kept = |slot: &u64| *slot == 0 || state.fences.contains(slot);
        desk.garbage = slots.iter().copied().filter(|slot| !kept(slot)).collect();
        desk.ledger = None;
        desk.fronts.clear();
        desk.unmerged = false;
        self.wrote(view);
    }

    /// Takes note of a head that was written.
    pub(crate) fn won(&self, desk: &mut Desk, before: &View, now: &Arc<View>) {
        if !before.state.is_kept() {
            desk.garbage.insert(before.state.slot);
        }
        let (life, named) = (now.state.incarnation, &now.state.chunks);
        for chunk in before
            .state
            .chunks
            .iter()
            .filter(|chunk| !named.contains(chunk))
        {
            let (first, name) = (chunk.first.get(), chunk.name);
            let key = self.env.keys.chunk(&self.dir, life, first, name);
            desk.dropped.push((Moment::now(), key));
            desk.fronts.remove(&name);
        }
        self.wrote(now);
    }

    /// The state behind another: of a session that is there, so its marker is.
    pub(crate) fn next(&self, view: &View, sort: Sort) -> State {
        State {
            slot: view.state.slot + 1,
            stamp: self.stamp(),
            sort,
            marked: true,
            ..view.state.clone()
        }
    }
}
