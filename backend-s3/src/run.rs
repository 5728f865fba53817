//! A run: all jobs that waited, in order, in as few writes as can be.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sessionlog_core::{Error, ErrorKind, Incarnation, Result};

use crate::chunk::ChunkRef;
use crate::moment::Moment;
use crate::put::{Slot, put_slot};
use crate::seat::{Desk, Done, Job, Pending, Seat};
use crate::view::View;

/// How often a job is begun anew because others wrote meanwhile.
pub(crate) const ROUNDS: u32 = 40;

/// What became of a step.
pub(crate) enum Step<T> {
    Done(T),
    /// Others wrote meanwhile: look again.
    Again,
}

impl Seat {
    /// Does all jobs.
    pub(crate) async fn run(self: Arc<Self>, jobs: Vec<Job>) -> Arc<Vec<Result<Done>>> {
        let mut desk = self.desk.lock().await;
        let mut outcomes = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.as_slice();
        while let Some(job) = jobs.first() {
            let done = if job.is_append() {
                let n = jobs.iter().take_while(|job| job.is_append()).count();
                // What is too much for one write is left for the next.
                self.appends(&mut desk, jobs.get(..n).unwrap_or(jobs)).await
            } else {
                vec![self.turn(&mut desk, job).await]
            };
            jobs = jobs.get(done.len().max(1)..).unwrap_or_default();
            outcomes.extend(done);
        }
        // A store that does not answer is not asked for this too: the next run does it.
        if outcomes.iter().all(is_answered) {
            self.drop_unnamed(&mut desk).await;
        }
        Arc::new(outcomes)
    }

    /// Deletes chunks that were put for a head that is not and won't be. What fails is left for the
    /// next time, or for a collection of garbage. Cost: nothing, or as [`Self::fresh`] and 1
    /// DELETE.
    ///
    /// Whether there was such a head the newest one says: an own one may have been collected.
    async fn drop_unnamed(&self, desk: &mut Desk) {
        if desk.unnamed.all().is_empty() || desk.pending.is_some() {
            return;
        }
        match self.fresh().await {
            Ok(view) => desk.name(&view),
            // Nobody names anything of a session that is gone.
            Err(error) if error.is_not_found() => {}
            Err(_) => return,
        }
        let key = |(life, chunk): &(Incarnation, ChunkRef)| {
            let (first, name) = (chunk.first.get(), chunk.name);
            self.env.keys.chunk(&self.dir, *life, first, name)
        };
        let keys = desk.unnamed.all().iter().map(key).collect();
        if self.env.objects.delete(keys).await.is_ok() {
            desk.unnamed.clear();
        }
    }

    /// Learns what became of a write whose answer was lost. Nothing else is written before. Gives
    /// what was written.
    pub(crate) async fn settle(&self, desk: &mut Desk) -> Result<Option<Arc<View>>> {
        let Some(pending) = desk.pending.take() else {
            return Ok(None);
        };
        if !self.is_young(pending.since) {
            // Too old to be sent again. Whoever writes next fences its slot, or finds it written.
            desk.unnamed.clear();
            self.forget();
            return Ok(None);
        }
        match self.put(&pending).await {
            Slot::Won => {
                desk.name(&pending.view);
                self.wrote(&pending.view);
                Ok(Some(pending.view))
            }
            Slot::Lost => {
                self.forget();
                Ok(None)
            }
            Slot::Old => {
                desk.unnamed.clear();
                self.forget();
                Ok(None)
            }
            Slot::Refused(error) | Slot::Unknown(error) => {
                desk.pending = Some(pending);
                Err(Error::unavailable(
                    "an earlier write is not settled yet, nothing was done: try again later",
                )
                .with_source(error))
            }
        }
    }

    /// Puts a head into its slot.
    pub(crate) async fn put(&self, head: &Pending) -> Slot {
        let key = self.env.keys.head(&self.dir, head.slot);
        let stamp = head.view.state.stamp;
        let fresh = || self.is_young(head.since);
        put_slot(
            &self.env.objects,
            &key,
            &head.bytes,
            stamp,
            fresh,
            |bytes| self.decode(bytes, head.slot),
        )
        .await
    }

    /// Writes the head behind another one. `Again` if the slot is another's by now.
    ///
    /// # Errors
    /// `Indeterminate`: it is settled before anything else is written. `Unavailable`.
    pub(crate) async fn write(
        &self,
        desk: &mut Desk,
        view: View,
        frames: &[u8],
    ) -> Result<Step<Arc<View>>> {
        // What it stands behind is believed for a while only, however long this future was left
        // alone; and what is written now is known from now on.
        let since = view.seen;
        let view = Arc::new(view.seen_at(Moment::now()));
        let pending = Pending {
            slot: view.state.slot,
            bytes: view.state.encode(&self.dir, frames),
            view: Arc::clone(&view),
            since,
        };
        // A future that is dropped in the middle leaves it to be settled.
        let pending = desk.pending.insert(pending);
        self.sent.store(true, Ordering::Release);
        match self.put(pending).await {
            Slot::Won => {
                desk.pending = None;
                desk.name(&view);
                Ok(Step::Done(view))
            }
            Slot::Lost | Slot::Old => {
                desk.pending = None;
                self.forget();
                Ok(Step::Again)
            }
            Slot::Refused(error) => {
                desk.pending = None;
                self.sent.store(false, Ordering::Release);
                Err(error)
            }
            Slot::Unknown(error) => {
                self.forget();
                Err(error)
            }
        }
    }
}

impl Desk {
    /// Takes note of the chunks that a head names.
    fn name(&mut self, view: &View) {
        let state = &view.state;
        self.unnamed.remove(state.incarnation, &state.chunks);
    }
}

/// Whether the store said what became of a job.
pub(crate) fn is_answered(outcome: &Result<Done>) -> bool {
    let kind = outcome.as_ref().err().map(Error::kind);
    !matches!(
        kind,
        Some(ErrorKind::Unavailable | ErrorKind::Indeterminate)
    )
}

/// The error for a job that was begun anew too often.
pub(crate) fn crowded(seat: &Seat) -> Error {
    Error::unavailable(format!(
        "others write to the session all the time, try again later: {}",
        seat.id
    ))
}
