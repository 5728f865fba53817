//! Faults of leases and tokens.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use sessionlog_core::{
    Error, ErrorKind, FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Owner,
    Result, SessionId, SessionRef, Timestamp, held_error,
};

use super::files::private;
use super::{Fault, Faulty, pause};

/// A lease that is a file with a token and an owner, removed when it is dropped.
struct LeaseFile {
    path: PathBuf,
    token: FencingToken,
    #[expect(dead_code, reason = "dropped with the file")]
    lease: Lease,
}

impl Drop for LeaseFile {
    fn drop(&mut self) {
        if in_file(&self.path).is_some_and(|(token, _)| token == self.token) {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn in_file(path: &Path) -> Option<(FencingToken, Owner)> {
    let text = fs::read_to_string(path).ok()?;
    let (token, owner) = text.split_once(' ')?;
    Some((
        FencingToken::new(token.parse().ok()?),
        Owner::new(owner).ok()?,
    ))
}

impl Faulty {
    /// The token that the inner backend knows, for one that this one gave out.
    pub(super) async fn token(
        &self,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Option<FencingToken> {
        let token = token?;
        let known = |map: fn(&super::Known, &SessionRef) -> Option<u64>| {
            map(&self.known(), session).unwrap_or(0)
        };
        let base = known(|k, s| k.base.get(s).copied());
        let given = FencingToken::new(token.get() + base);
        let fenced = match self.fault {
            Fault::FenceForgottenAtReopen => {
                given.get() > known(|k, s| k.at_open.get(s).map(|(newest, _)| *newest))
            }
            Fault::AcceptsUnknownTokens => given.get() <= known(|k, s| k.newest.get(s).copied()),
            Fault::FenceOnlyWhileHeld => {
                !matches!(self.inner.holder(session).await, Ok(Liveness::Idle))
            }
            _ => true,
        };
        fenced.then_some(given)
    }

    /// As [`token`](Self::token), for what is beside the log.
    pub(super) async fn beside_token(
        &self,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Option<FencingToken> {
        let given = self.token(session, token).await?;
        let fenced = match self.fault {
            Fault::BesideFenceForgottenAtReopen => {
                let known = self.known();
                let newest = known.at_open.get(session).map_or(0, |(newest, _)| *newest);
                given.get() > newest
            }
            Fault::BesideFenceOfOwnGrants => {
                super::lock(&self.own.granted).get(session) != Some(&given)
            }
            Fault::BesideFenceOnlyWhileHeld => {
                !matches!(self.inner.holder(session).await, Ok(Liveness::Idle))
            }
            _ => true,
        };
        fenced.then_some(given)
    }

    /// A lease of the inner backend as this one gives it out.
    fn granted(&self, session: &SessionRef, inner: Lease) -> Result<Lease> {
        let mut known = self.known();
        let newest = inner.token.get();
        known.newest.insert(session.clone(), newest);
        super::lock(&self.own.granted).insert(session.clone(), inner.token);
        match self.fault {
            Fault::TokenIsAlwaysOne => drop(known.base.insert(session.clone(), newest - 1)),
            Fault::TokensRestart => drop(known.base.entry(session.clone()).or_insert(newest - 1)),
            _ => {}
        }
        let base = known.base.get(session).copied().unwrap_or(0);
        let token = FencingToken::new(newest - base);
        let (owner, expires) = (inner.owner.clone(), inner.expires_at);
        if self.is(Fault::DroppedLeaseStays) {
            known
                .held
                .entry(session.id.clone())
                .or_default()
                .push(inner);
            return Ok(Lease::new(session.clone(), token, owner, expires, ()));
        }
        if let Some(file) = self.lease_file(session) {
            private(&file, format!("{token} {owner}").as_bytes());
            let guard = LeaseFile {
                path: file,
                token,
                lease: inner,
            };
            return Ok(Lease::new(
                session.clone(),
                token,
                owner,
                expires,
                Mutex::new(Some(guard)),
            ));
        }
        Ok(Lease::new(session.clone(), token, owner, expires, inner))
    }

    pub(super) fn lease_file(&self, session: &SessionRef) -> Option<PathBuf> {
        let dir = self
            .dir
            .as_ref()
            .filter(|_| self.is(Fault::LeaseFileStays))?;
        Some(dir.join(format!("lease-{}", session.id)))
    }

    fn mark_busy(&self, session: &SessionRef, request: &LeaseRequest) -> Result<()> {
        let mut known = self.known();
        if known.busy.contains(session) {
            let owner = request.owner.clone();
            let holder = Holder::new(owner, FencingToken::NONE, Timestamp::now());
            return Err(held_error(holder, None));
        }
        known.busy.push(session.clone());
        Ok(())
    }

    async fn others_held(&self, session: &SessionRef) -> Result<()> {
        let ids: Vec<SessionId> = self.inner.sessions().try_collect().await?;
        for id in ids.iter().filter(|id| **id != session.id) {
            let (life, _) = self.inner.head(id).await?;
            if let Liveness::Live(Some(holder)) = self.inner.holder(&life).await? {
                return Err(held_error(holder, None));
            }
        }
        Ok(())
    }
}

fn anonymous(error: Error) -> Error {
    match error.kind() {
        ErrorKind::LeaseHeld { holder, .. } => held_error(
            Holder::new(Owner::new("somebody").unwrap(), holder.token, holder.since),
            None,
        ),
        _ => error,
    }
}

#[async_trait]
impl LeaseStore for Faulty {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let session = &self.folded(session);
        let mut request = request;
        self.readable()?;
        match self.fault {
            Fault::NotExclusive => request.force = true,
            Fault::OneLeaseForAll => self.others_held(session).await?,
            _ => {}
        }
        if let Some((token, owner)) = self.lease_file(session).and_then(|file| in_file(&file))
            && !request.force
        {
            self.inner.holder(session).await?;
            let holder = Holder::new(owner, token, Timestamp::EPOCH);
            return Err(held_error(holder, None));
        }
        if self.is(Fault::AcquireMarksBusy) {
            self.mark_busy(session, &request)?;
            pause().await;
        }
        if self.lapses() {
            return self.grant_for(session, request).await;
        }
        let granted = self.inner.acquire(session, request).await;
        if self.is(Fault::AcquireMarksBusy) {
            self.known().busy.retain(|busy| busy != session);
        }
        match granted {
            Ok(lease) if self.is(Fault::GrantTellsAnOldEnd) => {
                let (_, head) = self.inner.head(&session.id).await?;
                let end = {
                    let mut heads = super::lock(&self.own.heads);
                    *heads.entry(session.clone()).or_insert(head)
                };
                Ok(self.granted(session, lease)?.with_end(end))
            }
            Ok(lease) => self.granted(session, lease),
            Err(error) if self.is(Fault::AnonymousHolder) => Err(anonymous(error)),
            Err(error) => Err(error),
        }
    }

    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        let token = self.token(&lease.session, Some(lease.token)).await;
        match self.fault {
            Fault::FencelessRenew => return Ok(()),
            Fault::RenewReleases => self.release(lease).await?,
            _ => {}
        }
        let mut same = Lease::new(
            self.folded(&lease.session),
            token.unwrap_or(lease.token),
            lease.owner.clone(),
            None,
            (),
        );
        self.inner.renew(&mut same, ttl).await?;
        self.extend(lease, ttl);
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let again = {
            let mut known = self.known();
            let again = known.released.contains(&lease.token);
            known.released.push(lease.token);
            if let Some(held) = known.held.get_mut(&lease.session.id) {
                held.retain(|inner| inner.token != lease.token || inner.session != lease.session);
            }
            again
        };
        match self.fault {
            Fault::ReleaseTwiceFails if again => {
                return Err(Error::not_found("the lease was given back before"));
            }
            Fault::ReleaseFreesAnyone => return self.free(&lease.session).await,
            Fault::OldReleaseFreesNew => {
                let present = self.inner.head(&lease.session.id).await?.0;
                if present != lease.session {
                    return self.free(&present).await;
                }
            }
            _ => {}
        }
        self.give_back(lease);
        if let Some(file) = lease.guard::<Mutex<Option<LeaseFile>>>() {
            drop(super::lock(file).take());
        }
        match lease.guard::<Lease>() {
            Some(inner) => self.inner.release(inner).await,
            None => Ok(()),
        }
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let session = &self.folded(session);
        match self.fault {
            Fault::ProbeAlwaysIdle => {
                self.inner.holder(session).await?;
                return Ok(Liveness::Idle);
            }
            Fault::ProbeAcquires => {
                let request = LeaseRequest::new(Owner::new("the probe")?);
                if let Ok(lease) = self.inner.acquire(session, request).await {
                    pause().await;
                    drop(lease);
                    return Ok(Liveness::Idle);
                }
            }
            Fault::ReadsRewriteAFile => self.touch("probe"),
            Fault::HolderIgnoresExpiry => {}
            _ if self.has_lapsed(session) => return Ok(Liveness::Idle),
            _ => {}
        }
        let mut liveness = self.inner.holder(session).await?;
        if let Liveness::Live(Some(holder)) = &mut liveness {
            let base = self.known().base.get(session).copied().unwrap_or(0);
            holder.token = FencingToken::new(holder.token.get().saturating_sub(base));
            if self.is(Fault::ProbeTellsNow) {
                holder.since = Timestamp::now();
            }
        }
        Ok(liveness)
    }
}
