//! The index: a marker for each session, named so that the newest comes first.

use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use serde::Serialize;
use sessionlog_core::{
    Error, Finding, Incarnation, Place, Result, SessionId, SessionRef, Severity, Timestamp,
};

use crate::codec::wide;
use crate::head::State;
use crate::key::Named;
use crate::moment::time;
use crate::objects::{Listed, unseen};
use crate::seat::Seat;
use crate::view::View;

/// What a marker holds: for people, and for tools that find a session by its folder.
#[derive(Serialize)]
struct Marker<'a> {
    id: &'a SessionId,
    incarnation: Incarnation,
    created: Timestamp,
    folder: &'a str,
}

/// The content of a notice: its name says all.
const NOTICE: &[u8] = b"-";
/// The content of a marker whose session was never made, and never will be.
const VOID: &[u8] = b"--";

impl Seat {
    fn marker_text(&self, state: &State) -> Result<Bytes> {
        let marker = Marker {
            id: &self.id,
            incarnation: state.incarnation,
            created: state.created,
            folder: &self.dir,
        };
        let bytes = serde_json::to_vec(&marker)
            .map_err(|e| Error::internal("a marker can't be written").with_source(e))?;
        Ok(bytes.into())
    }

    /// Puts the session into the index, which finishes its creation, if that was begun a while ago
    /// at most; whether it is finished. It is not if somebody made it void. Cost: 1 PUT.
    pub(crate) async fn put_marker(&self, state: &State) -> Result<bool> {
        let text = self.marker_text(state)?;
        let there = self
            .env
            .objects
            .put_once(&self.marker(state), &text, || self.is_recent(state))
            .await?;
        Ok(there.is_none_or(|there| there != VOID))
    }

    /// Whether a creation was begun so short a time ago that it may be finished. One that is old is
    /// ended by a collection of garbage, and so is what made it void.
    pub(crate) fn is_recent(&self, begun: &State) -> bool {
        let age = time().as_micros().saturating_sub(begun.created.as_micros());
        let age = Duration::from_micros(u64::try_from(age).unwrap_or_default());
        age < self.env.objects.options.believed()
    }

    /// Sees to it that a creation which was broken off is never finished; whether that is so, or it
    /// is finished. Cost: 1 PUT.
    pub(crate) async fn void_marker(&self, state: &State) -> Result<bool> {
        let void = Bytes::from_static(VOID);
        let there = self
            .env
            .objects
            .put_once(&self.marker(state), &void, || true)
            .await?;
        Ok(there.is_none_or(|there| there == VOID))
    }

    /// Whether the head is that of a creation that never is finished. Cost: nothing, or 1 GET.
    pub(crate) async fn is_void(&self, view: &View) -> Result<bool> {
        if !view.is_begun() {
            return Ok(false);
        }
        let len = self.env.objects.len(&self.marker(&view.state)).await?;
        Ok(len.is_some_and(|len| is_len_of(VOID, len)))
    }

    /// Whether the session is in the index. Cost: 1 GET.
    pub(crate) async fn is_marked(&self, state: &State) -> Result<bool> {
        let len = self.env.objects.len(&self.marker(state)).await?;
        Ok(len.is_some_and(|len| !is_len_of(VOID, len)))
    }

    /// What is wrong with the marker of a session that is there. Cost: 1 GET.
    pub(crate) async fn marker_harm(&self, state: &State) -> Result<Option<Finding>> {
        let key = self.marker(state);
        let there = self.env.objects.get(&key).await?;
        let place = Place::file(self.env.keys.relative(&key)).with_session(&self.id);
        let lost = "the session is not in the index, so no list has it: repair puts it back";
        let spoilt = "the session's marker, which is for people alone, is damaged";
        let (severity, message) = match there {
            None => (Severity::Damage, lost),
            Some(there) if there == VOID => (Severity::Damage, lost),
            Some(there) if there == self.marker_text(state)? => return Ok(None),
            Some(_) => (Severity::Derived, spoilt),
        };
        Ok(Some(Finding::new(severity, place, message)))
    }

    /// The name of a marker of this session, whichever life it is of, if a list trusts it. Cost: 1
    /// LIST for each 1,000 sessions.
    pub(crate) async fn marker_in_index(&self) -> Result<Option<Path>> {
        let keys = &self.env.keys;
        let markers = self.env.objects.list(Some(&keys.index())).await?;
        let found = markers.into_iter().find(|marker| {
            let named = keys.named(&marker.key);
            let own = matches!(named, Some(Named::Marker(session)) if session.id == self.id);
            own && !is_void(marker)
        });
        Ok(found.map(|marker| marker.key))
    }

    /// Puts the marker of a session that is there, whatever was in its place. Cost: 1 PUT.
    pub(crate) async fn put_marker_back(&self, state: &State) -> Result<()> {
        let text = self.marker_text(state)?;
        self.env.objects.put(&self.marker(state), &text).await
    }

    /// The name of the session's marker.
    pub(crate) fn marker(&self, state: &State) -> Path {
        let session = SessionRef {
            id: self.id.clone(),
            incarnation: state.incarnation,
        };
        self.env.keys.marker(&session, state.created)
    }

    /// Says that whoever finds the session's marker must look whether the session is there: now,
    /// and once it is deleted. Cost: 1 PUT.
    pub(crate) async fn put_notice(&self, state: &State) -> Result<()> {
        let (keys, objects) = (&self.env.keys, &self.env.objects);
        let key = keys.notice(&self.dir, state.incarnation, state.created);
        let put = objects.put(&key, &Bytes::from_static(NOTICE)).await;
        put.map_err(unseen)
    }
}

/// Whether this is the marker of a session that was never made.
pub(crate) fn is_void(marker: &Listed) -> bool {
    is_len_of(VOID, marker.len)
}

fn is_len_of(content: &[u8], len: u64) -> bool {
    wide(content.len()) == len
}
