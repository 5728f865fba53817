//! What the demo does, and what it proves.

use sessionlog::transcript::Woken;
use sessionlog::{LeaseRequest, Liveness, Result, SeqNum, Session, SessionId, Severity, Store};

use super::child::Driven;
use super::driver::Acknowledged;
use super::script;
use crate::commands::wake::owner;

/// What was seen of a session whose driver was killed.
pub(super) struct Proof {
    pub(super) session: Session,
    /// Whether somebody drove it before the kill, and behind it.
    pub(super) before: Liveness,
    pub(super) after: Liveness,
    /// Events that the driver was told are safe.
    pub(super) acknowledged: u64,
    /// Those of them that are there: at their positions, with their ids and their very bytes.
    pub(super) present: u64,
    /// Where the log ends.
    pub(super) tail: SeqNum,
    /// Damaged places that were found.
    pub(super) damage: u64,
    /// The session as it was woken.
    pub(super) woken: Woken,
}

impl Proof {
    /// Lets a child drive the session, kills it while a tool runs, and wakes the session.
    pub(super) async fn make(url: &str, store: &Store, id: &SessionId) -> Result<Self> {
        let mut driver = Driven::start(url, id)?;
        let acknowledged = driver.acknowledged(script::payloads().len())?;
        let session = store.open(id).await?;
        let before = session.holder().await?;
        driver.kill()?;
        let after = session.holder().await?;

        let woken = session.wake(LeaseRequest::new(owner()?)).await?;
        let tail = woken.projected().head.tail;
        let present = present(&session, &acknowledged).await?;
        let findings = store.verify(id).await?;
        let damage = findings.iter().filter(|f| f.severity == Severity::Damage);
        Ok(Self {
            before,
            after,
            acknowledged: acknowledged.len() as u64,
            present,
            tail,
            damage: damage.count() as u64,
            woken,
            session,
        })
    }

    /// Whether all is as promised: nothing is missing, nothing is damaged, and the open call is
    /// known.
    pub(super) fn holds(&self) -> bool {
        self.present == self.acknowledged
            && self.tail.get() == self.acknowledged
            && self.damage == 0
            && self.woken.interrupted().calls.len() == 1
    }
}

async fn present(session: &Session, acknowledged: &[Acknowledged]) -> Result<u64> {
    let stored = session.read(SeqNum::all()).collect().await?;
    let same = acknowledged
        .iter()
        .zip(script::payloads())
        .filter(|(ack, data)| {
            stored.iter().any(|event| {
                event.seq == ack.seq
                    && event.id == ack.id
                    && event.data.as_bytes() == data.as_bytes()
            })
        });
    Ok(same.count() as u64)
}
