//! Decides what becomes of each request of a run, and keeps what was decided.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::pending;

use super::stage::Stage;
use super::{Fault, Faulty, Request, Verdicts};
use crate::talk::Dice;

/// More requests than this in one operation count as never ending.
const ENDLESS: u64 = 400;

/// How faults are chosen. Requests are numbered from 0, from when the conductor was armed.
pub(super) enum Plan {
    /// These requests meet these faults.
    Script(BTreeMap<u64, Fault>),
    /// Requests meet faults by chance.
    Chance(Chance),
    /// Every request meets this fault that can.
    Lasting(Fault),
}

/// Faults by chance: single ones, and storms in which a client gets nothing through.
pub(super) struct Chance {
    dice: Dice,
    per_mille: u64,
    /// How many requests the storm of each client still lasts.
    storms: BTreeMap<usize, u64>,
}

impl Chance {
    pub(super) fn new(seed: u64, per_mille: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            per_mille,
            storms: BTreeMap::new(),
        }
    }

    fn fault(&mut self, client: usize, faults: &[Fault]) -> Fault {
        let storm = self.storms.entry(client).or_default();
        if *storm == 0 && self.dice.below(1000) < self.per_mille / 8 {
            *storm = 4 + self.dice.below(24);
        }
        let spoiled = *storm > 0 || self.dice.below(1000) < self.per_mille;
        *storm = storm.saturating_sub(1);
        if !spoiled {
            return Fault::None;
        }
        let others = faults.get(1..).unwrap_or_default();
        match self.dice.pick(others).copied().unwrap_or_default() {
            Fault::Late(_) => Fault::Late(u8::try_from(1 + self.dice.below(30)).unwrap_or(1)),
            fault => fault,
        }
    }
}

/// A request and what became of it.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) client: usize,
    pub(super) request: Request,
    pub(super) fault: Fault,
}

struct State {
    armed: bool,
    /// Requests are under way for a while, so that they can be given up.
    lingering: bool,
    /// Requests that were sent while they lingered.
    sent: u64,
    plan: Plan,
    taken: Vec<Taken>,
    /// Requests of the operation that each client is in.
    spent: BTreeMap<usize, u64>,
}

/// What all clients of a run ask.
pub(super) struct Conductor(Mutex<State>);

impl Conductor {
    pub(super) fn new(plan: Plan) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            armed: false,
            lingering: false,
            sent: 0,
            plan,
            taken: Vec::new(),
            spent: BTreeMap::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spoils requests from now on, or no longer.
    pub(super) fn arm(&self, armed: bool) {
        self.lock().armed = armed;
    }

    /// Requests linger from now on, or no longer: each is pending once before it is sent, and once
    /// before its answer comes.
    pub(super) fn linger(&self, lingering: bool) {
        self.lock().lingering = lingering;
    }

    /// How many requests were sent while they lingered.
    pub(super) fn sent(&self) -> u64 {
        self.lock().sent
    }

    async fn lingers(&self) {
        let lingering = self.lock().lingering;
        if lingering {
            yielded().await;
        }
    }

    /// A client begins an operation.
    pub(super) fn begin(&self, client: usize) {
        self.lock().spent.insert(client, 0);
    }

    /// Whether the operation of a client has no end.
    pub(super) fn endless(&self, client: usize) -> bool {
        let spent = self.lock().spent.get(&client).copied();
        spent.is_some_and(|n| n > ENDLESS)
    }

    /// The client `n` of a store; a request waits for its turn on the stage, if there is one.
    pub(super) fn client(
        self: &Arc<Self>,
        cloud: &Faulty,
        n: usize,
        stage: Option<&Stage>,
    ) -> Faulty {
        let (conductor, stage) = (Arc::clone(self), stage.cloned());
        let behind = Arc::clone(self);
        let verdicts = Verdicts::eventual(move |request| {
            let (conductor, stage) = (Arc::clone(&conductor), stage.clone());
            let request = request.clone();
            async move {
                if let Some(stage) = stage {
                    stage.turn(n).await;
                }
                conductor.lingers().await;
                match conductor.decide(n, request) {
                    Some(fault) => fault,
                    None => pending().await,
                }
            }
            .boxed()
        });
        cloud.client(verdicts.with_answers(move || {
            let conductor = Arc::clone(&behind);
            async move { conductor.lingers().await }.boxed()
        }))
    }

    /// The fate of a request; `None` for one of an operation that has no end.
    fn decide(&self, client: usize, request: Request) -> Option<Fault> {
        let mut state = self.lock();
        state.sent += u64::from(state.lingering);
        if !state.armed {
            return Some(Fault::None);
        }
        let spent = state.spent.entry(client).or_default();
        *spent += 1;
        if *spent > ENDLESS {
            return None;
        }
        let all = request.op.faults();
        let at = state.taken.len();
        let fault = match &mut state.plan {
            Plan::Script(script) => script.get(&(at as u64)).copied().unwrap_or_default(),
            Plan::Chance(chance) => chance.fault(client, all),
            Plan::Lasting(fault) => {
                let kind = std::mem::discriminant(fault);
                let can = all.iter().any(|f| std::mem::discriminant(f) == kind);
                if can { *fault } else { Fault::None }
            }
        };
        state.taken.push(Taken {
            client,
            request,
            fault,
        });
        Some(fault)
    }

    /// What became of each request.
    pub(super) fn taken(&self) -> Vec<Taken> {
        self.lock().taken.clone()
    }

    /// The faults that were met, by the number of the request.
    pub(super) fn faults(&self) -> BTreeMap<u64, Fault> {
        let state = self.lock();
        let numbered = (0..).zip(&state.taken).map(|(n, taken)| (n, taken.fault));
        numbered
            .filter(|(_, fault)| *fault != Fault::None)
            .collect()
    }

    /// Whether any request met a fault.
    pub(super) fn spoiled(&self) -> bool {
        let state = self.lock();
        state.taken.iter().any(|taken| taken.fault != Fault::None)
    }
}

/// Is pending once.
async fn yielded() {
    let mut once = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut once, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
