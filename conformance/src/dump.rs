//! Everything that can be read of a store, for comparing.

use std::collections::BTreeMap;
use std::ops::Range;

use futures_util::TryStreamExt;
use sessionlog_core::{
    BlobId, BlobInfo, Event, Head, Kind, Liveness, NewEvent, SeqNum, SessionId, SessionRef,
    Snapshot,
};

use crate::bench::{Ask, Handle};
use crate::breach::{Held, differs, ensure_eq};
use crate::make::FOLD;

/// A store, read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dump {
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    scanned: BTreeMap<SessionId, Snapshot>,
}

/// A session, read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) life: SessionRef,
    pub(crate) head: Head,
    pub(crate) events: Vec<Event>,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) blobs: BTreeMap<BlobId, Vec<u8>>,
    pub(crate) holder: String,
}

impl Dump {
    /// Reads a store.
    pub(crate) async fn of(store: &Handle) -> Held<Self> {
        let mut sessions = BTreeMap::new();
        let ids = store.ids().await?;
        for id in &ids {
            sessions.insert(id.clone(), Session::of(store, id).await?);
        }
        ensure_eq!(
            ids.len(),
            sessions.len(),
            "how many names there are, and how many differ"
        );
        let scanned = store.scan(&FOLD, 1).try_collect().await?;
        Ok(Self { sessions, scanned })
    }

    /// A breach unless the other store is the same.
    pub(crate) fn same(&self, other: &Self, when: &str) -> Held {
        self.agrees(other, Part::All, when)
    }

    /// As [`same_durable`](Self::same_durable), but for snapshots, which may be lost.
    pub(crate) fn same_log(&self, other: &Self, when: &str) -> Held {
        self.agrees(other, Part::Log, when)
    }

    /// As [`same`](Self::same), but for who drives the sessions: leases end with their handles.
    pub(crate) fn same_durable(&self, other: &Self, when: &str) -> Held {
        self.agrees(other, Part::Durable, when)
    }

    fn agrees(&self, other: &Self, part: Part, when: &str) -> Held {
        let names = |dump: &Self| dump.sessions.keys().cloned().collect::<Vec<_>>();
        ensure_eq!(names(other), names(self), "the sessions {when}");
        for (before, after) in self.sessions.values().zip(other.sessions.values()) {
            before.agrees(after, part, when)?;
        }
        if part != Part::Log {
            ensure_eq!(
                other.scanned,
                self.scanned,
                "the snapshots of a scan {when}"
            );
        }
        Ok(())
    }
}

/// What of two stores is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    /// All but who drives the sessions.
    Durable,
    /// What is durable, but for snapshots.
    Log,
}

impl Session {
    /// Reads a session.
    pub(crate) async fn of(store: &Handle, id: &SessionId) -> Held<Self> {
        let (life, head) = store.head(id).await?;
        let events = store.log(&life).await?;
        let infos: Vec<BlobInfo> = store.list(&life).try_collect().await?;
        let mut blobs = BTreeMap::new();
        for info in infos {
            let content = store.blob(&life, info.id, 0..u64::MAX).await?;
            ensure_eq!(
                content.len() as u64,
                info.len,
                "the length of a blob, and as listed"
            );
            let double = blobs.insert(info.id, content).is_some();
            ensure_eq!(double, false, "whether a blob is listed twice");
        }
        let holder = match store.holder(&life).await? {
            Liveness::Live(Some(holder)) => format!("{} with {}", holder.owner, holder.token),
            other => format!("{other:?}"),
        };
        Ok(Self {
            snapshots: snapshots(store, &life).await?,
            life,
            head,
            events,
            blobs,
            holder,
        })
    }

    /// The log behind an append of these.
    pub(crate) fn append(&mut self, new: Vec<NewEvent>) {
        for event in new {
            self.events.push(self.head.seal(event));
        }
    }

    /// The log behind a batch that was sent again and that stands, as was answered, in this range:
    /// where it was, or at the end if it was nowhere.
    pub(crate) fn settle(&mut self, batch: Vec<NewEvent>, range: Range<SeqNum>) -> Held {
        let id = &self.life.id;
        let ours = |event: &&Event| batch.iter().any(|new| new.id == event.id);
        let there: Vec<&Event> = self.events.iter().filter(ours).collect();
        let was = there.first().map_or(self.head.tail, |first| first.seq);
        let until = SeqNum::new(was.get() + batch.len() as u64);
        ensure_eq!(range, was..until, "where a repeated batch of {id} stands");
        if there.is_empty() {
            self.append(batch);
            return Ok(());
        }
        let same = there.len() == batch.len() && there.iter().zip(&batch).all(|(e, n)| e.holds(n));
        ensure_eq!(
            same,
            true,
            "whether a repeated batch of {id} is there whole"
        );
        Ok(())
    }

    /// A breach unless the other session is the same in that part.
    fn agrees(&self, other: &Self, part: Part, when: &str) -> Held {
        let id = &self.life.id;
        ensure_eq!(other.life, self.life, "the life of {id} {when}");
        for (before, after) in self.events.iter().zip(&other.events) {
            if before != after {
                return Err(differs(&format!("an event of {id} {when}"), before, after));
            }
        }
        ensure_eq!(
            other.events.len(),
            self.events.len(),
            "the number of events of {id} {when}"
        );
        ensure_eq!(other.head, self.head, "the head of {id} {when}");
        if part != Part::Log {
            ensure_eq!(
                other.snapshots,
                self.snapshots,
                "the snapshots of {id} {when}"
            );
        }
        ensure_eq!(
            other.blobs.keys().collect::<Vec<_>>(),
            self.blobs.keys().collect::<Vec<_>>(),
            "the blobs of {id} {when}"
        );
        ensure_eq!(
            other.blobs == self.blobs,
            true,
            "whether the blobs' bytes of {id} are the same {when}"
        );
        if part == Part::All {
            ensure_eq!(other.holder, self.holder, "who drives {id} {when}");
        }
        Ok(())
    }
}

/// The snapshots that are still kept, the latest first: of two projections and two versions.
async fn snapshots(store: &Handle, life: &SessionRef) -> Held<Vec<Snapshot>> {
    const OTHER: Kind = Kind::from_static("other");
    let mut all = Vec::new();
    for projection in [FOLD, OTHER] {
        for version in [1, 2] {
            let mut bound = SeqNum::MAX;
            while let Some(found) = store.latest(life, &projection, version, bound).await? {
                let covers = found.covers;
                all.push(found);
                if covers == SeqNum::ZERO || covers > bound {
                    break;
                }
                bound = covers.minus(1);
            }
        }
    }
    Ok(all)
}
