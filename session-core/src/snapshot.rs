//! Snapshots: a cache of what replay would compute.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::{Error, FencingToken, Kind, Place, Result, SeqNum, SessionId, SessionRef, Sum};

/// The encoded state of a projection after the first `covers` events of a log.
///
/// A snapshot is never believed for more than it is: [`Session`](crate::Session) uses one only if
/// its checksum holds, its projection and version are the ones asked for, and `log` is the checksum
/// that the log itself has at `covers` (G11, G12). So one that is torn, stale, of another session
/// or of another life is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The name of the projection.
    pub projection: Kind,
    /// The version of the projection's encoding.
    pub version: u32,
    /// The first position that is not folded in.
    pub covers: SeqNum,
    /// The checksum of the log's event before `covers`.
    pub log: Sum,
    /// The encoded state.
    pub state: Bytes,
}

const MAGIC: &[u8] = b"sessionlog snapshot 1\n";

impl Snapshot {
    /// The snapshot as bytes for storage, with a checksum of its own.
    ///
    /// ```text
    /// "sessionlog snapshot 1\n", then a line of JSON:
    /// {"projection":"card","version":1,"covers":12,"log":"…","len":345,"sum":"…"}, then the state
    /// ```
    /// `sum` is XXH3 of the state, seeded by XXH3 of the line up to `,"sum"`.
    pub fn to_bytes(&self) -> Bytes {
        let fields = self.fields();
        let sum = sum(&fields, &self.state);
        let mut out = Vec::with_capacity(MAGIC.len() + fields.len() + 32 + self.state.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(fields.as_bytes());
        out.extend_from_slice(format!(",\"sum\":\"{sum}\"}}\n").as_bytes());
        out.extend_from_slice(&self.state);
        out.into()
    }

    fn fields(&self) -> String {
        format!(
            "{{\"projection\":\"{}\",\"version\":{},\"covers\":{},\"log\":\"{}\",\"len\":{}",
            self.projection,
            self.version,
            self.covers,
            self.log,
            self.state.len()
        )
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// `Corrupt` for anything else, be it torn, grown or changed in any byte.
    pub fn from_bytes(bytes: &Bytes) -> Result<Self> {
        Self::decode(bytes).ok_or_else(|| {
            Error::corrupt(Place::default(), "the snapshot does not match its checksum")
        })
    }

    fn decode(bytes: &Bytes) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Line {
            projection: Kind,
            version: u32,
            covers: SeqNum,
            log: Sum,
        }
        let behind = bytes.strip_prefix(MAGIC)?;
        let end = behind.iter().position(|b| *b == b'\n')?;
        let text = behind.get(..end)?;
        let line: Line = serde_json::from_slice(text).ok()?;
        let state = bytes.slice(MAGIC.len() + end + 1..);
        let Line {
            projection,
            version,
            covers,
            log,
        } = line;
        let snapshot = Self {
            projection,
            version,
            covers,
            log,
            state,
        };
        // A line has one form, with the length of the state in it.
        let fields = snapshot.fields();
        let rest = text.strip_prefix(fields.as_bytes())?;
        let stored = rest.strip_prefix(b",\"sum\":\"")?.strip_suffix(b"\"}")?;
        (Sum::from_text(stored)? == sum(&fields, &snapshot.state)).then_some(snapshot)
    }
}

fn sum(fields: &str, state: &[u8]) -> Sum {
    Sum::from_u64(0).then(fields.as_bytes()).then(state)
}

/// Snapshots with the sessions that they belong to.
pub type Snapshots = BoxStream<'static, Result<(SessionId, Snapshot)>>;

/// The snapshots of one storage.
///
/// # Contract
///
/// - Snapshots are a cache: they may be lost at any time, and need not be flushed. What is handed
///   out is whole, or it is not handed out ([`Snapshot::from_bytes`] tells).
/// - `save` keeps at least the last two of a projection and version, and may drop older ones and
///   those of smaller versions.
#[async_trait]
pub trait SnapshotStore: Send + Sync {
    /// Keeps a snapshot. One with the same projection, version and `covers` is replaced.
    ///
    /// # Errors
    /// `Fenced` if `token` is not the newest; `NotFound`, `Unavailable`.
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()>;

    /// The latest whole snapshot that covers at most `at_or_before`.
    ///
    /// # Errors
    /// `NotFound` if the session's life has ended; `Unavailable`. A damaged snapshot is passed
    /// over.
    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>>;

    /// As [`latest`](Self::latest), for a caller who looks in the same operation whether the session
    /// lives: `None` if it does not is as good. Where a look costs nothing, there is nothing to
    /// implement.
    ///
    /// # Errors
    /// As [`latest`](Self::latest).
    async fn latest_known(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        self.latest(session, projection, version, at_or_before)
            .await
    }

    /// The latest whole snapshot of every session that has one, in one scan.
    fn scan(&self, projection: &Kind, version: u32) -> Snapshots;
}
