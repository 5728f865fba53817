//! Leases: a number in a file for safety, a lock of the operating system for liveness.

use std::io::ErrorKind as Io;
use std::time::Duration;

use async_trait::async_trait;
use sessionlog_core::{
    Error, FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Owner, Result,
    SessionRef, Timestamp, fence, held_error,
};

use crate::dir::{LEASE_LOCK, SessionDir};
use crate::slots::Slots;
use crate::store::Jsonl;
use sessionlog_local::files::{failed, open_or_create, open_read};
use sessionlog_local::lock::{Held, Probe, probe_token};

/// Whether a lease is held, as far as that can be seen without taking it.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Free,
    Held,
    Unknown,
}

/// Looks at the locks of the newest grant, and of the one before if it can't be told which of them
/// is the newest. Takes nothing.
fn look(dir: &SessionDir, slots: &Slots) -> Result<Seen> {
    let path = dir.join(LEASE_LOCK);
    let lock = match open_read(&path) {
        Ok(lock) => lock,
        Err(e) if e.kind() == Io::NotFound => return Ok(Seen::Free),
        Err(e) => return Err(failed("open", &path)(e)),
    };
    for token in [slots.newest(), slots.whole()] {
        match probe_token(&lock, token.get()).map_err(failed("look at the lock", &path))? {
            Probe::Free => {}
            Probe::Held => return Ok(Seen::Held),
            Probe::Unknown => return Ok(Seen::Unknown),
        }
    }
    Ok(Seen::Free)
}

/// Who holds the lease. Under the append lock only, since where locks can't be queried this takes
/// it for a moment.
pub(crate) fn held(dir: &SessionDir, slots: &Slots) -> Result<Option<Holder>> {
    let held = match look(dir, slots)? {
        Seen::Free => false,
        Seen::Held => true,
        Seen::Unknown => {
            let path = dir.join(LEASE_LOCK);
            let lock = open_or_create(&path).and_then(|f| Held::token(f, slots.newest().get()));
            lock.map_err(failed("lock", &path))?.is_none()
        }
    };
    held.then(|| holder(slots)).transpose()
}

/// The holder of a lease that is held, whether or not its description is whole.
pub(crate) fn holder(slots: &Slots) -> Result<Holder> {
    match slots.holder() {
        Some(holder) => Ok(holder),
        None => {
            let owner = Owner::new("an owner whose name is damaged")?;
            Ok(Holder::new(owner, slots.newest(), Timestamp::EPOCH))
        }
    }
}

#[async_trait]
impl LeaseStore for Jsonl {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let life = self.life(session)?;
        let mut lock = life.lock().await?;
        life.is_current()?;
        lock.settle(&life)?;
        let slots = Slots::read(&life.dir)?;
        let path = life.dir.join(LEASE_LOCK);
        let refuse = || holder(&slots).map_or_else(|e| e, |holder| held_error(holder, None));
        if look(&life.dir, &slots)? == Seen::Held && !request.force {
            return Err(refuse());
        }
        // The lock file comes after the token: a token file that is missing beside it is damage.
        let next = slots.newest().next();
        let take = || {
            let file = open_or_create(&path).map_err(failed("open", &path))?;
            Held::token(file, next.get()).map_err(failed("lock", &path))
        };
        let mut guard = None;
        if std::fs::symlink_metadata(&path).is_ok() {
            guard = take()?;
            if guard.is_none() {
                return Err(if request.force {
                    Error::unsupported(
                        "this system can't take a lease from a live holder: stop its process",
                    )
                } else {
                    refuse()
                });
            }
        }
        let granted = slots.grant(&life.dir, &request.owner);
        // Its file may be in its place, and its name not be flushed.
        lock.bench.named &= granted.is_ok();
        let token = granted?;
        let guard = guard.map_or_else(take, |guard| Ok(Some(guard)));
        let guard = guard.map_err(|source| {
            let what =
                "the grant was written, but its lock could not be taken: nobody holds the lease";
            Error::indeterminate(what).with_source(source)
        })?;
        let Some(guard) = guard else {
            return Err(refuse());
        };
        Ok(Lease::new(
            session.clone(),
            token,
            request.owner,
            None,
            guard,
        ))
    }

    async fn renew(&self, lease: &mut Lease, _ttl: Duration) -> Result<()> {
        let life = self.life(&lease.session)?;
        fence(Some(lease.token), Slots::read(&life.dir)?.newest())?;
        match lease.guard::<Held>() {
            Some(guard) if guard.is_held() => Ok(()),
            _ => Err(Error::invalid(
                "the lease was given back, acquire a new one",
            )),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(guard) = lease.guard::<Held>() {
            guard.let_go();
        }
        Ok(())
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let life = self.life(session)?;
        loop {
            let slots = Slots::read(&life.dir)?;
            let newest = slots.newest();
            if newest == FencingToken::NONE {
                return Ok(Liveness::Idle);
            }
            let seen = look(&life.dir, &slots)?;
            // A grant in between would make the two answers not belong together.
            if Slots::read(&life.dir)?.newest() == newest {
                return Ok(match seen {
                    Seen::Free => Liveness::Idle,
                    Seen::Held => Liveness::Live(slots.holder()),
                    Seen::Unknown => Liveness::Unknown(
                        "this system can't tell whether a lock is held without taking it".into(),
                    ),
                });
            }
        }
    }
}
