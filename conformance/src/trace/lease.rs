//! Calls on leases.

use std::time::Duration;

use async_trait::async_trait;
use sessionlog_core::{Lease, LeaseRequest, LeaseStore, Liveness, Result, SessionRef};

use super::{Traced, done, life};

#[async_trait]
impl LeaseStore for Traced {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let force = if request.force { " by force" } else { "" };
        let call = format!("acquire {} for {}{force}", life(session), request.owner);
        let result = self.inner.acquire(session, request).await;
        self.note(&call, &result, |lease| format!("token {}", lease.token));
        result
    }

    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        let result = self.inner.renew(lease, ttl).await;
        let call = format!("renew {} token {}", life(&lease.session), lease.token);
        self.note(&call, &result, done);
        result
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let result = self.inner.release(lease).await;
        let call = format!("release {} token {}", life(&lease.session), lease.token);
        self.note(&call, &result, done);
        result
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let result = self.inner.holder(session).await;
        self.note(&format!("holder {}", life(session)), &result, |l| match l {
            Liveness::Live(Some(holder)) => format!("{} with {}", holder.owner, holder.token),
            Liveness::Live(None) => "live".to_owned(),
            Liveness::Idle => "idle".to_owned(),
            Liveness::Unknown(why) => format!("unknown, {why}"),
            other => format!("{other:?}"),
        });
        result
    }
}
