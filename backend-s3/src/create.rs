//! Making a session: a head, and then its marker in the index. With the marker the session is
//! there.
//!
//! A creation that was broken off between the two can be finished for a while by whoever has the
//! same life in hand. Then it is garbage. Anybody else, and everybody later, makes its marker void
//! first, so that it never is finished, and takes its place: the marker is put where there is none,
//! so one of the two comes first, and both know which.

use std::sync::Arc;

use sessionlog_core::{Error, ErrorKind, Result, SessionRef, Timestamp};

use crate::head::{Sort, State};
use crate::run::Step;
use crate::seat::{Desk, Done, Seat};
use crate::view::View;

impl Seat {
    pub(crate) async fn try_create(
        &self,
        desk: &mut Desk,
        session: &SessionRef,
    ) -> Result<Step<Done>> {
        if let Some(pending) = &desk.pending
            && pending.view.state.sort == Sort::Create
        {
            desk.making = Some(pending.view.state.incarnation);
        }
        self.settle(desk).await?;
        let view = match self.view() {
            Some(_) => self.fresh_begun().await.map(Some),
            None => Ok(None),
        };
        let view = match view {
            Err(error) if error.is_not_found() => None,
            view => view?,
        };
        let Some(view) = view else {
            // The first slot is kept as long as there is any other.
            let state = State::begin(session, 0, self.stamp());
            let begun = View::new(state, None, true);
            let written = self.write(desk, begun, &[]).await;
            desk.sent(session, &written);
            return match written? {
                Step::Done(view) => self.finish(&view).await,
                Step::Again => {
                    let (view, _) = self.load_begun().await?;
                    self.create_behind(desk, session, &view).await
                }
            };
        };
        self.create_behind(desk, session, &view).await
    }

    /// Makes a session behind what is left of another, if it may be.
    async fn create_behind(
        &self,
        desk: &mut Desk,
        session: &SessionRef,
        view: &Arc<View>,
    ) -> Result<Step<Done>> {
        match view.state.sort {
            Sort::Deleted | Sort::Closed => {}
            _ if !view.is_begun() => {
                // One's own, if the answer to an earlier try was lost.
                let own = desk.making == Some(view.state.incarnation);
                return match own && view.is(session).is_ok() {
                    true => Ok(Step::Done(Done::Nothing)),
                    false => Err(self.in_use(view)),
                };
            }
            _ if view.state.incarnation == session.incarnation && self.is_recent(&view.state) => {
                desk.making = Some(session.incarnation);
                if let Step::Done(done) = self.finish(view).await? {
                    return Ok(Step::Done(done));
                }
            }
            _ => {
                // Who has just begun is about to finish.
                self.env.objects.pause(1).await;
                let (now, _) = self.load_begun().await?;
                let same = now.is_begun() && now.state.stamp == view.state.stamp;
                if !same || !self.void_marker(&view.state).await? {
                    return Ok(Step::Again);
                }
            }
        }
        let before = view.state.created;
        let begin = |state: &mut State| {
            let slot = state.slot;
            *state = State {
                epoch: state.epoch,
                fences: std::mem::take(&mut state.fences),
                ..State::begin(session, slot, state.stamp)
            };
            // Its marker is named by the millisecond, and may not be the one that is void.
            state.created = state.created.max(later(before));
        };
        let claimed = self.claim(desk, view, Sort::Create, begin).await;
        desk.sent(session, &claimed);
        match claimed? {
            Step::Done(view) => self.finish(&view).await,
            Step::Again => Ok(Step::Again),
        }
    }

    /// Puts the marker of a session whose head is there. `Again` if it is void.
    async fn finish(&self, view: &Arc<View>) -> Result<Step<Done>> {
        let listed = self.put_marker(&view.state).await.map_err(|error| {
            Error::indeterminate(
                "the store did not say whether the session was made, make it once more to know",
            )
            .with_source(error)
        })?;
        if !listed {
            return Ok(Step::Again);
        }
        let held = view.held.get().cloned();
        let view = View::new(view.state.clone(), held, self.owns(view)).since(view);
        let view = view.listed();
        self.wrote(&Arc::new(view));
        Ok(Step::Done(Done::Nothing))
    }

    fn in_use(&self, view: &View) -> Error {
        let tail = view.state.end.tail;
        Error::new(
            ErrorKind::Conflict { tail },
            format!("the session is there already, open it: {}", self.id),
        )
    }
}

impl Desk {
    /// Takes note of a creation that was sent, unless somebody else's head was in its place.
    fn sent<T>(&mut self, session: &SessionRef, written: &Result<Step<T>>) {
        if !matches!(written, Ok(Step::Again)) {
            self.making = Some(session.incarnation);
        }
    }
}

/// A millisecond later.
fn later(than: Timestamp) -> Timestamp {
    let micros = than.as_micros().saturating_add(1_000);
    Timestamp::from_micros(micros).unwrap_or(Timestamp::MAX)
}
