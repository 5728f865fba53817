//! Durable, replayable session logs for AI agents: the core.
#![doc = include_str!("../GUARANTEES.md")]

mod backend;
mod blob;
mod chain;
mod data;
mod error;
mod event;
mod kind;
mod lease;
mod ledger;
mod limits;
mod log;
mod seq;
mod session_id;
mod session_ref;
mod snapshot;
mod time;
mod upkeep;

pub use backend::Backend;
pub use blob::{BlobHasher, BlobId, BlobInfo, BlobStore, Pieces};
pub use chain::{Head, Sum};
pub use data::Data;
pub use error::{Error, ErrorKind, Place, Result};
pub use event::{Event, EventId, NewEvent};
pub use kind::{Kind, Kinds};
pub use lease::{FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Owner};
pub use ledger::{Admission, Ledger, Wanted, fence};
pub use limits::Limits;
pub use log::{AppendCondition, Chunks, EventLog, SessionIds};
pub use seq::{SeqNum, span};
pub use session_id::SessionId;
pub use session_ref::{Incarnation, SessionRef};
pub use snapshot::{Snapshot, SnapshotStore, Snapshots};
pub use time::Timestamp;
pub use upkeep::{Finding, Repair, Severity, Upkeep};
