//! Clients of one store, whose requests are in turn, are spoiled at times, and never arrive late by
//! a quarter of an hour.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sessionlog_conformance::objects::{Fault, Request, Stage, Watch};

use crate::moment::{pass, passed};

/// What was sent so long ago no store does any more: S3 and Azure look at the date of a request.
const LATE: Duration = Duration::from_secs(15 * 60);

/// Numbers that look random.
#[derive(Clone)]
pub(super) struct Dice(Arc<Mutex<u64>>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let dice = Self(Arc::new(Mutex::new(state)));
        dice.below(2);
        dice
    }

    pub(super) fn below(&self, end: usize) -> usize {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        usize::try_from((*state >> 11) % u64::try_from(end).unwrap()).unwrap()
    }
}

/// One client.
pub(super) struct Client {
    pub(super) stage: Stage,
    pub(super) number: usize,
    pub(super) dice: Dice,
    /// One in so many requests meets a fault; none if 0.
    pub(super) one_in: usize,
}

impl Watch for Client {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault> {
        Box::pin(async move {
            let sent = passed();
            self.stage.turn(self.number).await;
            if passed() - sent >= LATE {
                return Fault::Lost;
            }
            if self.one_in == 0 || self.dice.below(self.one_in) > 0 {
                return Fault::None;
            }
            let faults = request.op.faults();
            faults[self.dice.below(faults.len())]
        })
    }
}

/// Lets time pass between the requests of others: minutes, hours, days.
pub(super) fn some_time(dice: &Dice) {
    const MINUTES: [u64; 6] = [10, 30, 50, 3 * 60, 13 * 60, 25 * 60];
    let minutes = MINUTES[dice.below(MINUTES.len())];
    pass(Duration::from_secs(60 * minutes));
}
