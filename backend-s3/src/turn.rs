//! What changes a session without an event: leases, deletion, compaction.

use std::sync::Arc;
use std::time::Duration;

use sessionlog_core::{
    Error, FencingToken, Head as LogEnd, Holder, LeaseRequest, Result, Timestamp, fence, held_error,
};

use crate::head::{Grant, Sort, State, Tail};
use crate::moment::time;
use crate::run::{ROUNDS, Step, crowded, is_answered};
use crate::seat::{Desk, Done, Job, Seat, What};
use crate::view::View;

/// What a job comes to, as a head says it.
enum Plan {
    Nothing,
    /// The grant that is in force from here on.
    Grant(FencingToken, Option<Grant>),
    Delete,
    Compact,
}

/// A grant that was sent for a job, and the end of the log at it.
struct Asked {
    grant: Grant,
    end: LogEnd,
}

impl Asked {
    /// Whether it is the newest grant of the session.
    fn is_in(&self, view: &View, job: &Job) -> bool {
        let newest = view.state.grant.as_ref();
        view.is(&job.session).is_ok() && newest.is_some_and(|g| g.holder == self.grant.holder)
    }

    fn done(&self) -> Done {
        let token = self.grant.holder.token;
        Done::Granted(token, self.grant.expires_at(), self.end)
    }
}

impl Seat {
    pub(crate) async fn turn(&self, desk: &mut Desk, job: &Job) -> Result<Done> {
        let done = self.rounds(desk, job).await;
        if matches!(job.what, What::Create) && is_answered(&done) {
            desk.making = None;
        }
        done
    }

    async fn rounds(&self, desk: &mut Desk, job: &Job) -> Result<Done> {
        let mut asked = None;
        for round in 1..=ROUNDS {
            let step = match &job.what {
                What::Create => self.try_create(desk, &job.session).await,
                What::Mend => self.try_mend(desk, &job.session).await,
                _ => self.try_turn(desk, job, &mut asked).await,
            };
            match step? {
                Step::Done(done) => return Ok(done),
                Step::Again => self.env.objects.pause(round.min(6)).await,
            }
        }
        Err(crowded(self))
    }

    async fn try_turn(
        &self,
        desk: &mut Desk,
        job: &Job,
        asked: &mut Option<Asked>,
    ) -> Result<Step<Done>> {
        let settled = self.settle(desk).await?;
        if let (Some(stone), What::Delete(_)) = (settled, &job.what)
            && stone.state.sort == Sort::Deleted
            && stone.state.incarnation == job.session.incarnation
        {
            // The same was asked for before, and is done.
            return self.bury(desk, &stone).await;
        }
        let known = self.view();
        let view = match &known {
            Some(view) => Arc::clone(view),
            None => self.load().await?.0,
        };
        if let What::Delete(_) = &job.what
            && view.state.sort == Sort::Deleted
            && view.state.incarnation == job.session.incarnation
        {
            return self.bury_rest(desk, &job.session, &view).await;
        }
        if let Some(asked) = asked.as_ref().filter(|asked| asked.is_in(&view, job)) {
            // The fence with it was written, and another one behind it before it was looked for.
            return Ok(Step::Done(asked.done()));
        }
        let plan = plan(&view, job);
        if known.is_some() && matches!(plan, Ok(Plan::Nothing) | Err(_)) {
            // An answer that needs no write must rest on the newest head.
            if self.fresh().await?.state.stamp != view.state.stamp {
                return Ok(Step::Again);
            }
        }
        match plan? {
            Plan::Nothing => Ok(Step::Done(Done::Nothing)),
            Plan::Delete => self.delete(desk, &view).await,
            Plan::Compact => self.compact(desk, &view).await,
            Plan::Grant(token, grant) => {
                let expires = grant.as_ref().map_or(Timestamp::EPOCH, Grant::expires_at);
                if let (What::Acquire(_), Some(grant)) = (&job.what, &grant) {
                    *asked = Some(Asked {
                        grant: grant.clone(),
                        end: view.state.end,
                    });
                }
                let change = |state: &mut State| {
                    state.token = token;
                    state.grant = grant;
                };
                Ok(match self.advance(desk, &view, change).await? {
                    Step::Done(view) => Step::Done(Done::Granted(token, expires, view.state.end)),
                    Step::Again => Step::Again,
                })
            }
        }
    }

    /// Merges all chunks, as far as chunks may grow, and what is in none with them.
    async fn compact(&self, desk: &mut Desk, view: &Arc<View>) -> Result<Step<Done>> {
        let Step::Done(held) = self.held_for_write(view).await? else {
            return Ok(Step::Again);
        };
        let view = match self.owns(view) {
            true => Arc::clone(view),
            false => match self.claim(desk, view, Sort::Fence, |_| ()).await? {
                Step::Done(view) => view,
                Step::Again => return Ok(Step::Again),
            },
        };
        let mut state = self.next(&view, Sort::Turn);
        self.drop_ahead(desk);
        if let Err(error) = self.merge_all(desk, &mut state, &held.events).await {
            return self.overtaken(&view, error).await;
        }
        state.tail = Tail::empty(state.end, state.slot);
        let next = View::new(state, None, true).since(&view);
        let Step::Done(next) = self.write(desk, next, &[]).await? else {
            return Ok(Step::Again);
        };
        self.won(desk, &view, &next);
        desk.since = u64::MAX;
        self.collect(desk).await;
        Ok(Step::Done(Done::Nothing))
    }
}

fn plan(view: &View, job: &Job) -> Result<Plan> {
    view.is(&job.session)?;
    let state = &view.state;
    match &job.what {
        What::Acquire(request) => {
            if let Some(grant) = view.grant().filter(|_| !request.force) {
                return Err(held_error(grant.holder.clone(), Some(grant.expires_at())));
            }
            let token = state.token.next();
            Ok(Plan::Grant(token, Some(Grant::of(request, token))))
        }
        What::Renew(owner, token, ttl) => {
            fence(Some(*token), state.token)?;
            let since = state.grant.as_ref().map(|grant| grant.holder.since);
            let grant = Grant {
                holder: Holder::new(owner.clone(), *token, since.unwrap_or_else(Timestamp::now)),
                ttl: millis(*ttl),
                renewed: time(),
            };
            Ok(Plan::Grant(*token, Some(grant)))
        }
        What::Release(token) => {
            let grant = state.grant.as_ref();
            let held = grant.is_some_and(|grant| grant.holder.token == *token);
            Ok(if held {
                Plan::Grant(state.token, None)
            } else {
                Plan::Nothing
            })
        }
        What::Delete(token) => {
            fence(*token, state.token)?;
            match view.grant().filter(|_| token.is_none()) {
                Some(grant) => Err(held_error(grant.holder.clone(), Some(grant.expires_at()))),
                None => Ok(Plan::Delete),
            }
        }
        What::Compact => Ok(Plan::Compact),
        What::Append(..) | What::Create | What::Mend => {
            Err(Error::internal("a job of another sort"))
        }
    }
}

impl View {
    /// The grant in force: one that did not lapse, by the clock or by what was seen to stand still
    /// for as long.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        let grant = self.state.grant.as_ref()?;
        let still = self.stood_still() >= Duration::from_millis(grant.ttl);
        (!still && time() < grant.expires_at()).then_some(grant)
    }
}

impl Grant {
    fn of(request: &LeaseRequest, token: FencingToken) -> Self {
        let now = time();
        Self {
            holder: Holder::new(request.owner.clone(), token, now),
            ttl: millis(request.ttl),
            renewed: now,
        }
    }

    /// When it lapses unless its holder writes.
    pub(crate) fn expires_at(&self) -> Timestamp {
        let micros = i64::try_from(self.ttl.saturating_mul(1000)).unwrap_or(i64::MAX);
        let at = self.renewed.as_micros().saturating_add(micros);
        Timestamp::from_micros(at).unwrap_or(Timestamp::MAX)
    }
}

fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}

/// What is left of a state when its session is deleted.
pub(crate) fn tombstone(state: &mut State, end: LogEnd) {
    state.grant = None;
    state.chunks.clear();
    state.end = end;
    state.tail = Tail::empty(end, state.slot);
}
