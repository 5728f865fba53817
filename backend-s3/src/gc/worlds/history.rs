//! What was asked and answered, and what must be there at the end.

use std::ops::Range;

use futures_util::TryStreamExt;
use sessionlog_core::{
    BlobId, BlobStore, Event, EventId, EventLog, Kind, NewEvent, Result, SeqNum, SessionRef,
    Timestamp, Upkeep,
};

use crate::Bucket;

/// A moment: operations are numbered as they begin and end.
type Moment = u64;

pub(super) struct Life {
    pub(super) session: SessionRef,
    /// Its creation was acknowledged.
    pub(super) made: bool,
    /// Somebody asked for its end.
    pub(super) dying: bool,
    /// Its end was acknowledged.
    pub(super) dead: bool,
}

pub(super) struct Batch {
    pub(super) life: usize,
    pub(super) events: Vec<NewEvent>,
    pub(super) acked: Option<Range<SeqNum>>,
    pub(super) perhaps: bool,
}

/// A put or a removal of a blob.
pub(super) struct Change {
    pub(super) life: usize,
    pub(super) blob: BlobId,
    pub(super) put: bool,
    asked: Moment,
    /// When it was acknowledged; what was not may happen at any time.
    acked: Option<Moment>,
}

#[derive(Default)]
pub(super) struct History {
    now: Moment,
    pub(super) lives: Vec<Life>,
    pub(super) batches: Vec<Batch>,
    changes: Vec<Change>,
}

impl History {
    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    pub(super) fn life(&mut self) -> usize {
        self.lives.push(Life {
            session: SessionRef::fresh("s".parse().unwrap()),
            made: false,
            dying: false,
            dead: false,
        });
        self.lives.len() - 1
    }

    pub(super) fn batch(&mut self, life: usize, len: usize) -> usize {
        let n = u64::try_from(self.batches.len()).unwrap() * 100;
        let event = |at: usize| {
            let number = n + u64::try_from(at).unwrap();
            let mut id = [0; 16];
            id[8..].copy_from_slice(&number.to_be_bytes());
            let text = format!("\"{number} {}\"", "x".repeat(60));
            NewEvent::json(Kind::from_static("note"), text)
                .unwrap()
                .with_id(EventId::from_bytes(id))
                .with_time(Timestamp::EPOCH)
        };
        self.batches.push(Batch {
            life,
            events: (0..len).map(event).collect(),
            acked: None,
            perhaps: false,
        });
        self.batches.len() - 1
    }

    pub(super) fn change(&mut self, life: usize, blob: BlobId, put: bool) -> usize {
        let asked = self.tick();
        self.changes.push(Change {
            life,
            blob,
            put,
            asked,
            acked: None,
        });
        self.changes.len() - 1
    }

    pub(super) fn changed(&mut self, change: usize) {
        let now = self.tick();
        self.changes[change].acked = Some(now);
    }

    /// The blobs of a life that must be there: put and acknowledged, and whatever removal there was
    /// had been acknowledged before.
    fn blobs(&self, life: usize) -> impl Iterator<Item = BlobId> {
        let puts = self.changes.iter().filter(move |c| c.life == life && c.put);
        puts.filter(|put| {
            let removals = self.changes.iter().filter(|c| !c.put && c.blob == put.blob);
            put.acked.is_some()
                && removals
                    .filter(|r| r.life == put.life)
                    .all(|r| r.acked.is_some_and(|acked| acked < put.asked))
        })
        .map(|put| put.blob)
    }

    /// Nothing that was acknowledged is lost, and all that is there is whole.
    pub(super) async fn check(&self, bucket: &Bucket) -> std::result::Result<(), String> {
        let id = "s".parse().unwrap();
        let session = match bucket.head(&id).await {
            Ok((session, _)) => session,
            Err(error) if error.is_not_found() => {
                let lost = self.lives.iter().any(|life| life.made && !life.dying);
                return match lost {
                    true => Err("a session that was made is gone".to_owned()),
                    false => Ok(()),
                };
            }
            Err(error) => return Err(format!("no head: {error:?}")),
        };
        let life = self.lives.iter().position(|life| life.session == session);
        let life = life.ok_or("a life that nobody made")?;
        if self.lives[life].dead {
            return Err("a session is there that was deleted".to_owned());
        }
        let listed = bucket
            .listed(usize::MAX)
            .await
            .map_err(|e| format!("{e:?}"))?;
        if listed != [session.clone()] {
            return Err(format!("the list has {listed:?}"));
        }
        let found = bucket.verify(&id).await;
        if !matches!(&found, Ok(found) if found.is_empty()) {
            return Err(format!("verification: {found:?}"));
        }
        let log = log(bucket, &session).await.map_err(|e| format!("{e:?}"))?;
        self.holds(life, &log)?;
        for blob in self.blobs(life) {
            let read = bucket.get(&session, blob, 0..u64::MAX);
            let read: Result<Vec<_>> = read.try_collect().await;
            read.map_err(|error| format!("an acknowledged blob: {error:?}"))?;
        }
        Ok(())
    }

    /// Each acknowledged batch is there once, in its place, and nothing else but what may be.
    pub(super) fn holds(&self, life: usize, log: &[Event]) -> std::result::Result<(), String> {
        let mut known = 0;
        for (n, batch) in self.batches.iter().enumerate() {
            let first = batch.events[0].id;
            let mut places = log.iter().filter(|event| event.id == first);
            let place = places.next().map(|event| event.seq);
            let once = places.next().is_none();
            let may = match &batch.acked {
                _ if batch.life != life => place.is_none(),
                Some(range) => once && place == Some(range.start),
                None => once && (place.is_none() || batch.perhaps),
            };
            if !may {
                let acked = &batch.acked;
                return Err(format!(
                    "batch {n}, acknowledged at {acked:?}, is at {place:?}"
                ));
            }
            known += place.map_or(0, |_| batch.events.len());
        }
        match known == log.len() {
            true => Ok(()),
            false => Err(format!("{} events, of which {known} were sent", log.len())),
        }
    }
}

pub(super) async fn log(bucket: &Bucket, session: &SessionRef) -> Result<Vec<Event>> {
    let chunks: Vec<_> = bucket.read(session, SeqNum::all()).try_collect().await?;
    Ok(chunks.concat())
}
