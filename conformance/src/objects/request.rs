//! What is asked of an object store, and what can become of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// A put that takes effect only if the key is free.
    Create,
    /// A put whatever is there.
    Overwrite,
    /// A put that takes effect only if the object is the one that was seen.
    Update,
    /// A get of an object or a range of it.
    Get,
    /// A get of an object's description alone.
    Head,
    /// A page of a list: up to 1,000 objects.
    List,
    /// The delete of one object.
    Delete,
    /// The delete of several objects, up to 1,000, with one request.
    BulkDelete,
    /// The beginning of an upload in parts.
    Upload,
    /// A part of an upload.
    Part,
    /// The end of an upload, which makes the object visible.
    Complete,
    /// The end of an upload that is given up.
    Abort,
    /// A copy within the store.
    Copy,
    /// A rename within the store.
    Rename,
}

impl Op {
    /// What can become of such a request; the first is [`Fault::None`].
    pub fn faults(self) -> &'static [Fault] {
        use Fault as F;
        match self {
            Self::Create | Self::Update => &[
                F::None,
                F::Lost,
                F::AnswerLost,
                F::Late(3),
                F::Throttled,
                F::Conflict,
                F::OwnRetry,
            ],
            Self::Overwrite => &[
                F::None,
                F::Lost,
                F::AnswerLost,
                F::Late(3),
                F::Throttled,
                F::Conflict,
            ],
            Self::Get => &[F::None, F::Lost, F::Throttled, F::BrokenBody],
            Self::List => &[F::None, F::Lost, F::Throttled, F::TruncatedList],
            Self::BulkDelete => &[
                F::None,
                F::Lost,
                F::AnswerLost,
                F::Late(3),
                F::Throttled,
                F::PartialDelete,
            ],
            Self::Delete | Self::Complete | Self::Copy | Self::Rename => {
                &[F::None, F::Lost, F::AnswerLost, F::Late(3), F::Throttled]
            }
            Self::Head | Self::Upload | Self::Part | Self::Abort => {
                &[F::None, F::Lost, F::Throttled]
            }
        }
    }

    /// Whether the request changes what is stored.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Get | Self::Head | Self::List)
    }
}

/// A request to an object store, before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Its number among all requests to the store since it was wrapped, from 0.
    pub number: u64,
    /// What is asked.
    pub op: Op,
    /// The key, the prefix of a list, or the first key of several.
    pub key: String,
    /// Bytes that are sent as content.
    pub sent: u64,
    /// How many objects are meant: more than 1 for a bulk delete alone.
    pub objects: u64,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.number, self.op, self.key)?;
        match self.objects {
            0 | 1 => Ok(()),
            more => write!(f, " and {} more", more - 1),
        }
    }
}

/// What becomes of one request. A fault that makes no sense for a request is passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fault {
    /// It is done and answered.
    #[default]
    None,
    /// It never arrives: nothing is done, and the client gets an error that says nothing.
    Lost,
    /// It is done, and the client gets the same error.
    AnswerLost,
    /// A zombie: the client gets the same error, and after so many further requests to the store
    /// it is done after all.
    Late(u8),
    /// It is refused with "slow down", and nothing is done.
    Throttled,
    /// It is answered as if its condition did not hold, and nothing is done: S3's 409.
    Conflict,
    /// It is done, and its client sends it again, unasked: that one finds the condition broken by
    /// the first.
    OwnRetry,
    /// The list lacks what the last so many creations made. A store that does so is not fit for
    /// logs; no law asks a backend to live with it.
    StaleList(u8),
    /// The list breaks off with an error behind its first half.
    TruncatedList,
    /// The body breaks off with an error behind its first half.
    BrokenBody,
    /// The first half of the objects is deleted; for the others there is an error.
    PartialDelete,
    /// The condition is not looked at. A store that does so is not fit for logs either.
    Unconditional,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("done"),
            Self::Lost => f.write_str("lost"),
            Self::AnswerLost => f.write_str("done, the answer is lost"),
            Self::Late(n) => write!(f, "answered with an error, done {n} requests later"),
            Self::Throttled => f.write_str("throttled"),
            Self::Conflict => f.write_str("refused with a conflict that is none"),
            Self::OwnRetry => f.write_str("done, and refused when the client sends it again"),
            Self::StaleList(n) => write!(f, "a list without the last {n} creations"),
            Self::TruncatedList => f.write_str("half a list, then an error"),
            Self::BrokenBody => f.write_str("half a body, then an error"),
            Self::PartialDelete => f.write_str("the first half is deleted, then errors"),
            Self::Unconditional => f.write_str("done without a look at the condition"),
        }
    }
}
