//! One worker: takes a session, does a turn, and lets go or is fenced.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::Counted;
use sessionlog_core::transcript::kinds;
use sessionlog_core::{
    Error, ErrorKind, EventId, LeaseRequest, NewEvent, Owner, Result, Session, Store,
};

use crate::bill::Bill;

/// The first argument of a worker.
pub(crate) const NAME: &str = "worker";
/// The variable with its URL, which can hold secrets: arguments are seen by everybody.
pub(crate) const URL: &str = "SESSIONLOG_CLOUD_URL";

/// How long a lease lives without an append: a stopped worker loses its session.
pub(crate) const TTL: Duration = Duration::from_millis(1500);

/// Works until it is killed.
pub(crate) async fn work(url: &str, seed: u64) -> Result<()> {
    let (objects, prefix) = crate::location(url)?.connect()?;
    let counted = Arc::new(Counted::new(objects));
    let bucket = Bucket::new(counted.clone(), prefix, Options::default());
    let store = Store::new(bucket);
    let ids = crate::sessions()?;
    let mut dice = Dice(seed);
    loop {
        let at = dice.below(ids.len());
        let Some(id) = ids.get(at) else { continue };
        let session = store.open(id).await?;
        // Mostly a free one; sometimes one is taken from whoever has it.
        let forced = dice.below(4) == 0;
        let acknowledge =
            |event| tell(&format!("ack {id} {event} {}", Bill::of(&counted.counts())));
        match turn(&session, forced, &mut dice, &acknowledge).await {
            Ok(()) => {}
            Err(error) => match error.kind() {
                ErrorKind::LeaseHeld { .. } => {
                    futures_timer::Delay::new(Duration::from_millis(50)).await;
                }
                ErrorKind::Fenced { .. } => tell("fenced")?,
                // The answer is not known, so nothing is claimed.
                ErrorKind::Indeterminate => tell("unknown")?,
                ErrorKind::Unavailable => tell("unavailable")?,
                _ => return Err(error),
            },
        }
    }
}

/// A prompt, a reply with a call, its result and an answer, each acknowledged by itself.
async fn turn(
    session: &Session,
    forced: bool,
    dice: &mut Dice,
    acknowledge: &impl Fn(EventId) -> Result<()>,
) -> Result<()> {
    let owner = Owner::new(format!("worker, process {}", std::process::id()))?;
    let mut request = LeaseRequest::new(owner).with_ttl(TTL);
    if forced {
        request = request.forced();
    }
    let mut woken = session.wake(request).await?;
    tell("woken")?;
    for _ in 0..=dice.below(3) {
        let call = dice.next();
        for message in [
            r#"{"role":"user","message":{"role":"user","content":"what is in it?"}}"#.to_owned(),
            format!(
                r#"{{"role":"assistant","calls":[{{"id":"c{call}","name":"bash"}}],"message":{{"role":"assistant","content":[{{"type":"tool_use","id":"c{call}","name":"bash","input":{{}}}}]}}}}"#
            ),
            format!(
                r#"{{"role":"user","results":["c{call}"],"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{call}","content":"files"}}]}}}}"#
            ),
            r#"{"role":"assistant","message":{"role":"assistant","content":"files"}}"#.to_owned(),
        ] {
            let event = NewEvent::json(kinds::MESSAGE, message)?;
            let id = event.id;
            woken.append(vec![event]).await?;
            acknowledge(id)?;
        }
    }
    woken.release().await
}

/// One line to the parent, in one piece, so that a kill leaves it whole or not there.
fn tell(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Error::unavailable("the parent is gone").with_source(e))
}

/// Numbers that a seed decides.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64: every seed is good.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}
