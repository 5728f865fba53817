//! The laws of tasks and threads in one process.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_timer::Delay;
use futures_util::future::{LocalBoxFuture, join};
use sessionlog_core::Store;

use super::check::Looks;
use super::clock::Clock;
use super::history::{Got, Op, Pen, What, merged, overlaps};
use super::meeting::Meeting;
use super::worker::{Role, Worker, numbers, patiently, session};
use super::{check, leases, sessions};
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::kill::happened;
use crate::law::law;
use crate::make::at;
use crate::patience::patient;
use crate::{Capability, Law, Place};

pub(crate) const LAWS: &[Law] = &[
    law!(
        Race,
        g06_threads_make_one_history,
        "Appends, heads and reads of tasks and threads, on two handles if there can be two, are those of one log: linearizable."
    ),
    law!(
        Race,
        g09_threads_hold_the_lease_one_at_a_time,
        "Of threads that take the lease, by force now and then, append under it and give it back, one holds it at a time, and tokens grow, in the log as well.",
        PromptLeases
    ),
    law!(
        Race,
        g14_lists_beside_creates_and_deletes_are_right,
        "A list beside creates and deletes of other threads has every session that is there all the while, and none that is not."
    ),
    law!(
        Race,
        g16_followers_beside_writers_miss_nothing,
        "Followers beside writing threads see every event once, in order.",
        LiveNotification
    ),
];

pub(super) const OVERLAPS: &str = "operations that overlap";
pub(super) const CONFLICTS: &str = "conflicts";

/// Handles on a new place that has the session: two, if there can be two.
async fn opened(bench: &Bench, place: &Place) -> Held<Vec<Handle>> {
    let first = (bench.subject.open)(place).await?;
    first.create(&session()?).await?;
    let mut handles = vec![first];
    if bench.subject.several_handles == Capability::Yes {
        handles.push((bench.subject.open)(place).await?);
    }
    Ok(handles)
}

/// Two tasks on each of four threads, on the handles in turn; their history.
fn race(bench: &Bench, handles: &[Handle], role: Role, steps: u64) -> Held<Vec<Op>> {
    let (clock, come) = (Clock::threads(), Arc::default());
    let written: Arc<Mutex<Vec<Op>>> = Arc::default();
    let worker = |who: u64| {
        let written = Arc::clone(&written);
        let write = move |op: &Op| {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            written.push(op.clone());
        };
        let handle = handles
            .iter()
            .cycle()
            .nth(usize::try_from(who).unwrap_or(0));
        let handle = handle.ok_or_else(|| crate::breach::breach("no handle"))?;
        Held::Ok(Worker {
            store: Handle::clone(handle),
            session: session()?,
            pen: Pen::new(clock.share()?, who, write),
            who,
            forces: bench.subject.forced_leases == Capability::Yes,
            meeting: Meeting::of_threads(&come, 8),
        })
    };
    let mut threads = Vec::new();
    for thread in 0..4 {
        let (mut one, mut two) = (worker(thread * 2 + 1)?, worker(thread * 2 + 2)?);
        threads.push(move || async move {
            let (one, two) = join(one.run(role, steps), two.run(role, steps)).await;
            one.and(two).map(|()| true)
        });
    }
    for outcome in bench.on_threads_made(threads.into_iter()) {
        ensure!(outcome?, "a thread came to no end");
    }
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    let ops = merged(written.iter().cloned());
    bench.sometimes(OVERLAPS, overlaps(&ops));
    Ok(ops)
}

/// Counts what a history must have some of.
pub(super) fn count(bench: &Bench, ops: &[Op]) {
    let conflict = |op: &&Op| {
        matches!(
            op.what,
            What::Append {
                got: Got::Conflict(_),
                ..
            }
        )
    };
    bench.sometimes("operations", ops.len() as u64);
    bench.sometimes(CONFLICTS, ops.iter().filter(conflict).count() as u64);
}

/// Whom a look at the subject's log binds.
pub(super) fn looks(bench: &Bench) -> Looks {
    match bench.subject.linearizable_reads {
        Capability::Yes => Looks::BindAll,
        Capability::No(_) => Looks::BindTheirOwn,
    }
}

/// Whether each of the names was counted.
pub(super) fn met(bench: &Bench, names: &[&'static str]) -> bool {
    let counters = bench.counters();
    names
        .iter()
        .all(|name| counters.get(name).is_some_and(|n| *n > 0))
}

/// A race in which nothing overlapped shows nothing: so often it is tried.
pub(super) const ROUNDS: u64 = 8;

async fn g06_threads_make_one_history(bench: &Bench) -> Held {
    let names = &[OVERLAPS, CONFLICTS];
    let steps = bench.options.budget.of(15, 25, 200);
    for _ in 0..ROUNDS {
        let place = bench.new_place()?;
        let handles = opened(bench, &place).await?;
        let ops = race(bench, &handles, Role::Writer, steps)?;
        count(bench, &ops);
        for handle in &handles {
            check::log(&numbers(handle, &session()?).await?, &ops, looks(bench))?;
        }
        if met(bench, names) {
            break;
        }
    }
    happened(bench, names)
}

async fn g09_threads_hold_the_lease_one_at_a_time(bench: &Bench) -> Held {
    const GRANTS: &str = "grants";
    const HELD: &str = "refused for another holder";
    let steps = bench.options.budget.of(12, 20, 200);
    for _ in 0..ROUNDS {
        let place = bench.new_place()?;
        let handles = opened(bench, &place).await?;
        let ops = race(bench, &handles, Role::Driver, steps)?;
        for op in &ops {
            if let (What::Acquire { token, .. }, Some(_)) = (&op.what, op.ended) {
                bench.sometimes(if token.is_some() { GRANTS } else { HELD }, 1);
            }
        }
        for handle in &handles {
            check::log(&numbers(handle, &session()?).await?, &ops, looks(bench))?;
        }
        leases::one_at_a_time(&ops)?;
        if met(bench, &[OVERLAPS, GRANTS, HELD]) {
            break;
        }
    }
    happened(bench, &[OVERLAPS, GRANTS, HELD])
}

async fn g14_lists_beside_creates_and_deletes_are_right(bench: &Bench) -> Held {
    let steps = bench.options.budget.of(5, 6, 40);
    for _ in 0..ROUNDS {
        let place = bench.new_place()?;
        let handles = opened(bench, &place).await?;
        let ops = race(bench, &handles, Role::Keeper, steps)?;
        sessions::set(&ops)?;
        kept(bench, &handles, &ops).await?;
        if met(bench, &[OVERLAPS, sessions::TAKEN]) {
            break;
        }
    }
    happened(bench, &[OVERLAPS, sessions::TAKEN])
}

/// In the end, every session that was made and not deleted has its two events.
pub(super) async fn kept(bench: &Bench, handles: &[Handle], ops: &[Op]) -> Held {
    for op in ops {
        let What::Create { name, life, made } = &op.what else {
            continue;
        };
        if *made != Some(true) {
            bench.sometimes(sessions::TAKEN, 1);
            continue;
        }
        if sessions::deleted(ops, name, *life) {
            continue;
        }
        let session = crate::make::life(name, *life)?;
        for handle in handles {
            let log = numbers(handle, &session).await?;
            ensure_eq!(log, vec![0, 1], "the events of {name} behind the race");
        }
    }
    Ok(())
}

/// What runs on a thread of its own.
type Made<'a> = Box<dyn FnOnce() -> LocalBoxFuture<'a, Held<bool>> + Send + 'a>;

async fn g16_followers_beside_writers_miss_nothing(bench: &Bench) -> Held {
    const SEEN: &str = "events that were followed";
    const WAITED: &str = "a follower at the end";
    let place = bench.new_place()?;
    let handles = opened(bench, &place).await?;
    let (writers, each) = (3, bench.options.budget.of(20, 40, 400));
    let total = writers * each;
    // How many writers have come to their end.
    let done = AtomicU64::new(0);
    // Whether a follower is at the end and waits, or is over.
    let rests: Vec<_> = handles.iter().map(|_| AtomicBool::new(false)).collect();
    let write = async |who: u64| {
        for n in 0..each {
            // Now and then, and at last, nobody goes on before all followers have come to the end.
            if n % 4 == 3 || n + 1 == each {
                for _ in 0..bench.options.patience {
                    if rests.iter().all(|rests| rests.load(Ordering::SeqCst)) {
                        break;
                    }
                    Delay::new(Duration::from_millis(1)).await;
                }
            }
            let number = who * 1_000_000 + n;
            let store = handles
                .iter()
                .cycle()
                .nth(usize::try_from(who).unwrap_or(0));
            let store = store.ok_or_else(|| crate::breach::breach("no handle"))?;
            let (session, batch) = (session()?, crate::make::events(number..number + 1));
            patiently(async || Ask::put_events(store, &session, batch.clone()).await).await?;
        }
        Held::Ok(true)
    };
    let follow = async |store: &Handle, rests: &AtomicBool| {
        let opened = Store::shared(Handle::clone(store))
            .open(&session()?.id)
            .await?;
        let mut follower = opened.follow(at(0));
        let mut ids = Vec::new();
        for n in 0..total {
            let session = session()?;
            let event = loop {
                let over = done.load(Ordering::SeqCst) == writers;
                let end = patiently(async || Ask::end(store, &session).await).await?;
                let at_end = end.tail <= at(n);
                ensure!(
                    !(over && at_end),
                    "a log of {total} acknowledged events ends at {n}"
                );
                let mut next = pin!(follower.next());
                let next = poll_fn(|cx| {
                    let polled = next.as_mut().poll(cx);
                    if at_end && polled.is_pending() {
                        bench.sometimes(WAITED, u64::from(!rests.swap(true, Ordering::SeqCst)));
                    }
                    // Who looks now and then waits for nothing when nobody writes any more.
                    let looks = !over && done.load(Ordering::SeqCst) == writers;
                    match polled {
                        Poll::Pending if looks => Poll::Ready(None),
                        polled => polled.map(Some),
                    }
                });
                let next = patient(bench.options.patience, next).await;
                rests.store(false, Ordering::SeqCst);
                match next {
                    Some(Some(Some(event))) => break event?,
                    Some(None) => {}
                    other => {
                        return Err(crate::breach::breach(format!(
                            "a follower got {other:?} instead of event {n} of {total}"
                        )));
                    }
                }
            };
            ensure_eq!(event.seq, at(n), "the next event of a follower");
            ids.push(event.id);
        }
        ids.sort_unstable();
        ids.dedup();
        ensure_eq!(
            ids.len() as u64,
            total,
            "different events that were followed"
        );
        Held::Ok(true)
    };
    let (write, follow) = (&write, &follow);
    let writing = (0..writers).map(|who| {
        let done = &done;
        let run = move || {
            let written = async move {
                let written = write(who).await;
                done.fetch_add(1, Ordering::SeqCst);
                written
            };
            Box::pin(written) as LocalBoxFuture<'_, Held<bool>>
        };
        Box::new(run) as Made<'_>
    });
    let following = handles.iter().zip(&rests).map(|(handle, rests)| {
        let run = move || {
            let followed = async move {
                let followed = follow(handle, rests).await;
                rests.store(true, Ordering::SeqCst);
                followed
            };
            Box::pin(followed) as LocalBoxFuture<'_, Held<bool>>
        };
        Box::new(run) as Made<'_>
    });
    for outcome in bench.on_threads_made(writing.chain(following)) {
        ensure!(outcome?, "a thread came to no end");
    }
    bench.sometimes(SEEN, total * handles.len() as u64);
    if met(bench, &[SEEN, WAITED]) || bench.options.replay.is_some() {
        return Ok(());
    }
    Err(crate::breach::End::NotMeasured(
        "no follower came to the end and waited".into(),
    ))
}
