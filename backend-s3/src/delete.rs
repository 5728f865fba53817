//! Deleting a session, and collecting what it leaves behind while it lives.

use std::sync::Arc;

use object_store::path::Path;
use sessionlog_core::{Error, Head as LogEnd, Result, SessionRef};

use crate::head::Sort;
use crate::key::{Named, Part};
use crate::run::Step;
use crate::seat::{Desk, Done, Seat};
use crate::turn::tombstone;
use crate::view::View;

/// Heads before the newest that are kept for readers who have just listed them.
const SPARED: u64 = 2;

impl Seat {
    /// Ends a life. The tombstone fences all writers, so it is the deletion; what follows only gives
    /// back space. The notice before it stays for whoever lists a marker that is still there, or
    /// comes late: a put that a creation gave up. Cost: 2 PUT, 1 LIST for each 1,000 objects, 1 DELETE for each 1,000.
    pub(crate) async fn delete(&self, desk: &mut Desk, view: &View) -> Result<Step<Done>> {
        self.put_notice(&view.state).await?;
        let mut state = self.next(view, Sort::Deleted);
        state.epoch += 1;
        state.fences.push(state.slot);
        let genesis = LogEnd::genesis(&self.id, state.incarnation);
        tombstone(&mut state, genesis);
        let stone = View::new(state, None, false);
        let Step::Done(stone) = self.write(desk, stone, &[]).await? else {
            return Ok(Step::Again);
        };
        self.bury(desk, &stone).await
    }

    /// Deletes what a deleted session leaves, but for the fences. `Again` if the tombstone is not the
    /// newest head.
    pub(crate) async fn bury(&self, desk: &mut Desk, stone: &Arc<View>) -> Result<Step<Done>> {
        let Some(mut waste) = self.left_by(stone).await? else {
            self.forget();
            return Ok(Step::Again);
        };
        waste.push(self.marker(&stone.state));
        *desk = Desk::default();
        let own = View::new(stone.state.clone(), None, true).since(stone);
        self.wrote(&Arc::new(own));
        self.env.objects.delete(waste).await.map_err(half_done)?;
        Ok(Step::Done(Done::Nothing))
    }

    /// Finishes a deletion that was broken off behind its tombstone. Cost: as [`Self::bury`], and 1
    /// LIST; 1 LIST and 1 GET if there is nothing to finish.
    ///
    /// # Errors
    /// `NotFound` if nothing is left.
    pub(crate) async fn bury_rest(
        &self,
        desk: &mut Desk,
        session: &SessionRef,
        stone: &Arc<View>,
    ) -> Result<Step<Done>> {
        let rest = self.left_by(stone).await?;
        if rest.is_some_and(|rest| rest.is_empty()) {
            let marker = self.marker(&stone.state);
            if self.env.objects.len(&marker).await?.is_none() {
                return Err(session.gone());
            }
        }
        self.bury(desk, stone).await
    }

    /// What a deleted session leaves but its marker and the fences; `None` if the tombstone is not the
    /// newest head.
    async fn left_by(&self, stone: &View) -> Result<Option<Vec<Path>>> {
        let folder = self.env.keys.session(&self.dir);
        let there = self
            .env
            .objects
            .list(Some(&folder))
            .await
            .map_err(half_done)?;
        let named = there.iter().filter_map(|listed| {
            let named = self.env.keys.named(&listed.key)?;
            Some((&listed.key, named))
        });
        let named: Vec<(&Path, Named)> = named.collect();
        let slots = named.iter().filter_map(|(_, named)| slot_of(named));
        if slots.max() != Some(stone.state.slot) {
            return Ok(None);
        }
        let kept = |slot: u64| slot == 0 || stone.state.fences.contains(&slot);
        let waste = named
            .iter()
            .filter(|(_, named)| !slot_of(named).is_some_and(kept));
        Ok(Some(waste.map(|(key, _)| (*key).clone()).collect()))
    }

    /// Deletes old heads, and chunks that were merged long ago. Cost: nothing, or 1 DELETE. What
    /// fails is left for the next time.
    pub(crate) async fn collect(&self, desk: &mut Desk) {
        let options = &self.env.objects.options;
        if desk.since < options.collect_every {
            return;
        }
        let Some(view) = self.view().filter(|view| self.owns(view)) else {
            return;
        };
        desk.since = 0;
        let state = &view.state;
        let old = |slot: &u64| *slot + SPARED < state.slot && *slot != state.tail.slot;
        let slots: Vec<u64> = desk.garbage.iter().copied().filter(old).collect();
        let mut keys: Vec<Path> = Vec::with_capacity(slots.len());
        keys.extend(
            slots
                .iter()
                .map(|slot| self.env.keys.head(&self.dir, *slot)),
        );
        let grace = options.reader_grace;
        let ripe = desk
            .dropped
            .iter()
            .filter(|(since, _)| since.elapsed() >= grace);
        let ripe: Vec<Path> = ripe.map(|(_, key)| key.clone()).collect();
        keys.extend(ripe.iter().cloned());
        if self.env.objects.delete(keys).await.is_ok() {
            desk.garbage.retain(|slot| !slots.contains(slot));
            desk.dropped.retain(|(_, key)| !ripe.contains(key));
        }
    }
}

fn slot_of(named: &Named) -> Option<u64> {
    match named {
        Named::Of(_, Part::Head(slot)) => Some(*slot),
        _ => None,
    }
}

fn half_done(error: Error) -> Error {
    Error::indeterminate(
        "the session is deleted, but some of its objects may be left: delete it once more, or collect \
         them",
    )
    .with_source(error)
}
