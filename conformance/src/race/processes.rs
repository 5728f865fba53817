//! The laws of processes.

use super::history::{Got, Op, What, merged, overlaps};
use super::threads::{CONFLICTS, OVERLAPS, ROUNDS, count, kept, looks, met};
use super::worker::{Role, numbers, session};
use super::{check, leases, sessions};
use crate::bench::Bench;
use crate::breach::{Held, breach};
use crate::kill::{Ended, Process, Told, happened};
use crate::law::law;
use crate::{Law, Place};

pub(crate) const LAWS: &[Law] = &[
    law!(
        Race,
        g06_processes_make_one_history,
        "Appends, heads and reads of processes, one of which is killed, are those of one log: linearizable, and the batch of the killed one whole or absent.",
        Durable,
        SeveralProcesses,
        Child
    ),
    law!(
        Race,
        g09_processes_hold_the_lease_one_at_a_time,
        "Of processes that take the lease, by force now and then, append under it and give it back, one holds it at a time, and tokens grow, in the log as well.",
        Durable,
        SeveralProcesses,
        PromptLeases,
        Child
    ),
    law!(
        Race,
        g14_lists_beside_other_processes_are_right,
        "A list beside creates and deletes of other processes has every session that is there all the while, and none that is not.",
        Durable,
        SeveralProcesses,
        Child
    ),
];

/// Starts processes, lets them go at once, and gives their history. The first is killed when it has
/// written down so many lines.
fn race(
    bench: &Bench,
    place: &Place,
    role: Role,
    (processes, steps): (u64, u64),
    kill: Option<u64>,
) -> Held<Vec<Op>> {
    let mut children = Vec::new();
    for who in 1..=processes {
        let work = role.work(who, steps, processes, who == 1 && kill.is_some());
        let child = Process::start(bench, place, &work, None, None)?;
        children.push(child);
    }
    for child in &mut children {
        match child.next()? {
            Some(Told::Done(0, _)) => {}
            other => {
                return Err(breach(format!(
                    "a process could not open the store: {other:?}"
                )));
            }
        }
    }
    for child in &mut children {
        child.say("go")?;
    }
    let mut ended = Vec::new();
    if let Some(lines) = kill {
        let first = children.remove(0);
        let mut told = Vec::new();
        while (told.len() as u64) < lines {
            match first.next()? {
                // It has done everything, and waits.
                None | Some(Told::Done(..)) => break,
                Some(next) => told.push(next),
            }
        }
        let mut end = first.kill()?;
        told.append(&mut end.told);
        end.told = told;
        bench.sometimes("kills", u64::from(end.killed));
        ended.push(end);
    }
    for child in children {
        ended.push(child.end()?);
    }
    ended.iter().try_for_each(Ended::sound)?;
    let told = ended.into_iter().flat_map(|end| end.told);
    let ops = merged(told.filter_map(|told| match told {
        Told::Did(op) => Some(*op),
        _ => None,
    }));
    bench.sometimes(OVERLAPS, overlaps(&ops));
    Ok(ops)
}

async fn prepared(bench: &Bench) -> Held<Place> {
    let place = bench.new_place()?;
    let store = (bench.subject.open)(&place).await?;
    store.create(&session()?).await?;
    Ok(place)
}

/// How many processes, and how many steps of each.
fn size(bench: &Bench, steps: u64) -> (u64, u64) {
    let budget = bench.options.budget;
    (budget.of(3, 4, 8), budget.of(steps / 2, steps, 200))
}

async fn g06_processes_make_one_history(bench: &Bench) -> Held {
    let names = &[OVERLAPS, CONFLICTS, "kills"];
    for round in 0..ROUNDS {
        let place = prepared(bench).await?;
        let kill = Some(9 + round * 8);
        let ops = race(bench, &place, Role::Writer, size(bench, 30), kill)?;
        count(bench, &ops);
        for op in &ops {
            if let What::Append {
                got: Got::Unknown, ..
            } = op.what
            {
                bench.sometimes("unknown outcomes", 1);
            }
        }
        let store = (bench.subject.open)(&place).await?;
        check::log(&numbers(&store, &session()?).await?, &ops, looks(bench))?;
        if met(bench, names) {
            break;
        }
    }
    happened(bench, names)
}

async fn g09_processes_hold_the_lease_one_at_a_time(bench: &Bench) -> Held {
    const GRANTS: &str = "grants";
    const HELD: &str = "refused for another holder";
    let names = &[OVERLAPS, GRANTS, HELD];
    for _ in 0..ROUNDS {
        let place = prepared(bench).await?;
        let ops = race(bench, &place, Role::Driver, size(bench, 16), Some(7))?;
        for op in &ops {
            if let (What::Acquire { token, .. }, Some(_)) = (&op.what, op.ended) {
                bench.sometimes(if token.is_some() { GRANTS } else { HELD }, 1);
            }
        }
        let store = (bench.subject.open)(&place).await?;
        check::log(&numbers(&store, &session()?).await?, &ops, looks(bench))?;
        leases::one_at_a_time(&ops)?;
        if met(bench, names) {
            break;
        }
    }
    happened(bench, names)
}

async fn g14_lists_beside_other_processes_are_right(bench: &Bench) -> Held {
    let names = &[OVERLAPS, sessions::TAKEN];
    for _ in 0..ROUNDS {
        let place = prepared(bench).await?;
        let ops = race(bench, &place, Role::Keeper, size(bench, 8), None)?;
        sessions::set(&ops)?;
        let store = (bench.subject.open)(&place).await?;
        kept(bench, &[store], &ops).await?;
        if met(bench, names) {
            break;
        }
    }
    happened(bench, names)
}
