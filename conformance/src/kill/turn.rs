//! A conversation whose harness was killed in the middle of a turn.

use super::explore::{acknowledged, at_every_call, happened};
use super::work::{Who, said, steps};
use crate::bench::{Ask, Bench};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::law::law;
use crate::make::request;
use crate::talk::prompt;
use crate::told::{CLOSED, Expected, session_of};
use crate::{Law, Place};
use sessionlog_core::Error;

pub(crate) const LAWS: &[Law] = &[law!(
    Kill,
    g20_a_killed_turn_resumes_as_a_valid_conversation,
    "Killed at any file call of a turn, a conversation resumes with every acknowledged message, tells what was interrupted, and can be sent to every model API.",
    Durable,
    Folder,
    Child,
    Calls
)];

async fn g20_a_killed_turn_resumes_as_a_valid_conversation(bench: &Bench) -> Held {
    let expected = Expected::of(&said()).await?;
    at_every_call(bench, "turn", async |place, ended| {
        let (done, _) = acknowledged(ended)?;
        resumes(bench, place, &expected, done).await
    })
    .await?;
    happened(bench, &["kills", CLOSED])
}

/// What must hold of a conversation after a crash: `done` of its steps were acknowledged.
pub(crate) async fn resumes(
    bench: &Bench,
    place: &Place,
    expected: &Expected,
    done: usize,
) -> Held {
    let store = bench.open_at(place).await?;
    let life = Who("s", 1).session()?;
    let head = store.head(&life.id).await;
    if done == 0 && head.as_ref().is_err_and(Error::is_not_found) {
        return Ok(());
    }
    let tail = head?.1.tail.get();
    // Where the log can end: behind each step, and where it must at least.
    let ends: Vec<u64> = steps("turn").iter().map(|step| step.said()).collect();
    let least = done.checked_sub(1).and_then(|last| ends.get(last));
    let Some(least) = least.or(ends.first()) else {
        return Err(breach("more steps were acknowledged than there are"));
    };
    ensure!(
        ends.contains(&tail) && tail >= *least,
        "the conversation has {tail} events, and {least} were acknowledged; batches end at {ends:?}"
    );
    let session = session_of(&store, &life).await?;
    expected.check(&session, tail, "after a kill").await?;
    let told = expected.at(tail)?;
    told.count(bench);
    let mut wanted = request("parent")?;
    if bench.subject.prompt_leases != crate::Capability::Yes {
        wanted = wanted.forced();
    }
    let mut woken = session.wake(wanted).await?;
    let found = woken.interrupted();
    ensure_eq!(found, &told.interrupted, "what a wake after a kill finds");
    let range = woken.append(vec![prompt(900_000)]).await?;
    ensure_eq!(range.start.get(), tail, "where the next prompt stands");
    woken.release().await?;
    let written = store.log(&life).await?.len() as u64;
    ensure_eq!(written, tail + 1, "events behind the next prompt");
    Ok(())
}
