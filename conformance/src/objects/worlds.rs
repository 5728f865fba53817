//! Worlds: several writers at once take a session from each other while requests are spoiled.

use std::cell::RefCell;

use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

use super::acts::Answer;
use super::conductor::{Chance, Conductor, Plan};
use super::explore::{Script, guarded, shortest, spoiled};
use super::play::{Play, UNKNOWN};
use super::stage::Stage;
use super::works::happened;
use crate::artefact::Artefact;
use crate::bench::Bench;
use crate::breach::{End, Held, breach};
use crate::talk::Dice;

/// A world: everything that happens in it follows from these.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct World {
    seed: u64,
    writers: usize,
    rounds: u64,
    /// How many of 1,000 requests meet a fault, storms not counted.
    per_mille: u64,
    deletes: bool,
    /// These faults and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    faults: Option<Script>,
}

pub(crate) async fn g08_writers_that_take_over_among_object_faults_lose_nothing(
    bench: &Bench,
) -> Held {
    worlds(bench, false).await?;
    happened(
        bench,
        &[
            "take-overs",
            UNKNOWN,
            "zombies applied",
            "lost acknowledgements",
            "fenced writers",
        ],
    )
}

pub(crate) async fn g17_a_delete_among_writers_and_object_faults_is_final(bench: &Bench) -> Held {
    worlds(bench, true).await?;
    happened(
        bench,
        &[
            "take-overs",
            "deletes",
            "zombies applied",
            "lost acknowledgements",
        ],
    )
}

async fn worlds(bench: &Bench, deletes: bool) -> Held {
    if let Some(artefact) = Artefact::asked(bench)? {
        let world = artefact
            .world
            .ok_or_else(|| End::Broken("the file to replay has no world".into()))?;
        return told(bench, world).await;
    }
    let count = bench.options.budget.of(40, 160, 20_000);
    for seed in 0..count {
        let world = World {
            seed,
            writers: 4,
            rounds: 3,
            per_mille: per_mille(seed),
            deletes,
            faults: None,
        };
        if let Err(end) = run(bench, &world, false).await.0 {
            return match end {
                End::Breach(_) => Err(smallest(bench, world, end).await),
                end => Err(end),
            };
        }
        bench.sometimes("worlds", 1);
    }
    Ok(())
}

/// So many requests of a thousand are spoiled; none in every fourth world, where more is promised.
fn per_mille(seed: u64) -> u64 {
    match seed % 4 {
        0 => 60,
        3 => 0,
        _ => 250,
    }
}

/// The smallest world that is found to fail as well, and how it fails.
async fn smallest(bench: &Bench, mut world: World, end: End) -> End {
    let smaller = [
        |w: &World| World {
            writers: w.writers - 1,
            ..w.clone()
        },
        |w: &World| World {
            rounds: w.rounds - 1,
            ..w.clone()
        },
    ];
    for shrink in smaller {
        while world.writers > 1 && world.rounds > 1 {
            let try_it = shrink(&world);
            if run(bench, &try_it, false).await.0.is_ok() {
                break;
            }
            world = try_it;
        }
    }
    let (_, faults) = run(bench, &world, false).await;
    let fails = async |script: &Script| {
        let world = World {
            faults: Some(script.clone()),
            ..world.clone()
        };
        run(bench, &world, false).await.0.is_err()
    };
    if fails(&faults).await {
        world.faults = Some(shortest(faults, fails).await);
    }
    match told(bench, world).await {
        Err(end) => end,
        Ok(()) => breach(format!("a failure that does not come back: {end:?}")),
    }
}

/// Runs a world once more, for its trail; a failure is saved.
async fn told(bench: &Bench, world: World) -> Held {
    bench.trail.clear();
    let words = format!("{world:?}");
    let mut did = String::new();
    let ran = run_with(bench, &world, true, |conductor| did = spoiled(conductor)).await;
    ran.map_err(|end| {
        let did = format!("the smallest of the failing worlds that were tried: {words}\n{did}");
        Artefact::of_world(world).attach(bench, end, &did)
    })
}

async fn run(bench: &Bench, world: &World, traced: bool) -> (Held, Script) {
    let mut faults = Script::new();
    let ran = run_with(bench, world, traced, |conductor| {
        faults = conductor.faults();
    })
    .await;
    (ran, faults)
}

async fn run_with(
    bench: &Bench,
    world: &World,
    traced: bool,
    mut then: impl FnMut(&Conductor),
) -> Held {
    let plan = match &world.faults {
        Some(script) => Plan::Script(script.clone()),
        None => Plan::Chance(Chance::new(world.seed, world.per_mille)),
    };
    let conductor = Conductor::new(plan);
    let run = async {
        let stage = Stage::new(world.seed ^ 0x5eed, world.writers);
        let play = Play::new(
            bench,
            world.writers,
            conductor.clone(),
            Some(&stage),
            traced,
        )
        .await?;
        let life = play.life()?;
        let created = stage
            .run(vec![
                Box::pin(play.create(0, life)) as LocalBoxFuture<'_, Held<bool>>
            ])
            .await;
        if !created
            .into_iter()
            .all(|created| matches!(created, Ok(true)))
        {
            return Err(breach("a create with no fault was not acknowledged"));
        }
        conductor.arm(true);
        let writers = (0..world.writers)
            .map(|n| Box::pin(writer(&play, n, life, world)) as LocalBoxFuture<'_, Held>);
        for ended in stage.run(writers.collect()).await {
            ended?;
        }
        play.note(|| "from here on no request is spoiled".to_owned());
        play.finish().await
    };
    let ran = guarded(bench, run).await;
    then(&conductor);
    ran
}

/// A writer: takes the session, appends to it until somebody else took it, and again.
async fn writer(play: &Play<'_>, n: usize, life: usize, world: &World) -> Held {
    let dice = RefCell::new(Dice::new(
        world.seed.wrapping_mul(31).wrapping_add(n as u64),
    ));
    let below = |end| dice.borrow_mut().below(end);
    for round in 0..world.rounds {
        let Some(token) = play.acquire(n, life).await? else {
            if play.dying(life) {
                return Ok(());
            }
            continue;
        };
        for _ in 0..=below(5) {
            let batch = play.history().batch(life, 1 + below(3), Some(token));
            match play.append_surely(n, batch).await? {
                Answer::Fenced => {
                    play.bench.sometimes("fenced writers", 1);
                    break;
                }
                Answer::Gone => return Ok(()),
                Answer::Acked | Answer::Unknown | Answer::Failed => {}
            }
        }
        if world.deletes && n == 0 && round + 1 == world.rounds {
            play.delete(n, life).await?;
        }
    }
    Ok(())
}
