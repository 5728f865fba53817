//! L0: the suite can measure here.

use crate::Law;
use crate::bench::Bench;
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::files::Files;
use crate::kill::Process;
use crate::known::{self, Known};
use crate::law::law;
use crate::make::{noise, with_data};

pub(super) const LAWS: &[Law] = &[
    law!(
        Harness,
        l0_places_are_apart,
        "Two places share nothing: what is stored in one is not in the other."
    ),
    law!(
        Harness,
        l0_the_place_is_used,
        "The store keeps its data in the place that it was given.",
        Folder
    ),
    law!(
        Harness,
        l0_file_calls_are_seen,
        "The file calls of the store reach the hooks.",
        Folder,
        Calls
    ),
    law!(
        Harness,
        l0_a_child_can_be_started,
        "This program can be started as a child process, which answers.",
        Durable,
        Child
    ),
    law!(
        Harness,
        l0_known_stores_get_their_verdicts,
        "The suite passes a store that is known to be good, and fails one that is known to fence nobody."
    ),
    law!(
        Harness,
        l0_killed_known_stores_get_their_verdicts,
        "Killed, a store that is known to be good passes, and one that is known to acknowledge too early fails.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Harness,
        l0_known_stores_without_power_get_their_verdicts,
        "When the power goes, a store that is known to be good passes, and one that is known to flush nothing fails.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Harness,
        l0_known_failures_are_laws,
        "Each law that the subject is known to break, and each that need not be measured, exists."
    ),
];

async fn l0_known_stores_get_their_verdicts(bench: &Bench) -> Held {
    let laws = [
        "g08_fencing_stale_append_is_refused",
        "g04_any_commands_show_what_the_reference_shows",
    ];
    let expected = laws.map(|law| (law, Known::GoodMemory, Known::Unfenced));
    known::verdicts(bench, &expected)
}

async fn l0_killed_known_stores_get_their_verdicts(bench: &Bench) -> Held {
    let law = "g03_killed_appends_leave_a_prefix";
    let ended = Process::start(bench, &bench.place, "hello", None, None)?.end()?;
    ended.sound()?;
    known::verdicts(bench, &[(law, Known::GoodFiles, Known::Late)])
}

async fn l0_known_stores_without_power_get_their_verdicts(bench: &Bench) -> Held {
    let law = "g03_power_loss_leaves_a_prefix";
    known::verdicts(bench, &[(law, Known::GoodFiles, Known::Unflushed)])
}

async fn l0_known_failures_are_laws(bench: &Bench) -> Held {
    let known = bench.subject.known_failures.iter().map(|(id, _)| *id);
    let allowed = bench.options.allowed.iter().map(String::as_str);
    let named: Vec<_> = known.chain(allowed).collect();
    let missing = named
        .iter()
        .find(|id| crate::laws().all(|law| law.id != **id));
    ensure!(missing.is_none(), "there is no law {missing:?}");
    Ok(())
}

async fn l0_a_child_can_be_started(bench: &Bench) -> Held {
    let ended = Process::start(bench, &bench.place, "hello", None, None)?.end()?;
    ended.sound()
}

async fn l0_places_are_apart(bench: &Bench) -> Held {
    let (_store, session) = bench.session("s").await?;
    let other = bench.new_place()?;
    let second = bench.open_at(&other).await?;
    let ids = crate::bench::Ask::ids(&second).await?;
    ensure_eq!(
        ids,
        vec![],
        "the sessions of a new place beside one that has {}",
        session.id
    );
    Ok(())
}

async fn l0_the_place_is_used(bench: &Bench) -> Held {
    // Closed both times: an open store may keep files of its own, or space that it gives back.
    let (store, session) = bench.session("s").await?;
    drop(store);
    let before = Files::below(bench.place.dir())?.filled();
    let store = bench.open_at(&bench.place).await?;
    // Far more than what a store may give back, or clear, when it is closed.
    let long = (0..50).map(|n| {
        let text: Vec<u8> = noise(n, 8_000).iter().map(|b| b'a' + b % 26).collect();
        with_data(n, format!("\"{}\"", String::from_utf8_lossy(&text)))
    });
    crate::bench::Ask::put_events(&store, &session, long.collect()).await?;
    drop(store);
    let after = Files::below(bench.place.dir())?.filled();
    ensure!(
        after > before,
        "the place has {before} bytes before 50 long events and {after} behind them: the store keeps them elsewhere"
    );
    Ok(())
}

async fn l0_file_calls_are_seen(bench: &Bench) -> Held {
    let watch = super::g03_durability::watch(bench)?;
    let (store, session) = bench.session("s").await?;
    crate::bench::Ask::put_events(&store, &session, crate::make::events(0..50)).await?;
    drop(store);
    let calls = watch.counts();
    let written = Files::below(bench.place.dir())?.filled() as u64;
    if calls.unresolved > 0 || calls.bytes_written + calls.shared_maps == 0 && written > 0 {
        return Err(End::NotMeasured(format!(
            "the place has {written} bytes that no call was seen to write: {calls:?}"
        )));
    }
    Ok(())
}
