//! Leases: timed, for liveness alone. Whose write takes effect the slots decide.

use std::time::Duration;

use async_trait::async_trait;
use sessionlog_core::{Error, Lease, LeaseRequest, LeaseStore, Liveness, Result, SessionRef};

use crate::Bucket;
use crate::seat::{Done, What};

#[async_trait]
impl LeaseStore for Bucket {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let owner = request.owner.clone();
        let what = What::Acquire(request);
        match self.seat(&session.id).submit(session, what).await? {
            Done::Granted(token, expires, end) => {
                let lease = Lease::new(session.clone(), token, owner, Some(expires), ());
                Ok(lease.with_end(end))
            }
            _ => Err(Error::internal("a grant without a token")),
        }
    }

    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        let what = What::Renew(lease.owner.clone(), lease.token, ttl);
        let seat = self.seat(&lease.session.id);
        if let Done::Granted(_, expires, _) = seat.submit(&lease.session, what).await? {
            lease.expires_at = Some(expires);
        }
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let what = What::Release(lease.token);
        let seat = self.seat(&lease.session.id);
        match seat.submit(&lease.session, what).await {
            // The life has ended, and the lease with it.
            Err(error) if error.is_not_found() => Ok(()),
            released => released.map(drop),
        }
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let view = self.seat(&session.id).fresh().await?;
        view.is(session)?;
        let holder = view.grant().map(|grant| grant.holder.clone());
        Ok(holder.map_or(Liveness::Idle, |holder| Liveness::Live(Some(holder))))
    }
}
