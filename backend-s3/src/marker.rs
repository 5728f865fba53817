//! The index: a marker for each session, named so that the newest comes first.

use object_store::path::Path;
use serde::Serialize;
use sessionlog_core::{Error, Incarnation, Result, SessionId, SessionRef, Timestamp};

use crate::head::State;
use crate::objects::Listed;
use crate::seat::Seat;

/// What a marker holds: for people, and for tools that find a session by its folder.
#[derive(Serialize)]
struct Marker<'a> {
    id: &'a SessionId,
    incarnation: Incarnation,
    created: Timestamp,
    folder: &'a str,
}

/// The content of a marker whose session is being deleted, or was not made in one go.
const UNSURE: &[u8] = b"-";

impl Seat {
    /// Puts the session into the index. Cost: 1 PUT.
    pub(crate) async fn put_marker(&self, state: &State) -> Result<()> {
        let marker = Marker {
            id: &self.id,
            incarnation: state.incarnation,
            created: state.created,
            folder: &self.dir,
        };
        let bytes = serde_json::to_vec(&marker)
            .map_err(|e| Error::internal("a marker can't be written").with_source(e))?;
        self.env
            .objects
            .put(&self.marker(state), &bytes.into())
            .await
    }

    /// The name of the session's marker.
    pub(crate) fn marker(&self, state: &State) -> Path {
        let session = SessionRef {
            id: self.id.clone(),
            incarnation: state.incarnation,
        };
        self.env.keys.marker(&session, state.created)
    }

    /// Says that a list must look whether the session is there.
    pub(crate) async fn put_unsure(&self, key: &Path) -> Result<()> {
        let bytes = bytes::Bytes::from_static(UNSURE);
        self.env.objects.put(key, &bytes).await
    }
}

/// Whether a list must look for the session of this marker.
pub(crate) fn is_unsure(marker: &Listed) -> bool {
    marker.len == u64::try_from(UNSURE.len()).unwrap_or(1)
}
