//! The log.

use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use futures_timer::Delay;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use redb::{ReadTransaction, ReadableTable};
use sessionlog_core::{
    Admission, AppendCondition, Chunks, Error, ErrorKind, Event, EventLog, FencingToken, Head,
    Kinds, NewEvent, Place, Result, SeqNum, SessionId, SessionIds, SessionRef, fence, held_error,
};

use crate::Redb;
use crate::failure::{FILE, failed};
use crate::format::{EVENTS, Row, SESSIONS};
use crate::rows::{Rows, ascending, damaged_row, disorder};
use crate::store::Done;
use crate::write::Write;

/// Names listed with one look at the store.
const NAMES: usize = 4096;

#[async_trait]
impl EventLog for Redb {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.shared.engine.file.make()?;
        let life = session.clone();
        self.write(session, move |write| create(write, &life))
            .await?;
        Ok(())
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let row = self.row(id)?;
        Ok((row.of(id), row.head))
    }

    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let rows = self.shared.engine.read(|txn| {
            let what = "read sessions";
            let table = txn.open_table(SESSIONS).map_err(failed(what))?;
            let row = |id: &SessionId| {
                let row = table.get(id.as_str().as_bytes()).ok()??;
                Row::decode(id, row.value())
            };
            Ok(ids.iter().map(row).collect::<Vec<_>>())
        });
        let rows = rows.ok().flatten().unwrap_or_default().into_iter();
        let mut heads = Vec::with_capacity(ids.len());
        for (id, row) in ids.iter().zip(rows.chain(std::iter::repeat(None))) {
            heads.push(match row {
                Some(row) => Ok((row.of(id), row.head)),
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
        let life = session.clone();
        let job = move |write: &mut Write<'_>| append(write, &life, events, condition);
        match self.write(session, job).await? {
            Done::Range(range) => Ok(range),
            _ => Err(Error::internal("an append without a range")),
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let reading = Reading {
            store: self.clone(),
            session: session.clone(),
            next: range.start,
            end: range.end,
            bounded: false,
            kinds: Kinds::default(),
        };
        stream::unfold(Some(reading), |reading| async move {
            let mut reading = reading?;
            match reading.chunk() {
                Ok(chunk) if chunk.is_empty() => None,
                Ok(chunk) => Some((Ok(chunk), Some(reading))),
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        // Appends of this handle ring; those of others are looked for, ever less often.
        let mut pause = Duration::from_millis(2);
        loop {
            let rung = self.shared.bell.listen();
            if self.life(session)?.head.tail > tail {
                return Ok(());
            }
            match select(rung, Delay::new(pause)).await {
                Either::Left(_) => pause = Duration::from_millis(2),
                Either::Right(_) => pause = (pause * 2).min(Duration::from_millis(100)),
            }
        }
    }

    fn sessions(&self) -> SessionIds {
        let store = self.clone();
        stream::unfold(Some(Vec::new()), move |after| {
            let listed = after.map(|after| store.names(&after));
            async move {
                match listed? {
                    Ok(names) if names.is_empty() => None,
                    Ok(names) => {
                        let last = names.last().cloned();
                        let ids = names.into_iter().map(|name| name_of(&name));
                        Some((stream::iter(ids.collect::<Vec<_>>()), last))
                    }
                    Err(error) => Some((stream::iter(vec![Err(error)]), None)),
                }
            }
        })
        .flatten()
        .boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let life = session.clone();
        let done = self
            .write(session, move |write| delete(write, &life, token))
            .await?;
        if let Done::Deleted(number, token) = done {
            self.shared
                .locks
                .clear(&crate::locks::of_lease(number, token));
        }
        Ok(())
    }
}

/// A read that goes on chunk by chunk, each on the newest state: none keeps pages from being used
/// again for longer than it takes to copy them.
struct Reading {
    store: Redb,
    session: SessionRef,
    next: SeqNum,
    end: SeqNum,
    bounded: bool,
    kinds: Kinds,
}

impl Reading {
    fn chunk(&mut self) -> Result<Vec<Event>> {
        let Self { session, next, .. } = self;
        let (mut end, bounded) = (self.end, self.bounded);
        let rows = self.store.shared.engine.read(|txn| {
            let row = life_in(txn, session)?;
            if !bounded {
                end = end.min(row.head.tail);
            }
            let events = txn.open_table(EVENTS).map_err(failed("read events"))?;
            Rows::collect(&events, row.number, *next..end)
        })?;
        self.end = end;
        self.bounded = true;
        let rows = rows.ok_or_else(|| self.session.gone())?;
        if rows.is_empty() && self.next < self.end {
            let place = Place::file(FILE)
                .with_session(&self.session.id)
                .with_seq(self.next);
            return Err(Error::corrupt(place, "the log ends before its tail"));
        }
        if !rows.is_empty() {
            self.next = rows.end();
        }
        let mut events = Vec::with_capacity(rows.len());
        for event in rows.decode(&mut self.kinds) {
            events.push(event.map_err(|seq| no_event(&self.session.id, seq))?);
        }
        Ok(events)
    }
}

/// The error for a row that is no event.
pub(crate) fn no_event(id: &SessionId, seq: SeqNum) -> Error {
    let place = Place::file(FILE).with_session(id).with_seq(seq);
    Error::corrupt(place, "the event does not have the form of one")
}

/// The row of a session, as a read sees it; `None` if there is none.
pub(crate) fn row_in(txn: &ReadTransaction, id: &SessionId) -> Result<Option<Row>> {
    let what = "read the session";
    let table = txn.open_table(SESSIONS).map_err(failed(what))?;
    match table.get(id.as_str().as_bytes()).map_err(failed(what))? {
        Some(row) => match Row::decode(id, row.value()) {
            Some(row) => Ok(Some(row)),
            None => Err(damaged_row(id)),
        },
        None => Ok(None),
    }
}

/// The row of one life of a session, as a read sees it.
pub(crate) fn life_in(txn: &ReadTransaction, session: &SessionRef) -> Result<Row> {
    row_in(txn, &session.id)?
        .filter(|row| row.incarnation == session.incarnation)
        .ok_or_else(|| session.gone())
}

impl Redb {
    /// The row of a session.
    pub(crate) fn row(&self, id: &SessionId) -> Result<Row> {
        let row = self.shared.engine.read(|txn| {
            let row = row_in(txn, id)?;
            if row.is_none() {
                missing(txn, id)?;
            }
            Ok(row)
        })?;
        row.flatten()
            .ok_or_else(|| Error::not_found(format!("there is no such session: {id}")))
    }

    /// The row of one life of a session.
    pub(crate) fn life(&self, session: &SessionRef) -> Result<Row> {
        let row = self.shared.engine.read(|txn| life_in(txn, session))?;
        row.ok_or_else(|| session.gone())
    }

    /// Some names of sessions behind a name.
    fn names(&self, after: &[u8]) -> Result<Vec<Vec<u8>>> {
        let names = self.shared.engine.read(|txn| {
            let what = "list sessions";
            let table = txn.open_table(SESSIONS).map_err(failed(what))?;
            let behind = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
            let entries = table.range::<&[u8]>(behind).map_err(failed(what))?;
            ascending(entries, what)
                .take(NAMES)
                .map(|entry| match entry?.0.value() {
                    name if name > after => Ok(name.to_vec()),
                    _ => Err(disorder(what)),
                })
                .collect()
        })?;
        Ok(names.unwrap_or_default())
    }
}

fn name_of(name: &[u8]) -> Result<SessionId> {
    std::str::from_utf8(name)
        .ok()
        .and_then(|name| SessionId::new(name).ok())
        .ok_or_else(|| {
            Error::corrupt(
                Place::file(FILE),
                format!(
                    "a session has a name that can't be one: {}",
                    String::from_utf8_lossy(name)
                ),
            )
        })
}

/// Makes sure that a session that was not found is not merely out of its place: a changed bit in a
/// page can hide a row from a search.
fn missing(txn: &ReadTransaction, id: &SessionId) -> Result<()> {
    let what = "look for the session";
    let table = txn.open_table(SESSIONS).map_err(failed(what))?;
    for entry in ascending(table.iter().map_err(failed(what))?, what) {
        let (name, row) = entry?;
        // A row proves whose it is, whatever its key is by now.
        if name.value() == id.as_str().as_bytes() || Row::decode(id, row.value()).is_some() {
            return Err(damaged_row(id));
        }
    }
    Ok(())
}

fn create(write: &mut Write<'_>, session: &SessionRef) -> Result<Done> {
    let key = session.id.as_str().as_bytes();
    let what = "read the session";
    let present = write.sessions.get(key).map_err(failed(what))?;
    let present = present.map(|row| Row::decode(&session.id, row.value()));
    if let Some(row) = present {
        let tail = row.ok_or_else(|| damaged_row(&session.id))?.head.tail;
        return Err(Error::new(
            ErrorKind::Conflict { tail },
            format!("the session is there already, open it: {}", session.id),
        ));
    }
    let number = write.next_number()?;
    write.put_row(session, &Row::new(session, number))?;
    Ok(Done::Nothing)
}

fn append(
    write: &mut Write<'_>,
    session: &SessionRef,
    events: Vec<NewEvent>,
    condition: AppendCondition,
) -> Result<Done> {
    let mut row = write.life(session)?;
    let mut ledger = write.ledger(session, &row)?;
    let stored = match ledger.wanted(&events) {
        Some(wanted) => write.find(session, &row, &wanted)?,
        None => Vec::new(),
    };
    let limits = write.limits;
    let admitted = ledger.admit(events, condition, &limits, row.token, &stored);
    let range = match admitted {
        Ok(Admission::Write(sealed)) => {
            if !sealed.is_empty() {
                write.put_events(row.number, &sealed)?;
            }
            let start = row.head.tail;
            row.head = ledger.head();
            if !sealed.is_empty() {
                write.put_row(session, &row)?;
            }
            Ok(start..row.head.tail)
        }
        Ok(Admission::Repeat(range)) => {
            // What is acknowledged twice is made durable twice: the first commit may have failed
            // after it became visible.
            write.put_row(session, &row)?;
            Ok(range)
        }
        Err(error) => Err(error),
    };
    write.keep(session, &row, ledger);
    range.map(Done::Range)
}

fn delete(
    write: &mut Write<'_>,
    session: &SessionRef,
    token: Option<FencingToken>,
) -> Result<Done> {
    let row = write.life(session)?;
    fence(token, row.token)?;
    if token.is_none()
        && let Some(holder) = crate::lease::held(write, &row)?
    {
        return Err(held_error(holder, None));
    }
    let number = row.number;
    crate::blob::remove_all(write, number)?;
    crate::snapshot::remove_all(write, session)?;
    let outcome = (|| {
        let whole = (number, 0)..=(number, u64::MAX);
        write.events.retain_in(whole.clone(), |_, _| false)?;
        let mut kept = write.txn.open_table(crate::format::KEPT)?;
        kept.retain_in(whole, |_, _| false)?;
        write
            .txn
            .open_table(crate::format::LEASES)?
            .remove(number)?;
        write.sessions.remove(session.id.as_str().as_bytes())?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    Ok(Done::Deleted(number, row.token))
}
