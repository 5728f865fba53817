//! G20: what is resumed can be sent to a model, wherever the log ends.

use sessionlog_core::Session;

use crate::Law;
use crate::bench::{Bench, Handle};
use crate::breach::{Held, ensure_eq};
use crate::kill::happened;
use crate::law::law;
use crate::make::{fresh, request};
use crate::talk::{Dice, talk};
use crate::told::{ASIDE, CLOSED, Expected, session_of};

pub(super) const LAWS: &[Law] = &[law!(
    g20_every_prefix_replays_to_a_valid_conversation,
    "Whatever calls are open and whatever answers are late, double or unknown: at every position, also after a reopen, each call is answered once, in order, and every model API takes the conversation."
)];

const LEN: u64 = 30;

async fn g20_every_prefix_replays_to_a_valid_conversation(bench: &Bench) -> Held {
    let mut handle: Handle = bench.open().await?;
    for seed in 10..10 + bench.options.budget.of(2, 3, 80) {
        let log = talk(seed, LEN);
        let expected = Expected::of(&log).await?;
        let place = fresh(&format!("s{seed}"))?;
        handle.create(&place).await?;
        let session = session_of(&handle, &place).await?;
        let mut dice = Dice::new(seed);
        let mut rest = log.into_iter();
        let mut tail = 0;
        while tail < LEN {
            let size = 1 + dice.below(3).min(LEN - tail - 1);
            let size = usize::try_from(size).unwrap_or(1);
            let batch: Vec<_> = rest.by_ref().take(size).collect();
            tail += batch.len() as u64;
            session.append(batch).await?;
            expected.check(&session, tail, "at the tail").await?;
            expected.at(tail)?.count(bench);
        }
        every_prefix(&expected, &session, "of the log").await?;
        drop(session);
        handle = bench.reopen(handle).await?;
        let session = session_of(&handle, &place).await?;
        every_prefix(&expected, &session, "after a reopen").await?;
        let woken = session.wake(request("driver")?).await?;
        let found = woken.interrupted();
        let wanted = &expected.at(LEN)?.interrupted;
        ensure_eq!(found, wanted, "what a wake after a reopen finds");
        woken.release().await?;
    }
    happened(bench, &[CLOSED, ASIDE])
}

async fn every_prefix(expected: &Expected, session: &Session, when: &str) -> Held {
    let tail = session.tail().await?.get();
    ensure_eq!(tail, LEN, "the events {when}");
    for until in 0..=LEN {
        expected.check(session, until, when).await?;
    }
    Ok(())
}
