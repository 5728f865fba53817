//! Outages: every request fails, for as long as an operation lasts.

use futures_util::TryStreamExt;
use sessionlog_core::{Error, ErrorKind, SeqNum};

use super::Fault;
use super::conductor::{Conductor, Plan};
use super::explore::guarded;
use super::play::{Play, odd};
use crate::bench::{Ask, Bench};
use crate::breach::{Held, breach, ensure};
use crate::make::{FOLD, pieces, request, snapshot};

/// What is tried in an outage.
const CALLS: [&str; 13] = [
    "create", "append", "acquire", "renew", "release", "save", "put", "delete", "head", "read",
    "sessions", "latest", "holder",
];

pub(crate) async fn g13_an_operation_ends_when_no_request_gets_through(bench: &Bench) -> Held {
    let lasting = [
        Fault::Lost,
        Fault::AnswerLost,
        Fault::Throttled,
        Fault::Conflict,
        Fault::OwnRetry,
        Fault::Late(40),
        Fault::BrokenBody,
        Fault::TruncatedList,
        Fault::PartialDelete,
    ];
    for fault in lasting {
        for call in CALLS {
            guarded(bench, outage(bench, fault, call))
                .await
                .map_err(|end| match end {
                    crate::breach::End::Breach(why) => {
                        breach(format!("{call}, with every request {fault}:\n{why}"))
                    }
                    end => end,
                })?;
            bench.sometimes("outages", 1);
        }
    }
    Ok(())
}

async fn outage(bench: &Bench, fault: Fault, call: &str) -> Held {
    bench.trail.clear();
    let conductor = Conductor::new(Plan::Lasting(fault));
    let play = Play::new(bench, 2, conductor.clone(), None, true).await?;
    let life = play.life()?;
    if call != "create" {
        play.create(0, life).await?;
        let token = play.acquire(0, life).await?;
        for _ in 0..2 {
            let batch = play.history().batch(life, 2, token);
            play.append(0, batch).await?;
        }
    }
    play.note(|| format!("from here on every request is {fault}"));
    // By the law's own lease, of which the history does not know.
    let newest = play.history().token(life);
    if let (true, Some(token)) = (call == "release", newest) {
        play.history().given_back.push((life, token));
    }
    conductor.arm(true);
    asked(&play, life, call, fault).await?;
    play.finish().await
}

/// Makes the call, which must end in a right answer.
async fn asked(play: &Play<'_>, life: usize, call: &str, fault: Fault) -> Held {
    let session = play.session(life)?;
    let handle = play.client(0)?;
    let id = session.id.clone();
    let head = if call == "create" {
        None
    } else {
        Some(play.observer.end(&session).await?)
    };
    let token = play.history().token(life);
    let reads = |answer: Result<(), Error>| match answer.as_ref().map_err(Error::kind) {
        // What is kept in memory needs no request.
        Ok(()) | Err(ErrorKind::Unavailable) => Ok(()),
        Err(_) => Err(odd(call, &answer)),
    };
    let writes = |answer: Result<(), Error>| match answer.as_ref().map_err(Error::kind) {
        Ok(()) | Err(ErrorKind::Unavailable | ErrorKind::Indeterminate) => Ok(()),
        Err(_) => Err(odd(call, &answer)),
    };
    match call {
        "create" => {
            let created = play.create(0, life).await?;
            ensure!(
                !created || fault != Fault::Lost,
                "a create was acknowledged without a request"
            );
            Ok(())
        }
        "append" => {
            let batch = play.history().batch(life, 2, token);
            play.append_surely(0, batch).await.map(drop)
        }
        "acquire" => play.acquire(1, life).await.map(drop),
        "delete" => play.delete(0, life).await.map(drop),
        "renew" => {
            // A lease of its own: the one that is held stays with its client.
            let mut lease = None;
            play.conductor.arm(false);
            if let Ok(granted) = handle.acquire(&session, request("renewer")?.forced()).await {
                lease = Some(granted);
            }
            play.conductor.arm(true);
            match &mut lease {
                Some(lease) => {
                    let ttl = std::time::Duration::from_secs(30);
                    writes(play.bounded(0, handle.renew(lease, ttl)).await?)
                }
                None => Err(breach("an acquire with no fault was refused")),
            }
        }
        "release" => {
            play.conductor.arm(false);
            let lease = handle
                .acquire(&session, request("releaser")?.forced())
                .await?;
            play.conductor.arm(true);
            writes(play.bounded(0, handle.release(&lease)).await?)
        }
        "save" => {
            let Some(head) = head else { return Ok(()) };
            let kept = snapshot(head.tail.get(), head.sum, "state");
            let asked = play.history().tick();
            play.history().saved.push(super::history::Saved {
                life,
                snapshot: kept.clone(),
                token: u64::MAX,
                asked,
            });
            writes(play.bounded(0, handle.save(&session, kept, None)).await?)
        }
        "put" => {
            let put = handle.put(&session, pieces(b"content", 3), None);
            writes(play.bounded(0, put).await?.map(drop))
        }
        "head" => reads(play.bounded(1, play.client(1)?.head(&id)).await?.map(drop)),
        "read" => reads(
            play.bounded(1, play.client(1)?.log(&session))
                .await?
                .map(drop),
        ),
        "sessions" => {
            let all = play.client(1)?.sessions().try_collect::<Vec<_>>();
            reads(play.bounded(1, all).await?.map(drop))
        }
        "latest" => {
            let reader = play.client(1)?;
            let latest = async { reader.latest(&session, &FOLD, 1, SeqNum::MAX).await };
            reads(play.bounded(1, latest).await?.map(drop))
        }
        _ => reads(
            play.bounded(1, play.client(1)?.holder(&session))
                .await?
                .map(drop),
        ),
    }
}
