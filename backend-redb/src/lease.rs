//! Leases: a token in the database, and the lock file of its holder.

use std::time::Duration;

use async_trait::async_trait;
use redb::{ReadOnlyTable, ReadableTable};
use sessionlog_core::{
    Error, FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Owner, Result,
    SessionRef, Timestamp, fence, held_error,
};
use sessionlog_local::lock::Probe;

use crate::Redb;
use crate::failure::failed;
use crate::format::{LEASES, Raw, Row, decode_holder, encode_holder};
use crate::locks::of_lease;
use crate::log::life_in;
use crate::store::Done;
use crate::write::Write;
use sessionlog_local::lock::Held;

#[async_trait]
impl LeaseStore for Redb {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let life = session.clone();
        let owner = request.owner.clone();
        let job = move |write: &mut Write<'_>| acquire(write, &life, request);
        match self.write(session, job).await? {
            Done::Grant {
                token,
                before,
                number,
                lock,
            } => {
                self.shared.locks.clear(&of_lease(number, before));
                let guard = Guard { lock, number };
                Ok(Lease::new(session.clone(), token, owner, None, guard))
            }
            _ => Err(Error::internal("a lease without a grant")),
        }
    }

    async fn renew(&self, lease: &mut Lease, _ttl: Duration) -> Result<()> {
        let row = self.life(&lease.session)?;
        fence(Some(lease.token), row.token)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(guard) = lease.guard::<Guard>() {
            guard.lock.let_go();
            self.shared
                .locks
                .clear(&of_lease(guard.number, lease.token));
        }
        Ok(())
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let found = self.shared.engine.read(|txn| {
            let row = life_in(txn, session)?;
            let what = "read the lease";
            let leases: ReadOnlyTable<u64, Raw> = txn.open_table(LEASES).map_err(failed(what))?;
            let holder = holder_in(&leases, &row)?;
            Ok((row, holder))
        })?;
        let (row, holder) = found.ok_or_else(|| session.gone())?;
        if row.token == FencingToken::NONE {
            return Ok(Liveness::Idle);
        }
        Ok(
            match self.shared.locks.probe(&of_lease(row.number, row.token))? {
                Probe::Held => Liveness::Live(holder),
                Probe::Free => Liveness::Idle,
                Probe::Unknown => Liveness::Unknown(
                    "this system can't tell whether a file is locked without locking it".into(),
                ),
            },
        )
    }
}

/// What holds a lease: the lock ends with it.
struct Guard {
    lock: Held,
    number: u64,
}

/// Who was granted the newest lease, as far as the row says.
fn holder_in(leases: &impl ReadableTable<u64, Raw>, row: &Row) -> Result<Option<Holder>> {
    let said = leases.get(row.number).map_err(failed("read the lease"))?;
    Ok(said
        .and_then(|said| decode_holder(row.number, said.value()))
        .filter(|holder| holder.token == row.token))
}

/// Who holds the lease of a session now.
pub(crate) fn held(write: &Write<'_>, row: &Row) -> Result<Option<Holder>> {
    if row.token == FencingToken::NONE || !write.locks.is_held(&of_lease(row.number, row.token))? {
        return Ok(None);
    }
    let leases = write
        .txn
        .open_table(LEASES)
        .map_err(failed("read the lease"))?;
    match holder_in(&leases, row)? {
        Some(holder) => Ok(Some(holder)),
        // The row that names the holder is damaged; that there is one is known all the same.
        None => Ok(Some(Holder::new(
            Owner::new("unknown")?,
            row.token,
            Timestamp::EPOCH,
        ))),
    }
}

fn acquire(write: &mut Write<'_>, session: &SessionRef, request: LeaseRequest) -> Result<Done> {
    let mut row = write.life(session)?;
    if !request.force
        && let Some(holder) = held(write, &row)?
    {
        return Err(held_error(holder, None));
    }
    let before = row.token;
    let number = row.number;
    row.token = before.next();
    // Locked before anybody can know of the grant.
    let lock = write.locks.take(&of_lease(number, row.token))?;
    let lock = lock.ok_or_else(|| {
        Error::unavailable("a grant that failed is still being given up, try again")
    })?;
    let holder = Holder::new(request.owner, row.token, Timestamp::now());
    let said = encode_holder(number, &holder);
    let outcome = (|| {
        let mut leases = write.txn.open_table(LEASES)?;
        leases.insert(number, said.as_slice())?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    write.put_row(session, &row)?;
    Ok(Done::Grant {
        token: row.token,
        before,
        number,
        lock,
    })
}
