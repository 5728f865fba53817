//! Reading a blob.

use std::ops::Range;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sessionlog_core::{BlobHasher, BlobId, Error, Pieces, Place, Result, SessionRef};

use crate::Redb;
use crate::failure::{FILE, failed};
use crate::format::{BLOBS, CHUNK, CHUNKS, key_of};
use crate::log::life_in;

/// A blob that is read row by row.
pub(super) struct Getting {
    store: Redb,
    session: SessionRef,
    id: BlobId,
    range: Range<u64>,
    /// Upload, length, and the next byte to hand out.
    found: Option<(u64, u64, u64)>,
    /// For a blob that is read whole.
    hasher: Option<BlobHasher>,
}

impl Getting {
    pub(super) fn new(store: &Redb, session: &SessionRef, id: BlobId, range: Range<u64>) -> Self {
        Self {
            store: store.clone(),
            session: session.clone(),
            id,
            range,
            found: None,
            hasher: None,
        }
    }

    pub(super) fn pieces(self) -> Pieces {
        stream::unfold(Some(self), |getting| async move {
            let mut getting = getting?;
            match getting.piece() {
                Ok(Some(piece)) => Some((Ok(piece), Some(getting))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    fn piece(&mut self) -> Result<Option<Bytes>> {
        let hash = key_of(self.id);
        let Self { session, range, .. } = self;
        let found = self.found;
        let read = self.store.shared.engine.read(|txn| {
            let what = "read the blob";
            let row = life_in(txn, session)?;
            let blobs = txn.open_table(BLOBS).map_err(failed(what))?;
            let there = blobs.get((row.number, &hash)).map_err(failed(what))?;
            let (upload, len) = there
                .map(|there| there.value())
                .ok_or_else(|| Error::not_found(format!("there is no such blob: {}", self.id)))?;
            let next = found.map_or(range.start, |(_, _, next)| next);
            if next >= len.min(range.end) {
                return Ok((upload, len, next, None));
            }
            let chunks = txn.open_table(CHUNKS).map_err(failed(what))?;
            let index = u32::try_from(next / CHUNK as u64).unwrap_or(u32::MAX);
            let row = chunks.get((upload, index)).map_err(failed(what))?;
            let row = row.map(|row| Bytes::copy_from_slice(row.value()));
            Ok((upload, len, next, Some(row)))
        })?;
        let (upload, len, next, row) = read.ok_or_else(|| self.session.gone())?;
        if self.found.is_none() && self.range.start == 0 && self.range.end >= len {
            self.hasher = Some(BlobHasher::default());
        }
        self.found = Some((upload, len, next));
        let Some(row) = row else {
            let whole = self.hasher.take().is_none_or(|h| h.finish() == self.id);
            return if whole { Ok(None) } else { Err(self.damaged()) };
        };
        let row = row.ok_or_else(|| self.damaged())?;
        let end = len.min(self.range.end);
        let skip = usize::try_from(next % CHUNK as u64).unwrap_or(usize::MAX);
        let take = usize::try_from(end - next).unwrap_or(usize::MAX);
        let stop = row.len().min(skip.saturating_add(take));
        if skip >= stop {
            return Err(self.damaged());
        }
        let piece = row.slice(skip..stop);
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&piece);
        }
        self.found = Some((upload, len, next + piece.len() as u64));
        Ok(Some(piece))
    }

    fn damaged(&self) -> Error {
        Error::corrupt(
            Place::file(FILE).with_session(&self.session.id),
            format!("the blob does not match its name: {}", self.id),
        )
    }
}
