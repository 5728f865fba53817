//! The judge of what a crash left, on stores that it must let pass and on stores that it must not.

use std::sync::atomic::{AtomicUsize, Ordering};

use pollster::block_on;
use sessionlog_core::{Result, SessionRef};

use super::*;
use crate::kill::work::Step::{Acquire, Append, Create, Delete, Drive, Put, Release, Save};
use crate::kill::work::Who;
use crate::known::{Fault, Wrong};
use crate::make::{noise, pieces};
use crate::{Medium, Options, Subject};

const S: Who = Who("s", 1);
const OTHER: Who = Who("other", 2);

/// Each of these but the second `Put` and the second `Save` changes what can be read.
const STEPS: [Step; 10] = [
    Create(S),
    Create(OTHER),
    Append(S, 0, 2),
    Put(S, 1, 10),
    Put(S, 1, 10),
    Save(S, 1),
    Append(OTHER, 0, 1),
    Save(S, 2),
    Append(S, 2, 3),
    Delete(OTHER),
];

type Happens = fn(&Handle) -> Result<()>;
type Differs = fn(&mut crate::dump::Session);

/// A store in memory, and what happens to it when it is opened for the nth time.
#[derive(Clone)]
struct Kept {
    memory: Memory,
    opened: Arc<AtomicUsize>,
    happens: (usize, Happens),
    finds: Option<Severity>,
}

impl Kept {
    fn new(memory: Memory) -> Self {
        Self {
            memory,
            opened: Arc::default(),
            happens: (0, |_| Ok(())),
            finds: None,
        }
    }
}

struct Twin;

impl Subject for Twin {
    type Backend = Wrong;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Wrong> {
        let kept = place.keep(|| Kept::new(Memory::new()));
        let store: Handle = Arc::new(kept.memory);
        if kept.opened.fetch_add(1, Ordering::Relaxed) + 1 == kept.happens.0 {
            (kept.happens.1)(&store)?;
        }
        Ok(Wrong::new(store, Fault::Finds(kept.finds)))
    }
}

fn oracle(steps: &[Step]) -> Oracle {
    block_on(Oracle::of(steps.to_vec())).unwrap()
}

/// A store in which the first so many steps were done, and which nobody holds any more.
fn after(steps: &[Step], done: usize) -> Memory {
    let memory = Memory::new();
    let mut worker = Worker::new(Arc::new(memory.clone()));
    for step in &steps[..done] {
        block_on(worker.perform(*step)).unwrap();
    }
    memory
}

fn dump(memory: &Memory) -> Dump {
    let store: Handle = Arc::new(memory.clone());
    block_on(Dump::of(&store)).unwrap()
}

fn bench() -> Bench {
    let subject = crate::subject::Erased::of::<Twin>();
    Bench::new("oracle", subject, &Options::smoke()).unwrap()
}

/// What the judge says of a store, and what it counted.
fn judged(steps: &[Step], kept: Kept, done: usize, tokens: &[u64]) -> (Held, Vec<&'static str>) {
    let bench = bench();
    bench.place.keep(|| kept);
    let before = Before::acknowledged(done);
    let held = block_on(oracle(steps).check(&bench, &bench.place, before, tokens));
    (held, bench.counters().into_keys().collect())
}

fn why<T>(held: Held<T>) -> String {
    match held {
        Err(End::Breach(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it passed"),
    }
}

#[test]
fn a_store_fits_what_was_acknowledged_and_one_step_more() {
    let oracle = oracle(&STEPS);
    assert_eq!((oracle.len(), oracle.steps()), (STEPS.len(), &STEPS[..]));
    // Snapshots may be lost and a blob be put twice: such steps look as the one before them does.
    let looks = |n: usize| match n {
        5 | 6 => 4,
        8 => 7,
        n => n,
    };
    let saved = |n: usize| (n >= 6).then_some(6).max((n >= 8).then_some(8));
    let states: Vec<_> = (0..=STEPS.len()).map(|n| dump(&after(&STEPS, n))).collect();
    for (n, state) in states.iter().enumerate() {
        for done in 0..=STEPS.len() {
            for seen in 0..=STEPS.len() - done {
                let most = (done + seen + 1).min(STEPS.len());
                // The furthest that looks the same counts.
                let at = (done..=most).rev().find(|at| looks(*at) == looks(n));
                let at = at.filter(|_| saved(n).is_none_or(|saved| saved <= most));
                let found = oracle.fits(state, done, seen);
                let what = format!("{n} steps, {done} acknowledged, {seen} seen: {found:?}");
                assert_eq!(found.ok(), at.map(|at| at > done), "{what}");
            }
        }
    }
}

#[test]
fn a_store_that_does_not_fit_is_told_from_both_sides() {
    let oracle = oracle(&STEPS);
    let none = dump(&Memory::new());
    let between = why(oracle.fits(&none, 2, 0));
    assert!(
        between.contains("neither as before nor as after")
            && between.contains(&format!("{:?}", STEPS[2]))
            && between.contains("as before: Breach")
            && between.contains("as after: Breach"),
        "{between}"
    );
    let last = why(oracle.fits(&none, STEPS.len(), 0));
    assert!(last.starts_with("the sessions after the crash"), "{last}");
    // One state is left, but not the last one.
    let more = why(oracle.fits(&none, STEPS.len() + 1, 0));
    assert!(more.contains("more steps were acknowledged"), "{more}");
    assert!(why(oracle.is_at(&none, 11, "")).contains("more steps"));
    assert!(oracle.is_at(&none, 0, "").is_ok());
    why(oracle.is_at(&none, 1, ""));
}

#[test]
fn a_snapshot_that_nobody_saved_is_found() {
    let memory = after(&STEPS, 9);
    let store: Handle = Arc::new(memory.clone());
    let mut forged =
        block_on(store.latest(&S.session().unwrap(), &crate::make::FOLD, 1, SeqNum::MAX));
    let mut forged = forged.as_mut().unwrap().take().unwrap();
    assert!(!oracle(&STEPS).fits(&dump(&memory), 9, 0).unwrap());
    forged.state = noise(1, 3).into();
    block_on(store.save(&S.session().unwrap(), forged, None)).unwrap();
    let told = why(oracle(&STEPS).fits(&dump(&memory), 9, 0));
    assert!(told.contains("nobody saved"), "{told}");
}

#[test]
fn steps_that_nobody_can_do_break_the_run() {
    let held = block_on(Oracle::of(vec![Append(S, 0, 1)]));
    assert!(matches!(held, Err(End::Broken(_))));
}

#[test]
fn every_state_of_a_whole_store_passes() {
    let steps = [&STEPS[..], &[Acquire(S), Drive(S, 3, 4), Release(S)]].concat();
    for at in 0..=steps.len() {
        for done in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            let (held, counted) = judged(&steps, Kept::new(after(&steps, at)), done, &[]);
            held.unwrap();
            // What changes nothing is neither done nor not done, and nor is what there is not.
            let expected: &[_] = match done {
                4 => &[],
                _ if done == steps.len() => &[],
                5 | 7 => &[DONE],
                10 | 12 => &[DONE],
                _ if done < at => &[DONE],
                _ => &[NOT_DONE],
            };
            assert_eq!(counted, expected, "{done} of {at}");
        }
    }
}

#[test]
fn damage_that_verification_finds_is_a_breach() {
    for (finds, passes) in [(Severity::Damage, false), (Severity::Note, true)] {
        let kept = Kept {
            finds: Some(finds),
            ..Kept::new(after(&STEPS, 3))
        };
        let (held, _) = judged(&STEPS, kept, 3, &[]);
        assert_eq!(held.is_ok(), passes, "{held:?}");
    }
}

#[test]
fn what_a_later_opening_changes_is_found() {
    let faults: [(&str, Happens); 4] = [
        ("takes a session", |store| {
            block_on(store.delete(&of(OTHER), None))
        }),
        ("takes a blob", |store| {
            let id = sessionlog_core::BlobId::of(&noise(1, 10));
            block_on(store.remove(&of(S), id, None))
        }),
        ("adds a blob", |store| {
            block_on(store.put(&of(S), pieces(b"x", 1), None)).map(drop)
        }),
        ("adds an event", |store| {
            block_on(store.put_events(&of(S), vec![event(77)])).map(drop)
        }),
    ];
    for opening in 1..=3 {
        for (what, fault) in faults {
            let kept = Kept {
                happens: (opening, fault),
                ..Kept::new(after(&STEPS, 9))
            };
            // The last step is undone, so the other session may not be gone.
            let (held, _) = judged(&STEPS[..9], kept, 9, &[]);
            assert!(held.is_err(), "opening {opening} {what}");
        }
    }
}

fn of(who: Who) -> SessionRef {
    who.session().unwrap()
}

#[test]
fn a_token_that_was_told_is_not_granted_again() {
    let next = {
        let store: Handle = Arc::new(after(&STEPS, 9));
        let request = request("somebody").unwrap();
        block_on(store.acquire(&of(S), request)).unwrap().token
    };
    for (told, passes) in [(0, true), (next.get() - 1, true), (next.get(), false)] {
        // The newest is not always the last one.
        for tokens in [[told, 0], [0, told]] {
            let (held, _) = judged(&STEPS, Kept::new(after(&STEPS, 9)), 9, &tokens);
            assert_eq!(held.is_ok(), passes, "{told} of {next:?}: {held:?}");
        }
    }
    // They are those of one session.
    let steps = [Create(OTHER)];
    let (held, _) = judged(&steps, Kept::new(after(&steps, 1)), 1, &[1_000]);
    held.unwrap();
}

#[test]
fn a_lease_that_outlived_its_holder_is_found_where_leases_are_prompt() {
    for (prompt, passes) in [(Capability::Yes, false), (Capability::No("a twin"), true)] {
        let mut bench = bench();
        bench.subject.prompt_leases = prompt;
        let memory = after(&STEPS, 9);
        let store: Handle = Arc::new(memory.clone());
        let mut found = dump(&memory);
        let _stays = block_on(store.acquire(&of(S), request("gone").unwrap())).unwrap();
        let held = block_on(goes_on(&bench, &store, &mut found, &[]));
        assert_eq!(held.is_ok(), passes, "{held:?}");
    }
}

#[test]
fn a_log_that_is_not_as_it_was_read_is_found() {
    let bench = bench();
    let memory = after(&STEPS, 9);
    let store: Handle = Arc::new(memory.clone());
    let faults: [(&str, Differs); 3] = [
        ("one event more", |s| s.append(vec![event(8)])),
        ("one event fewer", |s| drop(s.events.pop())),
        ("another event", |s| {
            s.events[0].data = sessionlog_core::Data::from_stored("1".into());
        }),
    ];
    for (what, fault) in faults {
        let mut found = dump(&memory);
        found.sessions.values_mut().for_each(fault);
        let held = block_on(goes_on(&bench, &store, &mut found, &[]));
        assert!(held.is_err(), "{what}");
    }
}

#[test]
fn a_batch_that_is_sent_again_is_there_once() {
    let steps = [
        Create(S),
        Append(S, 0, 2),
        Create(OTHER),
        Append(OTHER, 5, 6),
    ];
    let oracle = oracle(&steps);
    let settles = |memory: &Memory, done, change: fn(&mut Dump)| {
        let store: Handle = Arc::new(memory.clone());
        let mut found = dump(memory);
        change(&mut found);
        let held = block_on(oracle.settles(&store, &mut found, done));
        held.map(|()| found == dump(memory))
    };
    // The step under way is sent, too: whether it was done or not.
    for at in 0..=steps.len() {
        for done in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            let memory = after(&steps, at);
            assert!(settles(&memory, done, |_| ()).unwrap(), "{done} of {at}");
            let there = |append: usize| usize::from(append < at || append <= done);
            let expected = there(1) * 2 + there(3);
            let events = dump(&memory).sessions.into_values().map(|s| s.events.len());
            assert_eq!(events.sum::<usize>(), expected, "{done} of {at}");
        }
    }
    // It stands elsewhere than where it was seen, or its session is not there.
    let memory = after(&steps, 4);
    why(settles(&memory, 4, |found| {
        let s = found.sessions.values_mut().last().unwrap();
        s.events.remove(0);
    }));
    why(settles(&memory, 4, |found| found.sessions.clear()));
    // What it is refused for is told, but that it is gone.
    let memory = after(&steps[..1], 1);
    let store: Handle = Arc::new(memory.clone());
    let other = crate::make::with_data(1, "0");
    block_on(store.put_events(&of(S), vec![other])).unwrap();
    why(settles(&memory, 1, |_| ()));
    why(settles(&memory, 4, |found| {
        let s = found.sessions.values_mut().last().unwrap();
        s.life.incarnation = of(OTHER).incarnation;
    }));
}

#[test]
fn nothing_is_sent_to_a_session_that_is_gone() {
    // It was acknowledged that it is gone, or its delete was under way.
    let steps = [Create(S), Append(S, 0, 2), Delete(S), Create(Who("s", 3))];
    for (at, done) in [(3, 2), (3, 3), (4, 3), (4, 4)] {
        let (held, _) = judged(&steps, Kept::new(after(&steps, at)), done, &[]);
        held.unwrap();
    }
}

#[test]
fn a_handle_that_somebody_keeps_is_not_opened_again() {
    let bench = bench();
    let store = block_on(bench.open()).unwrap();
    let kept = Arc::clone(&store);
    let told = why(block_on(again(&bench, store, &bench.place)));
    assert!(told.contains("users of the handle"), "{told}");
    assert!(block_on(again(&bench, kept, &bench.place)).is_ok());
}
