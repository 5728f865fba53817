//! All traits of one storage together.

use crate::{BlobStore, EventLog, LeaseStore, SnapshotStore, Upkeep};

/// A storage that holds logs, snapshots, leases and blobs.
///
/// All of them are on one storage, because a token is worth something only if the append checks it
/// in the same step. There is nothing to implement: whatever implements the five traits is a
/// backend.
pub trait Backend: EventLog + SnapshotStore + LeaseStore + BlobStore + Upkeep + 'static {}

impl<T: EventLog + SnapshotStore + LeaseStore + BlobStore + Upkeep + 'static> Backend for T {}
