//! Permissions: what waits for leave, and the trail of what was granted.

use serde::{Deserialize, Serialize};

use crate::transcript::{PermissionRequested, PermissionResolved, kinds};
use crate::{Event, Projection, SeqNum};

/// A request that nobody has resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Where it was asked.
    pub seq: SeqNum,
    /// What was asked.
    pub request: PermissionRequested,
}

/// The requests that wait for leave, matched by id and not by place. Silence is never consent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    pending: Vec<Pending>,
    granted: u64,
    refused: u64,
}

impl Permissions {
    /// The requests that wait, in the order of their asking.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// How many were granted.
    pub fn granted(&self) -> u64 {
        self.granted
    }

    /// How many were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    pub(in crate::transcript) fn request(&mut self, seq: SeqNum, request: PermissionRequested) {
        self.pending
            .retain(|pending| pending.request.id != request.id);
        self.pending.push(Pending { seq, request });
    }

    pub(in crate::transcript) fn resolve(&mut self, it: &PermissionResolved) {
        self.granted += u64::from(it.allowed);
        self.refused += u64::from(!it.allowed);
        self.pending.retain(|pending| pending.request.id != it.id);
    }
}

/// One action of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// What was asked, and where; none if a rule decided without asking.
    pub asked: Option<Pending>,
    /// What was decided, and where; none if nobody has.
    pub resolved: Option<(SeqNum, PermissionResolved)>,
}

/// The trail of a whole session: for each action what was asked, which rule matched, who granted.
///
/// A projection of its own, since it grows with the session:
/// `session.project::<Audit>().await?.state`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Audit(Vec<Audited>);

impl Audit {
    /// The actions, in the order of their asking.
    pub fn all(&self) -> &[Audited] {
        &self.0
    }
}

impl Projection for Audit {
    const NAME: &'static str = "audit";
    const VERSION: u32 = 1;

    fn apply(&mut self, event: &Event) {
        if event.kind == kinds::PERMISSION_REQUESTED {
            if let Ok(request) = event.data.view() {
                let seq = event.seq;
                self.0.push(Audited {
                    asked: Some(Pending { seq, request }),
                    resolved: None,
                });
            }
        } else if event.kind == kinds::PERMISSION_RESOLVED
            && let Ok(resolved) = event.data.view::<PermissionResolved>()
        {
            let waits = |it: &&mut Audited| {
                let asked = it
                    .asked
                    .as_ref()
                    .is_some_and(|a| a.request.id == resolved.id);
                asked && it.resolved.is_none()
            };
            let found = self.0.iter_mut().rev().find(waits);
            let resolved = Some((event.seq, resolved));
            match found {
                Some(it) => it.resolved = resolved,
                None => self.0.push(Audited {
                    asked: None,
                    resolved,
                }),
            }
        }
    }
}
