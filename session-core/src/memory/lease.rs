//! Leases in memory: held as long as the lease value lives.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Grant, Memory};
use crate::ledger::held_error;
use crate::{
    Holder, Lease, LeaseRequest, LeaseStore, Liveness, Result, SessionRef, Timestamp, fence,
};

#[async_trait]
impl LeaseStore for Memory {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let mut state = self.lock();
        let life = state.life(session)?;
        if let Some(holder) = life.holder().filter(|_| !request.force) {
            return Err(held_error(holder.clone(), None));
        }
        life.token = life.token.next();
        let grant = Arc::new(Grant);
        let LeaseRequest { owner, .. } = request;
        let holder = Holder::new(owner.clone(), life.token, Timestamp::now());
        life.lease = Some((holder, Arc::downgrade(&grant)));
        Ok(Lease::new(
            session.clone(),
            life.token,
            owner,
            None,
            std::sync::Mutex::new(Some(grant)),
        ))
    }

    async fn renew(&self, lease: &mut Lease, _ttl: Duration) -> Result<()> {
        let mut state = self.lock();
        let life = state.life(&lease.session)?;
        fence(Some(lease.token), life.token)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(grant) = lease.guard::<std::sync::Mutex<Option<Arc<Grant>>>>() {
            grant
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take();
        }
        Ok(())
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let mut state = self.lock();
        let life = state.life(session)?;
        Ok(life
            .holder()
            .cloned()
            .map_or(Liveness::Idle, |h| Liveness::Live(Some(h))))
    }
}
