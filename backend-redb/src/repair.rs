//! Mending a session: whatever is whole stays at its position, a note takes the place of the rest.

use redb::{Key, ReadTransaction, ReadableTable, TableDefinition, Value};
use sessionlog_core::{
    Data, Error, Event, FencingToken, Head, Kind, Kinds, NewEvent, Repair, Result, SeqNum,
    SessionId, SessionRef, held_error,
};

use crate::Redb;
use crate::failure::failed;
use crate::format::{
    BLOBS, EVENTS, KEPT, LEASES, Row, SNAPSHOTS, UPLOADS, decode_holder, encode_event,
};
use crate::rebuild::rebuild;
use crate::rows::{Rows, ascending, damaged_row, disorder};
use crate::salvage::Salvage;
use crate::store::Done;
use crate::upkeep::{genesis, unmendable};
use crate::write::Write;

const LOST: Kind = Kind::from_static("repair.lost");

/// Mends a session, or says what it would do.
pub(crate) async fn repair(store: &Redb, id: &SessionId, apply: bool) -> Result<Repair> {
    // The life is looked up inside; the name is all that a damaged session can be asked for by.
    if !store.shared.engine.is_there()? {
        return Err(Error::not_found(format!("there is no such session: {id}")));
    }
    let planned = planned(store, id);
    if !apply {
        return match planned {
            Err(error) if error.is_corrupt() => Ok(rebuilding(Repair::default())),
            planned => planned,
        };
    }
    // What a first repair mends before the store is built anew would be missing in the report of the second.
    let mended = match planned {
        Ok(_) => apply_to(store, id).await,
        Err(error) => Err(error),
    };
    match mended {
        Err(error) if error.is_corrupt() => {}
        mended => return mended,
    }
    // Pages of the tree can't be read, or not be changed.
    let kept = rebuild(store).await?;
    let mended = apply_to(store, id).await.map_err(|error| match error.is_not_found() {
        true => Error::not_found(format!(
            "no session {id} is among what can be read; the store was built anew from that, and the old one is kept as {kept}"
        )),
        false => error,
    });
    let mut repair = rebuilding(mended?);
    repair.kept.push(kept);
    Ok(repair)
}

/// What a repair would do, as far as pages can be read.
fn planned(store: &Redb, id: &SessionId) -> Result<Repair> {
    let planned = store.shared.engine.read(|txn| {
        let what = "read the session";
        let sessions = txn
            .open_table(crate::format::SESSIONS)
            .map_err(failed(what))?;
        let leases = txn.open_table(LEASES).map_err(failed(what))?;
        let row = find(&sessions, &leases, id)?;
        let held = store.shared.locks.probe(&row.lock())?;
        if held == sessionlog_local::lock::Probe::Held {
            return Err(row.held_by(&leases)?);
        }
        let events = txn.open_table(EVENTS).map_err(failed("read events"))?;
        let (repair, _) = plan(&events, &row, |_, _, _| Ok(None))?;
        beside(txn)?;
        Ok(repair)
    })?;
    planned.ok_or_else(|| Error::not_found(format!("there is no such session: {id}")))
}

/// Reads the rows that stand beside the logs and are not content. Each may be damaged, which others mend; pages that
/// can't be read nobody else does.
fn beside(txn: &ReadTransaction) -> Result<()> {
    walk(txn, LEASES)?;
    walk(txn, SNAPSHOTS)?;
    walk(txn, BLOBS)?;
    walk(txn, UPLOADS)
}

fn walk<K: Key + 'static, V: Value + 'static>(
    txn: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<()> {
    let what = "read the store";
    let table = txn.open_table(table).map_err(failed(what))?;
    ascending(table.iter().map_err(failed(what))?, what).try_for_each(|row| row.map(drop))
}

async fn apply_to(store: &Redb, id: &SessionId) -> Result<Repair> {
    let session = SessionRef::fresh(id.clone());
    let id = id.clone();
    match store.write(&session, move |write| mend(write, &id)).await? {
        Done::Repaired(repair) => Ok(repair),
        _ => Err(Error::internal("a repair without a report")),
    }
}

/// The report of a repair that replaces the store.
fn rebuilding(mut repair: Repair) -> Repair {
    let build = "build the store anew from all rows that can be read, for all sessions, and keep the \
                 old one beside it";
    repair.steps.insert(0, build.into());
    repair
}

/// A session that is to be mended.
struct Broken {
    session: SessionRef,
    row: Row,
    /// Whether its row is as it was written.
    whole: bool,
}

impl Broken {
    fn lock(&self) -> String {
        crate::locks::of_lease(self.row.number, self.row.token)
    }

    fn held_by(&self, leases: &impl ReadableTable<u64, &'static [u8]>) -> Result<Error> {
        let number = self.row.number;
        let said = leases.get(number).map_err(failed("read the lease"))?;
        Ok(match said.and_then(|s| decode_holder(number, s.value())) {
            Some(holder) => held_error(holder, None),
            None => Error::unavailable("the session is driven by somebody, and who is damaged"),
        })
    }
}

fn find(
    sessions: &impl ReadableTable<&'static [u8], &'static [u8]>,
    leases: &impl ReadableTable<u64, &'static [u8]>,
    id: &SessionId,
) -> Result<Broken> {
    let what = "read the session";
    let said = sessions.get(id.as_str().as_bytes()).map_err(failed(what))?;
    let Some(said) = said else {
        for entry in ascending(sessions.iter().map_err(failed(what))?, what) {
            if Row::decode(id, entry?.1.value()).is_some() {
                return Err(unmendable(id, "its row is out of its place"));
            }
        }
        return Err(Error::not_found(format!("there is no such session: {id}")));
    };
    let whole = Row::decode(id, said.value());
    let mut row = match (&whole, Row::salvage(said.value())) {
        (Some(row), _) => row.clone(),
        (None, Some(row)) => row,
        (None, None) => return Err(damaged_row(id)),
    };
    if whole.is_none() {
        not_of_others(sessions, id, row.number)?;
        // The row that names the last holder has its token as well, under a checksum of its own.
        let said = leases.get(row.number).map_err(failed(what))?;
        let holder = said.and_then(|said| decode_holder(row.number, said.value()));
        row.token = holder.map_or(FencingToken::NONE, |holder| holder.token);
    }
    let incarnation = row.incarnation;
    Ok(Broken {
        session: SessionRef {
            id: id.clone(),
            incarnation,
        },
        whole: whole.is_some(),
        row,
    })
}

/// Refuses a number that a damaged row has in common with another session: it may be that one's, and
/// so may the events.
fn not_of_others(
    sessions: &impl ReadableTable<&'static [u8], &'static [u8]>,
    id: &SessionId,
    number: u64,
) -> Result<()> {
    let what = "read the session";
    for entry in ascending(sessions.iter().map_err(failed(what))?, what) {
        let (name, row) = entry?;
        let other = name.value() != id.as_str().as_bytes();
        if other && Row::salvage(row.value()).is_some_and(|row| row.number == number) {
            return Err(unmendable(id, "its row names the events of another"));
        }
    }
    Ok(())
}

/// Goes through a log. `put` is called for every position from the first loss on, with the event
/// that is to stand there or none, and the row that does; it gives what was put.
///
/// Gives the report and the end of the log.
fn plan(
    events: &impl ReadableTable<(u64, u64), &'static [u8]>,
    broken: &Broken,
    mut put: impl FnMut(SeqNum, Option<Event>, Option<&[u8]>) -> Result<Option<Head>>,
) -> Result<(Repair, Head)> {
    let Broken {
        session,
        row,
        whole,
    } = broken;
    let number = row.number;
    // A tail that can't be trusted says nothing about events that are missing at the end.
    let tail = if *whole {
        row.head.tail
    } else {
        last(events, number)?
    };
    let mut repair = Repair::default();
    let mut salvage = Salvage::new(session);
    let mut kinds = Kinds::default();
    let mut head = genesis(session);
    let mut next = SeqNum::ZERO;
    let mut step = |seq: SeqNum, event: Option<Event>, raw: Option<&[u8]>| -> Result<()> {
        match &event {
            Some(_) => repair.events += 1,
            None => {
                repair.lost += 1;
                let kept = raw.map_or("nothing is left of it", |_| "its row is kept aside");
                repair.steps.push(format!("replace event {seq}, {kept}"));
                if raw.is_some() {
                    repair.kept.push(format!("kept/{seq}"));
                }
            }
        }
        let whole = event.as_ref().filter(|_| repair.lost == 0).map(Head::after);
        head = match whole {
            Some(after) => after,
            None => put(seq, event, raw)?.unwrap_or(head),
        };
        Ok(())
    };
    while next < tail {
        let rows = Rows::collect(events, number, next..tail)?;
        if rows.is_empty() {
            break;
        }
        for (seq, raw) in rows.raw() {
            while next < seq {
                in_place(events, broken, next)?;
                salvage.missing();
                step(next, None, None)?;
                next = next.plus(1);
            }
            let event = salvage.take(seq, &raw, &mut kinds);
            step(seq, event, Some(&raw))?;
            next = seq.plus(1);
        }
    }
    while next < tail {
        in_place(events, broken, next)?;
        step(next, None, None)?;
        next = next.plus(1);
    }
    if !whole {
        repair
            .steps
            .push("write the row of the session anew".into());
    } else if repair.lost == 0 && head != row.head {
        repair.steps.push("put the end of the log right".into());
    }
    Ok((repair, head))
}

/// The position behind the last row, as far as rows follow one another. No loss is so long that a
/// position far behind it is believed: its row has lost its place.
pub(crate) fn last(
    events: &impl ReadableTable<(u64, u64), &'static [u8]>,
    number: u64,
) -> Result<SeqNum> {
    const FAR: u64 = 1 << 20;
    let mut next = SeqNum::ZERO;
    loop {
        let rows = Rows::collect(events, number, next..SeqNum::MAX)?;
        if rows.is_empty() {
            return Ok(next);
        }
        for (seq, _) in rows.raw() {
            if seq.get() - next.get() > FAR {
                return Ok(next);
            }
            next = seq.plus(1);
        }
    }
}

/// Refuses to go on if a row that a walk did not meet is there all the same: then pages are damaged,
/// and what is written among them may be lost as well.
fn in_place(
    events: &impl ReadableTable<(u64, u64), &'static [u8]>,
    broken: &Broken,
    seq: SeqNum,
) -> Result<()> {
    let what = "read events";
    let at = (broken.row.number, seq.get());
    let searched = events.get(at).map_err(failed(what))?.is_some();
    // On damaged pages a row may be found from the one before it, and by no search.
    let beside = Rows::collect(events, broken.row.number, seq.minus(1)..seq.plus(1))?;
    let beside = beside.raw().any(|(met, _)| met == seq);
    if searched || beside {
        return Err(disorder(what));
    }
    Ok(())
}

fn mend(write: &mut Write<'_>, id: &SessionId) -> Result<Done> {
    let leases = write
        .txn
        .open_table(LEASES)
        .map_err(failed("read the lease"))?;
    let broken = find(&write.sessions, &leases, id)?;
    if write.locks.is_held(&broken.lock())? {
        return Err(broken.held_by(&leases)?);
    }
    drop(leases);
    let Broken { session, row, .. } = &broken;
    let mut head: Option<Head> = None;
    let mut changes: Vec<(Event, Option<Vec<u8>>)> = Vec::new();
    let mut before = genesis(session);
    let (repair, end) = plan(&write.events, &broken, |seq, event, raw| {
        let lost = event.is_none();
        let new = match event {
            Some(event) => event.into_new(),
            None => note(seq, raw.is_some())?,
        };
        let mut at = match head {
            Some(head) => head,
            None => previous(&write.events, session, row.number, seq)?,
        };
        let sealed = at.seal(new);
        head = Some(at);
        before = at;
        let kept = raw.filter(|_| lost).map(<[u8]>::to_vec);
        changes.push((sealed, kept));
        Ok(Some(at))
    })?;
    if repair.steps.is_empty() {
        // A page that no read needs may be damaged, and whoever writes would find it: so this is written,
        // too.
        write.put_row(session, row)?;
        return Ok(Done::Repaired(repair));
    }
    let number = row.number;
    let mut buffer = Vec::new();
    let outcome = (|| {
        let mut kept = write.txn.open_table(KEPT)?;
        for (event, raw) in &changes {
            if let Some(raw) = raw {
                kept.insert((number, event.seq.get()), raw.as_slice())?;
            }
            encode_event(&mut buffer, event);
            write
                .events
                .insert((number, event.seq.get()), buffer.as_slice())?;
        }
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    let row = Row {
        head: end,
        ..row.clone()
    };
    let session = session.clone();
    write.put_row(&session, &row)?;
    Ok(Done::Repaired(repair))
}

/// The end of the log before a position whose predecessor is whole.
fn previous(
    events: &impl ReadableTable<(u64, u64), &'static [u8]>,
    session: &SessionRef,
    number: u64,
    seq: SeqNum,
) -> Result<Head> {
    if seq == SeqNum::ZERO {
        return Ok(genesis(session));
    }
    let rows = Rows::collect(events, number, seq.minus(1)..seq)?;
    let event = rows.decode(&mut Kinds::default()).next();
    match event {
        Some(Ok(event)) => Ok(Head::after(&event)),
        _ => Err(Error::internal("the event before the first loss is lost")),
    }
}

/// What stands where an event is lost.
fn note(seq: SeqNum, kept: bool) -> Result<NewEvent> {
    let kept = if kept { seq.to_string() } else { "null".into() };
    let reason = "the event did not match its checksum, or was missing";
    let text = format!("{{\"reason\":\"{reason}\",\"kept\":{kept}}}");
    Ok(NewEvent::new(LOST, Data::from_json(text)?))
}
