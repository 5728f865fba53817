//! What was asked and answered in a run, and what must be true of the log at its end.

use std::ops::Range;

use sessionlog_core::{Event, SeqNum, SessionRef, Snapshot};

use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::make::number_of;

/// A moment: operations are numbered as they begin and end.
pub(super) type Moment = u64;

/// A batch of events that was, or may have been, sent.
pub(super) struct Batch {
    /// Which life it is for.
    pub(super) life: usize,
    /// Its events' numbers.
    pub(super) numbers: Range<u64>,
    /// The token that it was sent with.
    pub(super) token: Option<u64>,
    /// When it was sent first.
    pub(super) asked: Moment,
    /// When it was acknowledged, and where.
    pub(super) acked: Option<(Moment, Range<SeqNum>)>,
    /// An answer said that it may be there.
    pub(super) perhaps: bool,
}

/// A lease that was granted.
pub(super) struct Grant {
    pub(super) life: usize,
    pub(super) token: u64,
    pub(super) asked: Moment,
    pub(super) acked: Moment,
    /// Where the log ended right after it.
    pub(super) tail: SeqNum,
}

/// A session, in one life.
pub(super) struct Life {
    pub(super) session: SessionRef,
    /// It is known to be there: a create was acknowledged, or refused because it is.
    pub(super) created: bool,
    /// A create, a lease or an append was acknowledged, so it must be in the list.
    pub(super) listed: bool,
    /// When the first delete was asked for, and when one was acknowledged.
    pub(super) dying: Option<Moment>,
    pub(super) dead: Option<Moment>,
    /// The last end of the log that somebody was shown.
    pub(super) seen: SeqNum,
}

/// A snapshot that was sent.
pub(super) struct Saved {
    pub(super) life: usize,
    pub(super) snapshot: Snapshot,
    pub(super) token: u64,
    pub(super) asked: Moment,
}

/// A request for a lease.
pub(super) struct Wanted {
    pub(super) client: usize,
    pub(super) asked: Moment,
    /// When it was answered for good; an unknown outcome may still come about.
    pub(super) ended: Option<Moment>,
}

/// Everything that was asked and answered.
#[derive(Default)]
pub(super) struct History {
    now: Moment,
    pub(super) lives: Vec<Life>,
    pub(super) batches: Vec<Batch>,
    pub(super) grants: Vec<Grant>,
    pub(super) saved: Vec<Saved>,
    pub(super) wanted: Vec<Wanted>,
    /// The lives and tokens of leases of which somebody asked that they be given back.
    pub(super) given_back: Vec<(usize, u64)>,
    numbers: u64,
}

impl History {
    /// The next moment.
    pub(super) fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// A new batch of so many events.
    pub(super) fn batch(&mut self, life: usize, len: u64, token: Option<u64>) -> usize {
        let start = self.numbers;
        self.numbers += len;
        let asked = self.tick();
        self.batches.push(Batch {
            life,
            numbers: start..start + len,
            token,
            asked,
            acked: None,
            perhaps: false,
        });
        self.batches.len() - 1
    }

    /// The newest token that a life is known to have.
    pub(super) fn token(&self, life: usize) -> Option<u64> {
        let tokens = self.grants.iter().filter(|g| g.life == life);
        tokens.map(|g| g.token).max()
    }

    /// Takes note of a grant.
    pub(super) fn granted(&mut self, grant: Grant) -> Held {
        for earlier in self.grants.iter().filter(|g| g.life == grant.life) {
            ensure!(
                earlier.token != grant.token,
                "token {} was granted twice",
                grant.token
            );
            ensure!(
                earlier.acked > grant.asked || earlier.token < grant.token,
                "token {} was granted after token {}",
                grant.token,
                earlier.token
            );
        }
        self.grants.push(grant);
        Ok(())
    }

    /// A client asks for a lease. Gives the number of the request.
    pub(super) fn want(&mut self, client: usize) -> (usize, Moment) {
        let asked = self.tick();
        let ended = None;
        self.wanted.push(Wanted {
            client,
            asked,
            ended,
        });
        (self.wanted.len() - 1, asked)
    }

    /// Whether a request for a lease may have been granted behind the grant of `token`.
    pub(super) fn somebody_asked_since(&self, token: u64) -> bool {
        let own = self.grants.iter().find(|g| g.token == token);
        let asked = own.map_or(0, |g| g.asked);
        let since = |w: &Wanted| w.asked != asked && w.ended.is_none_or(|ended| ended > asked);
        self.wanted.iter().any(since)
    }

    /// Checks the log of a life at the end of the run.
    pub(super) fn check(&self, life: usize, log: &[Event]) -> Held {
        let numbers: Vec<_> = log.iter().map(|e| number_of(e.id)).collect();
        let mut known = 0;
        let mut placed: Vec<(&Batch, SeqNum)> = Vec::new();
        for batch in self.batches.iter().filter(|b| b.life == life) {
            let first = numbers.iter().position(|n| *n == Some(batch.numbers.start));
            let whole = batch.numbers.clone().map(Some).collect::<Vec<_>>();
            let there = numbers
                .iter()
                .flatten()
                .filter(|n| batch.numbers.contains(n));
            match (first, there.count()) {
                (None, 0) => ensure!(
                    batch.acked.is_none(),
                    "batch {:?} was acknowledged and is not there",
                    batch.numbers
                ),
                (Some(first), n) if n == whole.len() => {
                    let here: Vec<_> = numbers.iter().skip(first).take(n).copied().collect();
                    ensure_eq!(here, whole, "events in a row from where a batch begins");
                    placed.push((batch, SeqNum::new(first as u64)));
                    known += n;
                }
                (_, n) => {
                    return Err(breach(format!(
                        "batch {:?} has {} events, and the log has {n} of its numbers: {numbers:?}",
                        batch.numbers,
                        whole.len()
                    )));
                }
            }
        }
        ensure_eq!(
            known,
            log.len(),
            "events of batches that were sent, and all"
        );
        for (batch, start) in &placed {
            self.may_be(batch, *start)?;
            for (later, behind) in &placed {
                let before = batch
                    .acked
                    .as_ref()
                    .is_some_and(|(at, _)| *at < later.asked);
                ensure!(
                    !before || start < behind,
                    "batch {:?} at {start} was acknowledged before batch {:?} at {behind} was sent",
                    batch.numbers,
                    later.numbers
                );
            }
        }
        Ok(())
    }

    /// Checks that a batch may be where it is.
    fn may_be(&self, batch: &Batch, start: SeqNum) -> Held {
        let numbers = &batch.numbers;
        match &batch.acked {
            Some((_, range)) => ensure_eq!(
                start,
                range.start,
                "where batch {numbers:?} is, and where its acknowledgement said"
            ),
            None => ensure!(
                batch.perhaps,
                "batch {numbers:?} is there, and every answer said that it is not"
            ),
        }
        let Some(token) = batch.token else {
            return Ok(());
        };
        for grant in self.grants.iter().filter(|g| g.life == batch.life) {
            ensure!(
                token >= grant.token || (batch.asked < grant.acked && start < grant.tail),
                "batch {numbers:?} of token {token} took effect at {start} after token {} was granted \
                 at the tail {}",
                grant.token,
                grant.tail
            );
        }
        Ok(())
    }
}
