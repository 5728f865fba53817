//! Twins whose leases lapse: one that is right, and others.

use std::time::Duration;

use sessionlog_core::{
    Error, ErrorKind, Lease, LeaseRequest, Result, SessionRef, Timestamp, held_error,
};

use super::{Fault, Faulty, twins};

fn behind(ttl: Duration) -> Timestamp {
    let micros = Timestamp::now().as_micros() + i64::try_from(ttl.as_micros()).unwrap();
    Timestamp::from_micros(micros).unwrap()
}

impl Faulty {
    /// Whether leases lapse here, and stay when they are dropped.
    pub(super) fn lapses(&self) -> bool {
        matches!(
            self.fault,
            Fault::AcquireIgnoresExpiry
                | Fault::DeleteIgnoresExpiry
                | Fault::HolderIgnoresExpiry
                | Fault::LapsesUntold
                | Fault::LapsesWell
                | Fault::RenewExtendsNothing
        )
    }

    pub(super) fn has_lapsed(&self, session: &SessionRef) -> bool {
        let known = self.known();
        let timed = known.timed.get(session);
        timed.is_some_and(|(_, end)| *end <= Timestamp::now())
    }

    /// Frees a lease that has lapsed.
    pub(super) fn free_lapsed(&self, session: &SessionRef) {
        if self.has_lapsed(session) {
            self.known().timed.remove(session);
        }
    }

    pub(super) async fn grant_for(
        &self,
        session: &SessionRef,
        request: LeaseRequest,
    ) -> Result<Lease> {
        if !self.is(Fault::AcquireIgnoresExpiry) {
            self.free_lapsed(session);
        }
        let end = behind(request.ttl);
        let inner = match self.inner.acquire(session, request).await {
            Err(error) => return Err(self.told_when(session, error)),
            Ok(inner) => inner,
        };
        let told = (!self.is(Fault::LapsesUntold)).then_some(end);
        let lease = Lease::new(session.clone(), inner.token, inner.owner.clone(), told, ());
        self.known().timed.insert(session.clone(), (inner, end));
        Ok(lease)
    }

    /// A refusal that says when the lease lapses, unless nobody is to know.
    fn told_when(&self, session: &SessionRef, error: Error) -> Error {
        let ends = self.known().timed.get(session).map(|(_, end)| *end);
        match error.kind() {
            ErrorKind::LeaseHeld { holder, .. } if !self.is(Fault::LapsesUntold) => {
                held_error(holder.clone(), ends)
            }
            _ => error,
        }
    }

    /// A lease was renewed.
    pub(super) fn extend(&self, lease: &mut Lease, ttl: Duration) {
        let end = behind(ttl);
        let mut known = self.known();
        if let Some(timed) = known.timed.get_mut(&lease.session) {
            lease.expires_at = lease.expires_at.map(|_| end);
            if !self.is(Fault::RenewExtendsNothing) {
                timed.1 = end;
            }
        }
    }

    /// A lease was given back.
    pub(super) fn give_back(&self, lease: &Lease) {
        let mut known = self.known();
        let timed = known.timed.get(&lease.session);
        if timed.is_some_and(|(inner, _)| inner.token == lease.token) {
            known.timed.remove(&lease.session);
        }
    }
}

/// Makes a subject of a fault over the reference backend, with leases that lapse.
macro_rules! over_time {
    ($twin:ident, $fault:ident) => {
        impl sessionlog_conformance::Subject for $twin {
            type Backend = super::Faulty;
            const MEDIUM: sessionlog_conformance::Medium = sessionlog_conformance::Medium::Memory;
            const PROMPT_LEASES: sessionlog_conformance::Capability =
                sessionlog_conformance::Capability::No("a lease lapses");
            async fn open(
                place: &sessionlog_conformance::Place,
            ) -> sessionlog_core::Result<super::Faulty> {
                super::memory::open(place, super::Fault::$fault).await
            }
            fn limits() -> sessionlog_core::Limits {
                super::memory::LIMITS
            }
        }
    };
}

twins! { "timed", over_time;
    lapses_well LapsesWell []
    lapses_untold LapsesUntold [
        g09_a_lease_lasts_as_long_as_it_says,
    ]
    acquire_ignores_expiry AcquireIgnoresExpiry [
        g09_a_lease_lasts_as_long_as_it_says,
    ]
    holder_ignores_expiry HolderIgnoresExpiry [
        g09_a_lease_lasts_as_long_as_it_says,
    ]
    delete_ignores_expiry DeleteIgnoresExpiry [
        g09_a_lease_lasts_as_long_as_it_says,
    ]
    renew_extends_nothing RenewExtendsNothing [
        g09_a_lease_lasts_as_long_as_it_says,
    ]
}
