//! Durable, replayable session logs for AI agents: the core.
//!
//! An agent's session is an append-only log of [`Event`]s. This crate has what all storages share:
//!
//! - **for users**: a [`Store`] of sessions, a [`Session`] to read, follow and append to, and the
//!   [`Writer`] that holds the lease; [`Card`]s for lists, [`Projection`]s for folds of one's own;
//! - **for authors of backends**: the traits [`EventLog`], [`SnapshotStore`], [`LeaseStore`],
//!   [`BlobStore`] and [`Upkeep`], and the [`Ledger`], which holds the rules of an append in one
//!   place, so that a backend is left with moving bytes;
//! - [`Memory`], the reference backend.
//!
//! It has no database and no runtime: futures may be driven by any executor. Every event that a
//! user sees was verified here against the checksums chained through its log ([`Sum`]), whatever
//! backend it came from.
//!
#![doc = include_str!("../GUARANTEES.md")]

mod backend;
mod blob;
mod card;
mod chain;
mod combine;
mod copy;
mod data;
mod error;
mod event;
mod events;
mod follow;
mod hex;
mod kind;
mod lease;
mod ledger;
mod limits;
mod log;
mod memory;
mod project;
mod projection;
mod seq;
mod session;
mod session_id;
mod session_ref;
mod snapshot;
mod store;
mod time;
pub mod transcript;
mod upkeep;
mod verify;
mod writer;

pub use backend::Backend;
pub use blob::{BlobHasher, BlobId, BlobInfo, BlobStore, Pieces};
pub use card::Card;
pub use chain::{Head, Sum};
pub use combine::Combiner;
pub use copy::{Copied, CopyOptions};
pub use data::Data;
pub use error::{Error, ErrorKind, Place, Result};
pub use event::{Event, EventId, NewEvent};
pub use events::Events;
pub use kind::{Kind, Kinds};
pub use lease::{FencingToken, Holder, Lease, LeaseRequest, LeaseStore, Liveness, Owner};
pub use ledger::{Admission, Ledger, Wanted, fence, held_error};
pub use limits::Limits;
pub use log::{AppendCondition, Chunks, EventLog, SessionIds};
pub use memory::Memory;
pub use projection::{Projected, Projection};
pub use seq::{SeqNum, span};
pub use session::Session;
pub use session_id::SessionId;
pub use session_ref::{Incarnation, SessionRef};
pub use snapshot::{Snapshot, SnapshotStore, Snapshots};
pub use store::{Listed, Store};
pub use time::Timestamp;
pub use upkeep::{Finding, Repair, Severity, Upkeep};
pub use verify::verify_by_reading;
pub use writer::Writer;
