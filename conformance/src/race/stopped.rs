//! A holder that stands still, and goes on when it is too late.

use super::check;
use super::clock::Clock;
use super::history::{Got, Op, Pen, What, merged};
use super::meeting::Meeting;
use super::threads::looks;
use super::worker::{Role, Worker, numbers, session};
use crate::Law;
use crate::bench::Bench;
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::kill::{Process, Told, happened};
use crate::law::law;

pub(crate) const LAWS: &[Law] = &[law!(
    Race,
    g08_a_stopped_holder_is_fenced,
    "A process that holds the lease is stopped, the lease is taken from it, and it goes on: nothing that it does takes effect any more.",
    Durable,
    SeveralProcesses,
    ForcedLeases,
    Child
)];

const STOPS: &str = "holders stopped";
const FENCED: &str = "late appends refused";

async fn g08_a_stopped_holder_is_fenced(bench: &Bench) -> Held {
    for round in 0..bench.options.budget.of(1, 3, 30) {
        one(bench, round).await?;
    }
    happened(bench, &[STOPS, FENCED])
}

/// Listens to a child until it tells what is wanted; what it did meanwhile is kept.
fn until(child: &Process, did: &mut Vec<Op>, wanted: impl Fn(&Told) -> bool) -> Held<Told> {
    loop {
        match child.next()? {
            Some(Told::Did(op)) => did.push(*op),
            Some(Told::Done(0, _)) => {}
            Some(told) if wanted(&told) => return Ok(told),
            other => return Err(breach(format!("the holder told {other:?}"))),
        }
    }
}

async fn one(bench: &Bench, round: u64) -> Held {
    let place = bench.new_place()?;
    let store = (bench.subject.open)(&place).await?;
    store.create(&session()?).await?;
    let mut did = Vec::new();
    let mut child = Process::start(
        bench,
        &place,
        &Role::Holder.work(1, 0, 1, false),
        None,
        None,
    )?;
    let grant = until(&child, &mut did, |told| matches!(told, Told::Done(1, _)))?;
    let Told::Done(_, Some(old)) = grant else {
        return Err(breach(format!("the holder got no token: {grant:?}")));
    };
    for step in 1..=1 + round % 3 {
        child.say("append")?;
        until(&child, &mut did, |told| *told == Told::Seen(step))?;
    }
    child.stop()?;
    bench.sometimes(STOPS, 1);
    let written: std::sync::Arc<std::sync::Mutex<Vec<Op>>> = std::sync::Arc::default();
    let write = {
        let written = std::sync::Arc::clone(&written);
        move |op: &Op| {
            let mut all = written
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            all.push(op.clone());
        }
    };
    let mut mine = Worker {
        store,
        session: session()?,
        pen: Pen::new(Clock::of(place.dir())?, 2, write),
        who: 2,
        forces: false,
        meeting: Meeting::alone(),
    };
    let lease = mine.acquire(true).await?;
    let lease = lease.ok_or_else(|| breach("a forced lease was refused"))?;
    ensure!(
        lease.token.get() > old,
        "the grant has token {}, the stopped holder has {old}",
        lease.token
    );
    for step in 0..2 {
        let got = mine.append(step, None, Some(lease.token)).await?;
        ensure!(
            matches!(got, Got::Range(..)),
            "an append of the new holder: {got:?}"
        );
    }
    let before = numbers(&mine.store, &session()?).await?;
    // It finds more to do when it goes on. Before that it must get nothing: who is stopped within a
    // write holds the lock of the writer.
    for _ in 0..3 {
        child.say("append")?;
    }
    child.go_on()?;
    let ended = child.end()?;
    ended.sound()?;
    did.extend(ended.told.into_iter().filter_map(|told| match told {
        Told::Did(op) => Some(*op),
        _ => None,
    }));
    let got = mine.append(2, None, Some(lease.token)).await?;
    ensure!(
        matches!(got, Got::Range(..)),
        "the new holder behind the old one: {got:?}"
    );
    let after = numbers(&mine.store, &session()?).await?;
    let written = written
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let ops = merged(did.into_iter().chain(written.iter().cloned()));
    let late = |op: &&Op| matches!(op.what, What::Append { token: Some(t), got: Got::Fenced(_), .. } if t == old);
    let late = ops.iter().filter(late).count();
    ensure_eq!(late, 3, "appends of the stopped holder that were refused");
    bench.sometimes(FENCED, 3);
    ensure_eq!(
        after.get(..before.len()),
        Some(before.as_slice()),
        "what the new holder had read"
    );
    check::log(&after, &ops, looks(bench))
}
