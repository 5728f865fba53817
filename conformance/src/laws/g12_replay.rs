//! G11, G12: what is replayed from a snapshot is what the log says.

use std::sync::Arc;

use bytes::Bytes;
use sessionlog_core::transcript::Transcript;
use sessionlog_core::{Card, Kind, Projection, Snapshot, Store};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held, ensure_eq};
use crate::kill::happened;
use crate::law::law;
use crate::make::{at, fresh, request};
use crate::talk::{Dice, talk};
use crate::told::{Expected, session_of, snapshot_at};

pub(super) const LAWS: &[Law] = &[
    law!(
        g11_losing_every_snapshot_changes_no_result,
        "Conversations, cards, lists and what a wake finds are the same with the snapshots of the store and without any."
    ),
    law!(
        g12_a_resumed_conversation_equals_full_replay,
        "From a snapshot at any position, also after a reopen, a conversation is what the whole log says, through rollbacks, branches and compactions."
    ),
    law!(
        g12_a_snapshot_of_something_else_is_not_believed,
        "A snapshot that is torn, stale, foreign, ahead of the log or of another version changes no conversation."
    ),
];

/// Events of one conversation.
const LEN: u64 = 24;
const RESUMED: &str = "replay from a snapshot";

async fn g11_losing_every_snapshot_changes_no_result(bench: &Bench) -> Held {
    let seed = 1;
    let log = talk(seed, LEN);
    let expected = Expected::of(&log).await?;
    let (handle, place) = bench.session("s").await?;
    let bare = bench.forgetful(&handle);
    let kept = session_of(&handle, &place).await?;
    let lost = session_of(&bare, &place).await?;
    let mut woken = kept.wake(request("driver")?).await?;
    for (tail, event) in (1..).zip(log) {
        woken.append(vec![event]).await?;
        if tail % 2 == 0 {
            woken.snapshot().await?;
        }
        if tail % 8 == 0 {
            woken.release().await?;
            same_lists(&handle, &bare).await?;
            woken = kept.wake(request("driver")?).await?;
            let found = woken.interrupted();
            let wanted = &expected.at(tail)?.interrupted;
            ensure_eq!(found, wanted, "what a wake at {tail} finds interrupted");
        }
        for (session, with) in [(&kept, "with snapshots"), (&lost, "without snapshots")] {
            let folded = expected.check(session, tail, with).await?;
            bench.sometimes(RESUMED, u64::from(folded < tail));
            expected.check(session, tail / 2, with).await?;
        }
    }
    woken.release().await?;
    let woken = lost.wake(request("driver")?).await?;
    let found = woken.interrupted();
    let wanted = &expected.at(LEN)?.interrupted;
    ensure_eq!(found, wanted, "what a wake without snapshots finds");
    woken.release().await?;
    happened(bench, &[RESUMED])
}

/// A breach unless both list the same cards, and those of the logs.
async fn same_lists(kept: &Handle, lost: &Handle) -> Held {
    let mut lists = Vec::new();
    for handle in [kept, lost] {
        let store = Store::shared(Arc::clone(handle));
        let mut cards = Vec::new();
        for listed in store.cards().await? {
            let session = store.open(&listed.id).await?;
            for card in [listed.card?, session.project::<Card>().await?.state] {
                let card = serde_json::to_string(&card);
                cards.push(card.map_err(|e| End::Broken(e.to_string()))?);
            }
        }
        lists.push(cards);
    }
    ensure_eq!(
        lists.first(),
        lists.last(),
        "cards with snapshots, and without"
    );
    Ok(())
}

async fn g12_a_resumed_conversation_equals_full_replay(bench: &Bench) -> Held {
    let mut handle = bench.open().await?;
    for seed in 0..bench.options.budget.of(2, 3, 80) {
        let log = talk(seed, LEN);
        let expected = Expected::of(&log).await?;
        let mut dice = Dice::new(seed);
        let place = fresh(&format!("s{seed}"))?;
        handle.create(&place).await?;
        handle.put_events(&place, log).await?;
        for covers in 1..=LEN {
            if covers % 9 == 0 {
                handle = bench.reopen(handle).await?;
            }
            let session = session_of(&handle, &place).await?;
            let saved = snapshot_at(&session, at(covers)).await?;
            handle.save(&place, saved, None).await?;
            let between = covers + dice.below(LEN - covers + 1);
            for until in [covers - 1, covers, between, LEN] {
                let when = format!("behind a snapshot at {covers}");
                let folded = expected.check(&session, until, &when).await?;
                bench.sometimes(RESUMED, u64::from(folded < until));
            }
        }
    }
    happened(bench, &[RESUMED])
}

async fn g12_a_snapshot_of_something_else_is_not_believed(bench: &Bench) -> Held {
    const COVERS: u64 = 15;
    let handle = bench.open().await?;
    // Another conversation, in another session and in an earlier life of the same name.
    let other = fresh("other")?;
    handle.create(&other).await?;
    handle.put_events(&other, talk(2, LEN)).await?;
    let foreign = snapshot_at(&session_of(&handle, &other).await?, at(COVERS)).await?;
    let earlier = fresh("s")?;
    handle.create(&earlier).await?;
    handle.put_events(&earlier, talk(3, LEN)).await?;
    let stale = snapshot_at(&session_of(&handle, &earlier).await?, at(COVERS)).await?;
    handle.delete(&earlier, None).await?;

    let log = talk(4, LEN);
    let expected = Expected::of(&log).await?;
    let place = fresh("s")?;
    handle.create(&place).await?;
    handle.put_events(&place, log).await?;
    let session = session_of(&handle, &place).await?;
    let own = snapshot_at(&session, at(COVERS)).await?;
    let half = own.state.len() / 2;
    let with_state = |state: &Bytes| Snapshot {
        state: state.clone(),
        ..own.clone()
    };
    let covering = |covers: u64| Snapshot {
        covers: at(covers),
        ..foreign.clone()
    };
    let version = |version: u32| Snapshot {
        version,
        ..with_state(&foreign.state)
    };
    let name = Kind::from_static("transcript.other");
    let bogus = [
        ("foreign", foreign.clone()),
        ("stale", stale),
        ("torn", with_state(&own.state.slice(..half))),
        ("empty", with_state(&Bytes::new())),
        ("ahead by one", covering(LEN + 1)),
        ("far ahead", covering(LEN * 100)),
        ("of a later version", version(Transcript::VERSION + 1)),
        ("of an earlier version", version(Transcript::VERSION - 1)),
        (
            "of another projection",
            Snapshot {
                projection: name,
                ..with_state(&foreign.state)
            },
        ),
    ];
    for (what, snapshot) in bogus {
        handle.save(&place, snapshot, None).await?;
        let when = format!("beside a snapshot that is {what}");
        for until in [COVERS - 1, COVERS, LEN] {
            expected.check(&session, until, &when).await?;
        }
        handle.save(&place, own.clone(), None).await?;
        expected
            .check(&session, LEN, "behind its own snapshot")
            .await?;
    }
    Ok(())
}
