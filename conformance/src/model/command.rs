//! What can be done to a store, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A session of the model: one of three names, in its present life or in the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: u8,
    /// The life that was deleted last.
    pub(crate) old: bool,
}

/// Which token a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Show {
    Nothing,
    /// The token of the last grant to that owner, stale or not; nothing if there was none.
    Of(u8),
    /// One that was never granted.
    Unknown,
}

/// Which tail a command states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Nothing,
    /// The tail, and so many more or less.
    Tail(i8),
}

/// How an earlier batch is changed before it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    Same,
    Payload,
    WithoutLast,
    WithNew,
    Reversed,
}

/// A command. Numbers that are too large are taken modulo what there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Command {
    Create(u8),
    Append {
        to: Target,
        size: u8,
        /// The ids are smaller than all before.
        low: bool,
        tail: State,
        token: Show,
    },
    Again {
        nth: u8,
        change: Change,
    },
    Read {
        of: Target,
        from: u8,
        len: u8,
    },
    Head(u8),
    List,
    Acquire {
        of: Target,
        owner: u8,
        force: bool,
    },
    Renew {
        of: Target,
        owner: u8,
    },
    Release {
        of: Target,
        owner: u8,
    },
    /// The lease's value is dropped, without a release.
    Drop {
        of: Target,
        owner: u8,
    },
    Probe(Target),
    Save {
        of: Target,
        token: Show,
    },
    Latest {
        of: Target,
        bound: u8,
    },
    Put {
        to: Target,
        content: u8,
        token: Show,
    },
    Get {
        of: Target,
        content: u8,
    },
    Blobs(Target),
    Remove {
        of: Target,
        content: u8,
        token: Show,
    },
    Delete {
        of: Target,
        token: Show,
    },
    Verify(u8),
    /// All handles are closed, and one is opened.
    Reopen,
    /// The other handle is used from here on.
    Switch,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ["a", "b", "A"].get(usize::from(self.name % 3));
        let old = if self.old { "'s old life" } else { "" };
        write!(f, "{}{old}", name.unwrap_or(&"a"))
    }
}

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Of(owner) => write!(f, " under owner {owner}'s token"),
            Self::Unknown => f.write_str(" under a token that never was"),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Tail(0) => f.write_str(" at the tail"),
            Self::Tail(off) => write!(f, " at the tail{off:+}"),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |name: &u8| Target {
            name: *name,
            old: false,
        };
        match self {
            Self::Create(name) => write!(f, "create {}", named(name)),
            Self::Append {
                to,
                size,
                low,
                tail,
                token,
            } => {
                let low = if *low { " small ids" } else { "" };
                write!(f, "append {size}{low} to {to}{tail}{token}")
            }
            Self::Again { nth, change } => write!(f, "append batch {nth} again, {change:?}"),
            Self::Read { of, from, len } => write!(f, "read {len} of {of} from {from}"),
            Self::Head(name) => write!(f, "head of {}", named(name)),
            Self::List => f.write_str("list"),
            Self::Acquire { of, owner, force } => {
                let force = if *force { " by force" } else { "" };
                write!(f, "acquire {of} for owner {owner}{force}")
            }
            Self::Renew { of, owner } => write!(f, "renew owner {owner}'s lease of {of}"),
            Self::Release { of, owner } => write!(f, "release owner {owner}'s lease of {of}"),
            Self::Drop { of, owner } => write!(f, "drop owner {owner}'s lease of {of}"),
            Self::Probe(of) => write!(f, "probe {of}"),
            Self::Save { of, token } => write!(f, "save a snapshot of {of}{token}"),
            Self::Latest { of, bound } => write!(f, "latest snapshot of {of} up to {bound}"),
            Self::Put { to, content, token } => write!(f, "put blob {content} to {to}{token}"),
            Self::Get { of, content } => write!(f, "get blob {content} of {of}"),
            Self::Blobs(of) => write!(f, "list the blobs of {of}"),
            Self::Remove { of, content, token } => {
                write!(f, "remove blob {content} of {of}{token}")
            }
            Self::Delete { of, token } => write!(f, "delete {of}{token}"),
            Self::Verify(name) => write!(f, "verify {}", named(name)),
            Self::Reopen => f.write_str("close and open"),
            Self::Switch => f.write_str("use the other handle"),
        }
    }
}
