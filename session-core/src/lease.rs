//! The right to drive a session.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Error, Head, Result, SessionRef, Timestamp};

/// A number that grows with each grant of a session's lease, for as long as the session lives
/// (G7). The first grant has 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FencingToken(u64);

impl FencingToken {
    /// Before the first grant.
    pub const NONE: Self = Self(0);

    /// Token `n`.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next token.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Who holds a lease, in words for the person who is refused: a host, a program, a process id.
///
/// At most 256 bytes, without control characters. It decides nothing: the operating system's
/// lock or the store does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Owner(String);

impl Owner {
    /// The longest name, in bytes.
    pub const MAX_LEN: usize = 256;

    /// Checks a name.
    ///
    /// # Errors
    /// `InvalidInput` if it is empty, too long or has control characters.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        if name.is_empty() || name.len() > Self::MAX_LEN || name.chars().any(char::is_control) {
            return Err(Error::invalid(format!(
                "an owner has 1 to {} bytes and no control characters: {name:?}",
                Self::MAX_LEN
            )));
        }
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Owner {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.0
    }
}

/// What is known of the holder of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Holder {
    /// Who it is.
    pub owner: Owner,
    /// The token of its grant.
    pub token: FencingToken,
    /// When it was granted, by the holder's clock.
    pub since: Timestamp,
}

impl Holder {
    /// The holder of a grant.
    pub const fn new(owner: Owner, token: FencingToken, since: Timestamp) -> Self {
        Self {
            owner,
            token,
            since,
        }
    }
}

/// How a lease is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseRequest {
    /// Who asks.
    pub owner: Owner,
    /// How long the lease lives without renewal on media that can't see a holder die. Backends on
    /// operating-system locks ignore it: there the lease ends with the process, at once.
    pub ttl: Duration,
    /// Take the lease from a live holder, which is fenced from now on. For operators, and for a
    /// holder that is stopped or hangs.
    pub force: bool,
}

impl LeaseRequest {
    /// A request with a time to live of 30 seconds and without force.
    pub fn new(owner: Owner) -> Self {
        Self {
            owner,
            ttl: Duration::from_secs(30),
            force: false,
        }
    }

    /// The same request, taking the lease from whoever holds it.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    /// The same request with another time to live.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }
}

/// The right to drive a session, as long as it is held.
///
/// Dropping it does no I/O that can block: an operating-system lock is freed with its handle, a
/// timed lease by its expiry. [`LeaseStore::release`] gives it back at once on every medium.
#[must_use = "the lease ends when it is dropped"]
pub struct Lease {
    /// The session, in one life.
    pub session: SessionRef,
    /// The number of this grant.
    pub token: FencingToken,
    /// Who holds it.
    pub owner: Owner,
    /// When it lapses unless renewed; `None` where only death or release ends it.
    pub expires_at: Option<Timestamp>,
    /// Where the log ended when the lease was granted, if the backend knows it without a look.
    pub end: Option<Head>,
    guard: Box<dyn Any + Send + Sync>,
}

impl Lease {
    /// A lease that a backend grants. `guard` is whatever holds it, dropped with the lease.
    pub fn new(
        session: SessionRef,
        token: FencingToken,
        owner: Owner,
        expires_at: Option<Timestamp>,
        guard: impl Any + Send + Sync,
    ) -> Self {
        Self {
            session,
            token,
            owner,
            expires_at,
            end: None,
            guard: Box::new(guard),
        }
    }

    /// The same lease, with where the log ended when it was granted.
    pub const fn with_end(mut self, end: Head) -> Self {
        self.end = Some(end);
        self
    }

    /// The guard, for the backend that put it there.
    pub fn guard<T: Any>(&self) -> Option<&T> {
        self.guard.downcast_ref()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("session", &self.session)
            .field("token", &self.token)
            .field("owner", &self.owner)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Whether somebody drives a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Liveness {
    /// Somebody does. The holder is unknown where a lock is held but its description is damaged.
    Live(Option<Holder>),
    /// Nobody does.
    Idle,
    /// It can't be told here, for the reason given.
    Unknown(String),
}

/// The leases of one storage.
///
/// # Contract
///
/// - A grant is durable before it is returned, and its token is larger than that of every grant
///   before, also those whose holders crashed (G7).
/// - From the grant on, nothing with a smaller token takes effect (G8), also nothing that was begun
///   before: an append, a snapshot, or a blob whose content still comes.
/// - A grant whose future is dropped may hold the lease, as any other that nobody gives back: it can be
///   taken by force, where that can be, and lapses where leases do.
/// - Leases keep two drivers from each other; safety rests on the tokens alone (G9).
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes the lease.
    ///
    /// # Errors
    /// `LeaseHeld` that names the holder; `NotFound`.
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease>;

    /// Makes a lease live for its time to live from now on.
    ///
    /// # Errors
    /// `Fenced` if a newer one was granted; `NotFound` if that life of the session has ended.
    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()>;

    /// Gives a lease back. Doing so twice, or after a newer grant, changes nothing (G10).
    ///
    /// # Errors
    /// `Unavailable` if the storage can't be reached; the lease then ends by itself.
    async fn release(&self, lease: &Lease) -> Result<()>;

    /// Who drives the session now. Takes nothing, writes nothing, and never makes a real acquire
    /// fail (G16).
    ///
    /// # Errors
    /// `NotFound`.
    async fn holder(&self, session: &SessionRef) -> Result<Liveness>;
}
