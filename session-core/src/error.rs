//! One error type for every backend: a kind to branch on, a message to read, a source to dig in.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::{FencingToken, Holder, SeqNum, SessionId, Timestamp};

/// What went wrong, told as what the caller should do about it.
///
/// Every kind but [`Indeterminate`](ErrorKind::Indeterminate) means that nothing changed (G13).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Read the log up to `tail` and decide again: another append came first, or the session
    /// that was to be created is there already.
    Conflict {
        /// The position that the next event will get.
        tail: SeqNum,
    },
    /// Stop driving this session: a newer lease, with this token, was granted.
    Fenced {
        /// The token of the newest grant.
        token: FencingToken,
    },
    /// Ask the holder to stop, wait for it, or read without a lease.
    LeaseHeld {
        /// Who holds the lease.
        holder: Holder,
        /// When it lapses by itself; `None` where it lapses only by the holder's death or release.
        expires_at: Option<Timestamp>,
    },
    /// Check the name: there is no such session, snapshot or blob. Never means "could not read".
    NotFound,
    /// Try again later: nothing happened.
    Unavailable,
    /// Look before repeating: it may have happened. `Writer` does that by event ids.
    Indeterminate,
    /// Correct the argument: it would be refused again.
    InvalidInput,
    /// Run `verify`, then `repair`: stored bytes are not what was written.
    Corrupt {
        /// Where the damage is.
        place: Place,
    },
    /// Use another backend, option or version: this one cannot do that.
    Unsupported,
    /// Report it: the library broke a promise of its own.
    Internal,
}

impl ErrorKind {
    /// The kind as one stable lower-case word, for logs and machine-readable output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::Fenced { .. } => "fenced",
            Self::LeaseHeld { .. } => "lease-held",
            Self::NotFound => "not-found",
            Self::Unavailable => "unavailable",
            Self::Indeterminate => "indeterminate",
            Self::InvalidInput => "invalid-input",
            Self::Corrupt { .. } => "corrupt",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

/// Where damage was found. Fields that are not known stay empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The session that the damage belongs to.
    pub session: Option<SessionId>,
    /// The file, table or object key, relative to the store.
    pub file: Option<String>,
    /// The byte within that file.
    pub offset: Option<u64>,
    /// The position of the first event that cannot be trusted.
    pub seq: Option<SeqNum>,
}

impl Place {
    /// A place that is known by its session alone; refine it with the `with_` functions.
    pub fn session(id: &SessionId) -> Self {
        Self {
            session: Some(id.clone()),
            ..Self::default()
        }
    }

    /// A place inside a file of the store.
    pub fn file(name: impl Into<String>) -> Self {
        Self {
            file: Some(name.into()),
            ..Self::default()
        }
    }

    /// The same place, with its session named.
    #[must_use]
    pub fn with_session(mut self, id: &SessionId) -> Self {
        self.session = Some(id.clone());
        self
    }

    /// The same place, with its byte offset.
    #[must_use]
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same place, with its position.
    #[must_use]
    pub fn with_seq(mut self, seq: SeqNum) -> Self {
        self.seq = Some(seq);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::with_capacity(4);
        if let Some(session) = &self.session {
            parts.push(format!("session {session}"));
        }
        if let Some(file) = &self.file {
            parts.push(file.clone());
        }
        if let Some(offset) = self.offset {
            parts.push(format!("byte {offset}"));
        }
        if let Some(seq) = self.seq {
            parts.push(format!("event {seq}"));
        }
        if parts.is_empty() {
            f.write_str("unknown place")
        } else {
            f.write_str(&parts.join(", "))
        }
    }
}

/// The error of every operation: one pointer wide.
///
/// Branch on [`kind`](Error::kind). The message is lower case and says what to do where that is
/// not plain; the cause, if a library or the operating system gave one, is
/// [`source`](std::error::Error::source) and is not repeated in the message.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a message: lower case, no final stop, values last.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
        }))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// What went wrong and what to do about it.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The message alone, without the place of damage.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Shorthand for [`ErrorKind::InvalidInput`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Shorthand for [`ErrorKind::Corrupt`].
    pub fn corrupt(place: Place, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt { place }, message)
    }

    /// Shorthand for [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Shorthand for [`ErrorKind::Unavailable`].
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Shorthand for [`ErrorKind::Indeterminate`].
    pub fn indeterminate(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Indeterminate, message)
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Whether stored bytes were found damaged.
    pub fn is_corrupt(&self) -> bool {
        matches!(self.kind(), ErrorKind::Corrupt { .. })
    }

    /// Whether there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self.kind(), ErrorKind::NotFound)
    }
}

impl Clone for Error {
    /// A copy for another waiter of the same commit. It shares the cause.
    fn clone(&self) -> Self {
        let source = self.0.source.clone();
        Self(Box::new(Inner {
            kind: self.0.kind.clone(),
            message: self.0.message.clone(),
            source,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.kind {
            ErrorKind::Corrupt { place } => write!(f, ": {place}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|s| s as &(dyn StdError + 'static))
    }
}
