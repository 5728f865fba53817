//! Heads as objects.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutPayload};
use serde::{Deserialize, Serialize};
use sessionlog_core::*;

use super::log::{Flaw, HeadLog};
use crate::custom_backend::Line;

/// How often a request is sent.
pub(super) const TRIES: usize = 3;

/// A change of a session.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Entry {
    /// What the reference backend does by itself.
    Line(Line),
    Grant(SessionRefParts, Owner),
    Release(u64),
}

/// A life as it is stored.
pub(super) type SessionRefParts = (SessionId, Incarnation);

/// The first line of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Who wrote it, and which of its heads it is.
    pub(super) writer: String,
    pub(super) commit: u64,
    pub(super) deleted: bool,
    /// A fence is never collected. It has no entries, but says which head has them.
    pub(super) fence: Option<u64>,
}

/// A head: its mark, and a line for each entry.
#[derive(Clone)]
pub(super) struct HeadObject {
    pub(super) mark: Mark,
    pub(super) entries: Vec<Entry>,
}

impl HeadObject {
    fn encode(&self) -> Bytes {
        let mut out = serde_json::to_string(&self.mark).unwrap();
        for entry in &self.entries {
            out.push('\n');
            out += &serde_json::to_string(entry).unwrap();
        }
        out.push('\n');
        out.into()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let whole = bytes.iter().rposition(|b| *b == b'\n')?;
        let mut lines = bytes[..whole].split(|b| *b == b'\n');
        let mark = serde_json::from_slice(lines.next()?).ok()?;
        let entries = lines.map(serde_json::from_slice);
        let entries = entries.collect::<std::result::Result<_, _>>().ok()?;
        Some(Self { mark, entries })
    }
}

/// What came of a put.
pub(super) enum Put {
    Won,
    Lost,
    Unknown,
    /// It certainly did not happen.
    Failed,
}

pub(super) fn unavailable(error: object_store::Error) -> Error {
    Error::unavailable("the object store can't be reached").with_source(error)
}

impl HeadLog {
    /// The folder of a session.
    pub(super) fn folder(&self, id: &SessionId) -> Path {
        let name: String = id.as_str().bytes().map(|b| format!("{b:02x}")).collect();
        self.root.clone().join("s").join(name)
    }

    /// The key of a head: the newest is listed first.
    pub(super) fn key(&self, id: &SessionId, slot: u64) -> Path {
        self.folder(id).join(format!("{:016x}", u64::MAX - slot))
    }

    /// The number of the newest head.
    pub(super) async fn newest(&self, id: &SessionId) -> Result<Option<u64>> {
        let mut error = None;
        for _ in 0..TRIES {
            match self.store.list(Some(&self.folder(id))).try_next().await {
                Ok(meta) => return Ok(meta.map(|meta| slot_of(&meta.location))),
                Err(failed) => error = Some(failed),
            }
        }
        Err(error.map_or_else(|| Error::internal("no try"), unavailable))
    }

    /// A head; `None` if it was collected.
    pub(super) async fn get(&self, key: &Path) -> Result<Option<HeadObject>> {
        let mut last = None;
        for _ in 0..TRIES {
            let got = match self.store.get(key).await {
                Ok(got) if self.flaw == Flaw::BelievesBrokenBodies => {
                    let pieces: Vec<_> = got.into_stream().collect().await;
                    let whole: Vec<Bytes> = pieces.into_iter().flatten().collect();
                    Ok(whole.concat().into())
                }
                Ok(got) => got.bytes().await,
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(error) => Err(error),
            };
            match got {
                Ok(bytes) => {
                    let place = || Place::file(key.to_string());
                    let head = HeadObject::decode(&bytes);
                    let damage = || Error::corrupt(place(), "not a head");
                    return head.map(Some).ok_or_else(damage);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(|| Error::internal("no try"), unavailable))
    }

    /// Creates a head: the same bytes under the same key, until it is known who is there.
    pub(super) async fn put(&self, id: &SessionId, slot: u64, head: &HeadObject) -> Put {
        let key = self.key(id, slot);
        let bytes = head.encode();
        let tries = if self.flaw == Flaw::NeverGivesUp {
            usize::MAX
        } else {
            TRIES
        };
        for _ in 0..tries {
            let payload = PutPayload::from(bytes.clone());
            let put = self
                .store
                .put_opts(&key, payload, PutMode::Create.into())
                .await;
            match put {
                Ok(_) => return Put::Won,
                Err(object_store::Error::AlreadyExists { .. }) => {
                    if matches!(self.flaw, Flaw::TrustsConflicts | Flaw::DoublesRetries) {
                        return Put::Lost;
                    }
                    match self.get(&key).await {
                        Ok(Some(there)) if there.mark == head.mark => return Put::Won,
                        Ok(Some(there))
                            if self.flaw == Flaw::ReusesSlots
                                && there.mark.writer == head.mark.writer =>
                        {
                            return Put::Won;
                        }
                        Ok(Some(_)) => return Put::Lost,
                        Ok(None) | Err(_) => {}
                    }
                }
                Err(_) if self.flaw == Flaw::OnlyReadsBack => match self.get(&key).await {
                    Ok(Some(there)) if there.mark == head.mark => return Put::Won,
                    Ok(Some(_)) => return Put::Lost,
                    Ok(None) | Err(_) => return Put::Failed,
                },
                Err(_) => {}
            }
        }
        Put::Unknown
    }

    /// Deletes objects, all or with an error.
    pub(super) async fn remove(&self, keys: Vec<Path>) -> Result<()> {
        let mut left = keys;
        for _ in 0..TRIES {
            if left.is_empty() {
                return Ok(());
            }
            let named = futures_util::stream::iter(left.clone()).map(Ok).boxed();
            let outcomes: Vec<_> = self.store.delete_stream(named).collect().await;
            let done: Vec<Path> = outcomes.into_iter().flatten().collect();
            left.retain(|key| !done.contains(key));
            if self.flaw == Flaw::IgnoresPartialDeletes && !done.is_empty() {
                return Ok(());
            }
        }
        match left.is_empty() {
            true => Ok(()),
            false => Err(Error::indeterminate("not all objects were deleted")),
        }
    }
}

/// The number of a head by its key.
pub(super) fn slot_of(key: &Path) -> u64 {
    let name = key.filename().unwrap_or_default();
    u64::MAX - u64::from_str_radix(name, 16).unwrap_or(u64::MAX)
}
