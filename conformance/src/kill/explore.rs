//! Killing a child at every n-th file call.

use sessionlog_crashfs::{Moment, Plan};

use super::child::Told;
use super::oracle::{Before, DONE, NOT_DONE, Oracle};
use super::parent::{Ended, Process};
use super::work::steps;
use crate::artefact::{Artefact, KillAt};
use crate::bench::Bench;
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::files::Files;
use crate::{Budget, Place};

/// A half-written write was met.
const TORN: &str = "half-written write";
/// Kills of a child at one of its file calls.
const KILLS: &str = "kills";

/// Kills a child at each of its calls, and checks what it left each time.
///
/// `check` gets the place, the child's end and whether the child was killed.
pub(crate) async fn at_every_call(
    bench: &Bench,
    work: &str,
    check: impl AsyncFn(&Place, &Ended) -> Held,
) -> Held {
    if let Some(replay) = Artefact::asked(bench)? {
        let KillAt { call, moment } = replay.kill.ok_or_else(|| {
            End::Broken("the file to replay has the commands of another law".into())
        })?;
        let moment = named(&moment)?;
        return run(bench, work, call, moment, &check).await.map(drop);
    }
    // A run that nothing stops.
    let whole = bench.quick_place()?;
    let plan = Plan::new(whole.dir());
    let ended = Process::start(bench, &whole, work, Some(&plan), None)?.end()?;
    ended.sound()?;
    ensure!(
        ended.finished(),
        "a child that nothing stops did not finish: {ended:?}"
    );
    check(&whole, &ended).await?;

    // Half of a call that is no write is nothing of it: the state before the call.
    let moments: &[Moment] = match bench.options.budget {
        Budget::Smoke => &[Moment::Half],
        Budget::Default => &[Moment::Half, Moment::After],
        Budget::Deep => &[Moment::Half, Moment::After, Moment::Before],
    };
    for moment in moments {
        let mut fillings = Vec::new();
        for call in 1.. {
            let Some(filled) = run(bench, work, call, *moment, &check).await? else {
                break;
            };
            fillings.push(filled);
        }
        if *moment == Moment::Half {
            bench.sometimes(TORN, torn(&fillings));
        }
    }
    Ok(())
}

/// The moment of a name.
fn named(name: &str) -> Held<Moment> {
    let moment = Moment::ALL.into_iter().find(|m| m.name() == name);
    moment.ok_or_else(|| End::Broken("no such moment to replay".into()))
}

/// How many writes were half-written, by what was filled after each call: between the calls before and
/// behind it, such a write leaves a filling of its own.
fn torn(fillings: &[usize]) -> u64 {
    let grows = |w: &&[usize]| w.is_sorted_by(|a, b| a < b);
    fillings.windows(3).filter(grows).count() as u64
}

/// One child, and how many bytes it left that are not zero; `None` if it finished before it came to the call.
async fn run(
    bench: &Bench,
    work: &str,
    call: u64,
    moment: Moment,
    check: &impl AsyncFn(&Place, &Ended) -> Held,
) -> Held<Option<usize>> {
    // A failure is told by its own run.
    bench.trail.clear();
    let place = bench.quick_place()?;
    let plan = Plan::new(place.dir()).stop_at(call, moment);
    let ended = Process::start(bench, &place, work, Some(&plan), None)?.end()?;
    let checked = async {
        ended.sound()?;
        if ended.finished() {
            return Ok(None);
        }
        bench.sometimes(KILLS, 1);
        let filled = Files::below(place.dir())?.filled();
        check(&place, &ended).await?;
        Ok(Some(filled))
    };
    checked.await.map_err(|end| {
        let moment = moment.name().to_owned();
        let did = format!(
            "a child that did the work {work:?} was killed at its file call {call}: {moment}"
        );
        Artefact::of_kill(KillAt { call, moment }).attach(bench, end, &did)
    })
}

/// What a child acknowledged: how many steps, one after the other, and which tokens.
pub(crate) fn acknowledged(ended: &Ended) -> Held<(usize, Vec<u64>)> {
    let mut tokens = Vec::new();
    let mut done = 0;
    for told in &ended.told {
        if let Told::Done(step, token) = told {
            ensure_eq!(*step, done, "the next step that the child acknowledged");
            done += 1;
            tokens.extend(*token);
        }
    }
    Ok((done, tokens))
}

/// A workload of single steps, checked against the reference backend.
pub(crate) async fn steps_at_every_call(bench: &Bench, work: &str) -> Held {
    let oracle = Oracle::of(steps(work)).await?;
    at_every_call(bench, work, async |place, ended| {
        let (done, tokens) = acknowledged(ended)?;
        oracle
            .check(bench, place, Before::acknowledged(done), &tokens)
            .await
    })
    .await?;
    happened(bench, &[KILLS, TORN, DONE, NOT_DONE])
}

/// A run in which something never happened that must happen sometimes shows nothing.
pub(crate) fn happened(bench: &Bench, names: &[&'static str]) -> Held {
    if bench.options.replay.is_some() {
        return Ok(());
    }
    let counters = bench.counters();
    match names.iter().find(|name| !counters.contains_key(*name)) {
        Some(name) => Err(End::NotMeasured(format!("it never happened: {name}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::breach::End;
    use crate::known::Known;

    #[test]
    fn a_half_written_write_is_more_than_before_and_less_than_behind() {
        for (fillings, expected) in [
            (&[1, 2, 3][..], 1),
            (&[1, 2, 3, 4], 2),
            (&[1, 1, 3], 0),
            (&[1, 3, 3], 0),
            (&[3, 2, 1], 0),
            (&[1, 2], 0),
        ] {
            assert_eq!(torn(fillings), expected, "{fillings:?}");
        }
    }

    #[test]
    fn a_kill_is_replayed_at_the_moment_that_it_names() {
        for moment in Moment::ALL {
            assert!(named(moment.name()).unwrap() == moment, "{moment:?}");
        }
        assert!(matches!(named("never"), Err(End::Broken(_))));
    }

    #[test]
    fn steps_are_acknowledged_one_after_the_other() {
        let ended = |told: &[Told]| Ended {
            told: told.to_vec(),
            killed: true,
        };
        let told = [
            Told::Hello,
            Told::Done(0, None),
            Told::Done(1, Some(7)),
            Told::Seen(9),
            Told::Done(2, Some(8)),
        ];
        assert_eq!(acknowledged(&ended(&told)).unwrap(), (3, vec![7, 8]));
        assert_eq!(acknowledged(&ended(&[])).unwrap(), (0, vec![]));
        for at in [1, 2] {
            let mut gap = told.to_vec();
            gap.remove(at);
            let held = acknowledged(&ended(&gap));
            assert!(matches!(held, Err(End::Breach(_))), "{held:?}");
        }
    }

    #[test]
    fn what_never_happened_is_not_measured() {
        let bench = |options: &Options| {
            let bench = Bench::new("kill", Known::GoodMemory.subject(), options).unwrap();
            bench.sometimes(KILLS, 1);
            bench
        };
        let smoke = Options::smoke();
        happened(&bench(&smoke), &[KILLS]).unwrap();
        let never = happened(&bench(&smoke), &[KILLS, TORN]);
        assert!(matches!(never, Err(End::NotMeasured(_))), "{never:?}");
        // Who sees one failure again sees nothing else.
        let replay = Options {
            replay: Some("one".into()),
            ..smoke
        };
        happened(&bench(&replay), &[TORN]).unwrap();
    }
}
