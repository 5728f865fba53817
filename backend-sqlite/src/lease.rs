//! Leases: a number in the session's row for safety, a lock of the operating system for liveness.

use std::io::ErrorKind as Io;
use std::time::Duration;

use async_trait::async_trait;
use sessionlog_core::{
    Error, FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Result, SessionRef,
    Timestamp, fence, held_error,
};
use sessionlog_local::files::{failed, open_or_create, open_read};
use sessionlog_local::lock::{Held, Probe, probe_token, probe_whole};

use crate::desk::Work;
use crate::session::SessionRow;
use crate::site::Site;
use crate::store::Sqlite;

/// Looks at the lock of the newest grant. Takes nothing.
fn look(site: &Site, row: &SessionRow) -> Result<Probe> {
    let path = site.lease(row.number);
    if row.token == FencingToken::NONE {
        return Ok(Probe::Free);
    }
    match open_read(&path) {
        Ok(lock) => probe_token(&lock, row.token.get()).map_err(failed("look at the lock", &path)),
        Err(e) if e.kind() == Io::NotFound => Ok(Probe::Free),
        Err(e) => Err(failed("open", &path)(e)),
    }
}

/// Who holds the lease. Within a transaction that writes only, since where locks can't be queried this
/// takes it for a moment.
pub(crate) fn held(site: &Site, row: &SessionRow) -> Result<Option<Holder>> {
    let held = match look(site, row)? {
        Probe::Free => false,
        Probe::Held => true,
        Probe::Unknown => {
            let path = site.lease(row.number);
            let file = open_or_create(&path).map_err(failed("open", &path))?;
            Held::token(file, row.token.get())
                .map_err(failed("lock", &path))?
                .is_none()
        }
    };
    held.then(|| row.holder()).transpose()
}

/// Whether anybody holds a lease of a session, whatever its token. Within a transaction that writes only,
/// as above.
pub(crate) fn any_held(site: &Site, row: &SessionRow) -> Result<bool> {
    let path = site.lease(row.number);
    let file = match open_read(&path) {
        Err(e) if e.kind() == Io::NotFound => return Ok(false),
        opened => opened.map_err(failed("open", &path))?,
    };
    match probe_whole(&file).map_err(failed("look at the lock", &path))? {
        Probe::Free => Ok(false),
        Probe::Held => Ok(true),
        Probe::Unknown => {
            let taken = Held::whole(file).map_err(failed("lock", &path))?;
            Ok(taken.is_none())
        }
    }
}

/// Grants the next token, and takes its lock before anybody can see it.
fn grant(
    work: &mut Work<'_>,
    site: &Site,
    session: SessionRef,
    request: &LeaseRequest,
) -> Result<(FencingToken, Held)> {
    let mut known = work.life(&session)?;
    if !request.force
        && let Some(holder) = held(site, &known.row)?
    {
        work.keep(session, known);
        return Err(held_error(holder, None));
    }
    let token = known.row.token.next();
    site.make_leases()?;
    let path = site.lease(known.row.number);
    let file = open_or_create(&path).map_err(failed("open", &path))?;
    let Some(lock) = Held::token(file, token.get()).map_err(failed("lock", &path))? else {
        return Err(Error::unsupported(
            "this system can't take a lease from a live holder: stop its process",
        ));
    };
    known.row.token = token;
    known.row.owner = request.owner.as_str().to_owned();
    known.row.since = Timestamp::now().as_micros();
    known.row.update(work)?;
    work.keep(session, known);
    Ok((token, lock))
}

#[async_trait]
impl LeaseStore for Sqlite {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let owner = request.owner.clone();
        let (store, life) = (self.clone(), session.clone());
        let granted = self.inner.write(session, move |work| {
            grant(work, &store.inner.site, life, &request)
        });
        let (token, lock) = granted.await?;
        Ok(Lease::new(session.clone(), token, owner, None, lock))
    }

    async fn renew(&self, lease: &mut Lease, _ttl: Duration) -> Result<()> {
        let (row, _) = self.life(&lease.session).await?;
        fence(Some(lease.token), row.token)?;
        match lease.guard::<Held>() {
            Some(lock) if lock.is_held() => Ok(()),
            _ => Err(Error::invalid(
                "the lease was given back, acquire a new one",
            )),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(lock) = lease.guard::<Held>() {
            lock.let_go();
        }
        Ok(())
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        loop {
            let (row, _) = self.life(session).await?;
            let seen = look(&self.inner.site, &row)?;
            // A grant in between would make the two answers not belong together.
            if self.life(session).await?.0.token == row.token {
                return Ok(match seen {
                    Probe::Free => Liveness::Idle,
                    Probe::Held => Liveness::Live(row.holder().ok()),
                    Probe::Unknown => Liveness::Unknown(
                        "this system can't tell whether a lock is held without taking it".into(),
                    ),
                });
            }
        }
    }
}
