//! The log itself: the trait of it, and how a change is waited for.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use futures_timer::Delay;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    Admission, AppendCondition, Chunks, Error, ErrorKind, EventLog, FencingToken, Head, Kinds,
    NewEvent, Result, SeqNum, SessionId, SessionIds, SessionRef, fence, held_error,
};

use crate::event;
use crate::lease;
use crate::session::{SessionRow, all, missing};
use crate::store::Sqlite;

impl Sqlite {
    /// The row and the end of the present life of an id.
    pub(crate) async fn present(&self, id: &SessionId) -> Result<(SessionRow, Head)> {
        let sound = self.inner.sound.load(Ordering::Relaxed);
        let found = self.inner.read(|conn| match SessionRow::find(conn, id)? {
            Some(row) => event::head(conn, &row).map(|head| Ok((row, head))),
            None if sound => Ok(Err(Error::not_found(format!(
                "there is no such session: {id}"
            )))),
            None => missing(conn, id).map(Err),
        });
        match found.await? {
            Some(Ok(found)) => Ok(found),
            Some(Err(not_found)) => {
                self.inner.sound.store(true, Ordering::Relaxed);
                Err(not_found)
            }
            None => Err(Error::not_found(format!("there is no such session: {id}"))),
        }
    }

    /// The row and the end of the life that is meant.
    pub(crate) async fn life(&self, session: &SessionRef) -> Result<(SessionRow, Head)> {
        match self.present(&session.id).await {
            Ok(found) if found.0.session == *session => Ok(found),
            Ok(_) => Err(session.gone()),
            Err(error) if error.is_not_found() => Err(session.gone()),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl EventLog for Sqlite {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let (store, session) = (self.clone(), session.clone());
        let made = self.inner.write_or_make(move |work| {
            if let Some(row) = SessionRow::find(work.conn(), &session.id)? {
                let tail = event::head(work.conn(), &row)?.tail;
                return Err(Error::new(
                    ErrorKind::Conflict { tail },
                    format!("the session is there already, open it: {}", session.id),
                ));
            }
            if !store.inner.sound.load(Ordering::Relaxed) {
                // A session that was lost is no reason to make another in its place.
                missing(work.conn(), &session.id)?;
                store.inner.sound.store(true, Ordering::Relaxed);
            }
            SessionRow::insert(work, session).map(drop)
        });
        made.await
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let (row, head) = self.present(id).await?;
        Ok((row.session, head))
    }

    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let found = self.inner.read(|conn| {
            let look = |id: &SessionId| {
                let row = SessionRow::find(conn, id).ok()??;
                let head = event::head(conn, &row).ok()?;
                Some((row.session, head))
            };
            Ok(ids.iter().map(look).collect::<Vec<_>>())
        });
        let found = found.await.ok().flatten().unwrap_or_default().into_iter();
        let mut heads = Vec::with_capacity(ids.len());
        for (id, found) in ids.iter().zip(found.chain(std::iter::repeat(None))) {
            heads.push(match found {
                Some(found) => Ok(found),
                // What is amiss is found out for each by itself.
                None => self.head(id).await,
            });
        }
        heads
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let limits = self.inner.options.limits;
        // What is too large does not wait for the lock.
        limits.check(&events)?;
        let life = session.clone();
        let job = move |work: &mut crate::desk::Work<'_>| {
            let mut known = work.life(&life)?;
            let stored = match known.ledger.wanted(&events) {
                Some(wanted) => event::wanted(work.conn(), &known.row, &wanted)?,
                None => Vec::new(),
            };
            let token = known.row.token;
            let admitted = known
                .ledger
                .admit(events, condition, &limits, token, &stored);
            let range = match admitted {
                Ok(Admission::Repeat(range)) => {
                    // What is acknowledged again is flushed again: who wrote it may have been killed
                    // before its flush.
                    let flush = "UPDATE store SET settled = settled + 1";
                    work.change_one("store", flush, []).map(|()| range)
                }
                Ok(Admission::Write(sealed)) => {
                    event::write(work, &mut known.row, &sealed)?;
                    let end = known.ledger.head().tail;
                    Ok(end.minus(u64::try_from(sealed.len()).unwrap_or(0))..end)
                }
                Err(error) => Err(error),
            };
            work.keep(life, known);
            range
        };
        self.inner.write(session, job).await
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let slice = Slice {
            store: self.clone(),
            session: session.clone(),
            range,
            bounded: false,
            most: event::FIRST_CHUNK,
            kinds: Kinds::default(),
        };
        stream::unfold(Some(slice), |slice| async move {
            let mut slice = slice?;
            match slice.next().await {
                Ok(events) if events.is_empty() => None,
                Ok(events) => Some((Ok(events), Some(slice))),
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        // Commits of this process ring a bell; those of others are looked for, less and less often.
        let mut pause = Duration::from_millis(5);
        loop {
            let presence = self.inner.presence()?.ok_or_else(|| session.gone())?;
            let rung = presence.bell.listen();
            let (_, head) = self.life(session).await?;
            if head.tail > tail {
                return Ok(());
            }
            if let Either::Right(_) = select(rung, Delay::new(pause)).await {
                pause = (pause * 2).min(Duration::from_millis(100));
            }
        }
    }

    fn sessions(&self) -> SessionIds {
        let store = self.clone();
        let listed = async move {
            let rows = store.inner.read(|conn| {
                let rows = all(conn)?;
                let counted = "SELECT sessions FROM store WHERE only_row = 0";
                let counted: Option<i64> =
                    crate::desk::row(conn, "store", counted, [], |row| row.get(0))?;
                Ok((counted == i64::try_from(rows.len()).ok(), rows))
            });
            let (whole, rows) = match rows.await {
                Ok(rows) => rows.unwrap_or((true, Vec::new())),
                Err(error) => return vec![Err(error)],
            };
            let lost = || {
                let place = sessionlog_core::Place::file("session");
                Err(Error::corrupt(
                    place,
                    "sessions are lost, or their names are damaged",
                ))
            };
            let nameless = rows.iter().any(|stored| stored.id.is_none());
            let names = rows.into_iter().filter_map(|stored| stored.id).map(Ok);
            names.chain((!whole || nameless).then(lost)).collect()
        };
        stream::once(listed).flat_map(stream::iter).boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let life = session.clone();
        let store = self.clone();
        let job = move |work: &mut crate::desk::Work<'_>| {
            let known = work.life(&life)?;
            fence(token, known.row.token)?;
            if token.is_none()
                && let Some(holder) = lease::held(&store.inner.site, &known.row)?
            {
                return Err(held_error(holder, None));
            }
            let number = known.row.number;
            let (from, to) = event::keys(number, &SeqNum::all());
            work.change(
                "event",
                "DELETE FROM event WHERE key >= ?1 AND key < ?2",
                [from, to],
            )?;
            work.change(
                "snapshot",
                "DELETE FROM snapshot WHERE session = ?1",
                [number],
            )?;
            work.change("kept", "DELETE FROM kept WHERE session = ?1", [number])?;
            crate::blob::delete_all(work, number)?;
            known.row.delete(work)?;
            work.erased = true;
            work.remove.push(store.inner.site.lease(number));
            Ok(())
        };
        self.inner.write(session, job).await
    }
}

/// A range that is being read: each chunk is a view of its own, so that no view is held while nobody
/// reads, and the write-ahead log can be taken into the database.
struct Slice {
    store: Sqlite,
    session: SessionRef,
    range: Range<SeqNum>,
    /// The range ends where the log did when the reading began.
    bounded: bool,
    /// How long the next chunk may be.
    most: usize,
    kinds: Kinds,
}

impl Slice {
    async fn next(&mut self) -> Result<Vec<sessionlog_core::Event>> {
        let Self {
            store,
            session,
            range,
            bounded,
            most,
            kinds,
        } = self;
        let read = |conn: &rusqlite::Connection| {
            let row = match SessionRow::find(conn, &session.id)? {
                Some(row) if row.session == *session => row,
                _ => return Err(session.gone()),
            };
            if !*bounded {
                range.end = range.end.min(event::head(conn, &row)?.tail);
                *bounded = true;
            }
            if range.start >= range.end {
                return Ok(Vec::new());
            }
            event::chunk(conn, &row, range, *most, kinds)
        };
        let events = store.inner.read(read).await?;
        let events = events.ok_or_else(|| session.gone())?;
        *most = (*most * 2).min(event::LARGEST_CHUNK);
        if let Some(last) = events.last() {
            range.start = last.seq.plus(1);
        }
        Ok(events)
    }
}
