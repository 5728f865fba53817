//! The law of the model.

use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sessionlog_core::{EventId, Memory};

use super::command::Command;
use super::seen::Seen;
use super::shrink::shortest;
use super::strategy::commands;
use super::world::{Can, World};
use crate::artefact::Artefact;
use crate::bench::{Bench, Handle};
use crate::breach::{End, Held, differs};
use crate::law::law;
use crate::patience::guarded;
use crate::{Budget, Capability, Law, Medium, Place};

pub(crate) const LAWS: &[Law] = &[law!(
    Model,
    g04_any_commands_show_what_the_reference_shows,
    "Whatever commands are given in whatever order, the backend shows what the reference backend shows."
)];

/// Kinds of answers without which the run shows nothing.
const MUST_HAPPEN: [&str; 6] = [
    "done",
    "conflict",
    "fenced",
    "lease-held",
    "not-found",
    "invalid-input",
];

async fn g04_any_commands_show_what_the_reference_shows(bench: &Bench) -> Held {
    let play = async |commands: &[Command]| play_guarded(bench, commands).await;
    if let Some(replay) = Artefact::asked(bench)? {
        let commands = replay
            .commands
            .ok_or_else(|| End::Broken("the file to replay has no commands".into()))?;
        return match play(&commands).await {
            Ok(()) => Ok(()),
            Err(end) => Err(told(bench, &commands, end)),
        };
    }
    let algorithm = RngAlgorithm::ChaCha;
    let rng = match bench.options.budget {
        Budget::Deep => TestRng::from_seed(algorithm, &random_seed()),
        _ => TestRng::deterministic_rng(algorithm),
    };
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng);
    for case in 1..=bench.options.budget.of(60, 200, 5_000) {
        let tree = commands().new_tree(&mut runner);
        let tree = tree.map_err(|e| End::Broken(format!("no commands: {e}")))?;
        if let Err(end) = play(&tree.current()).await {
            let (commands, end) = shortest(tree, end, &play).await;
            return Err(told(bench, &commands, end));
        }
        if is_enough(bench, case) && never_happened(bench).is_none() {
            break;
        }
    }
    match never_happened(bench) {
        Some(what) => Err(End::NotMeasured(format!("it never happened: {what}"))),
        None => Ok(()),
    }
}

/// Each command is a request or more: a server is asked for few cases in the smallest budget.
fn is_enough(bench: &Bench, cases: u64) -> bool {
    bench.options.budget == Budget::Smoke && bench.subject.medium == Medium::External && cases >= 15
}

fn never_happened(bench: &Bench) -> Option<&'static str> {
    let counters = bench.counters();
    MUST_HAPPEN
        .into_iter()
        .find(|what| !counters.contains_key(*what))
}

/// Another seed each time: a failure is saved as its commands, so no seed is needed again.
pub(crate) fn random_seed() -> [u8; 32] {
    let halves = [EventId::generate(), EventId::generate()];
    let mut seed = [0; 32];
    for (half, id) in seed.chunks_mut(16).zip(&halves) {
        half.copy_from_slice(id.as_bytes());
    }
    seed
}

/// The failure with its commands, one a line, saved for replay.
fn told(bench: &Bench, commands: &[Command], end: End) -> End {
    for command in commands {
        bench.trail.line(command.to_string());
    }
    let did = format!(
        "the shortest of the failing lists that were tried has {} commands",
        commands.len()
    );
    Artefact::of_commands(commands.to_vec()).attach(bench, end, &did)
}

async fn play_guarded(bench: &Bench, commands: &[Command]) -> Held {
    guarded(bench.options.patience, "a command", play(bench, commands)).await
}

async fn open(bench: &Bench, place: &Place) -> Held<Vec<Handle>> {
    let mut handles = vec![(bench.subject.open)(place).await?];
    if bench.subject.several_handles == Capability::Yes {
        handles.push((bench.subject.open)(place).await?);
    }
    Ok(handles)
}

/// Runs commands on a fresh place and on a fresh reference, and compares what is seen.
async fn play(bench: &Bench, commands: &[Command]) -> Held {
    let place = bench.quick_place()?;
    let can = Can {
        force: bench.subject.forced_leases == Capability::Yes,
        drop_leases: bench.subject.prompt_leases == Capability::Yes,
    };
    let mut world = World::new(open(bench, &place).await?, can);
    let reference: Handle = Arc::new(Memory::new());
    let mut oracle = World::new(vec![reference], can);
    for (n, command) in (1..).zip(commands) {
        match command {
            Command::Reopen => {
                world.let_go().await?;
                oracle.let_go().await?;
                world.handles.clear();
                world.handles = open(bench, &place).await?;
            }
            Command::Switch => world.current = 1 - world.current,
            _ => {}
        }
        let expected = oracle.apply(command).await?;
        let observed = world.apply(command).await?;
        bench.sometimes(name_of(&expected), 1);
        if !agree(&expected, &observed) {
            let what = format!("command {n} shows something else than the reference: {command}");
            return Err(differs(&what, &expected, &observed));
        }
    }
    world.let_go().await
}

/// Older snapshots than the last two may be kept or dropped.
fn agree(expected: &Seen, observed: &Seen) -> bool {
    match (expected, observed) {
        (Seen::Snapshot(None), Seen::Snapshot(Some(older))) => {
            let tail = older.covers.get().to_string();
            older.state == tail.as_bytes()
        }
        _ => expected == observed,
    }
}

fn name_of(seen: &Seen) -> &'static str {
    let Seen::Refused(why) = seen else {
        return "done";
    };
    let kind = MUST_HAPPEN.iter().find(|kind| why.starts_with(*kind));
    kind.copied().unwrap_or("other")
}
