//! Mending a log whose rows are damaged.

use rusqlite::{OptionalExtension, params};
use serde_json::json;
use sessionlog_core::{
    Data, Error, Event, Head, Kind, Kinds, NewEvent, Repair, Result, SeqNum, held_error,
};

use crate::desk::Work;
use crate::event::{self, TABLE};
use crate::fault::failed;
use crate::lease;
use crate::schema::event_key;
use crate::session::SessionRow;
use crate::store::Sqlite;
use crate::survey::{Flaw, Survey};

const LOST: Kind = Kind::from_static("repair.lost");

/// Mends a session, in one transaction.
pub(crate) async fn apply(store: &Sqlite, row: &SessionRow) -> Result<Repair> {
    let session = row.session.clone();
    let site = store.clone();
    let job = move |work: &mut Work<'_>| {
        let row = match SessionRow::find(work.conn(), &session.id)? {
            Some(row) if row.session == session => row,
            _ => return Err(session.gone()),
        };
        if let Some(holder) = lease::held(&site.inner.site, &row)? {
            return Err(held_error(holder, None));
        }
        mend(work, row)
    };
    store.inner.write(&row.session, job).await
}

fn mend(work: &mut Work<'_>, mut row: SessionRow) -> Result<Repair> {
    let survey = Survey::within(work.conn(), &row)?;
    if survey.flaws.values().any(|flaw| *flaw == Flaw::Unreadable) {
        return Err(Error::unsupported(
            "whole pages of the database are damaged, which can't be mended in place: copy the \
             sessions that can be read into a new store",
        ));
    }
    let mut repair = survey.plan();
    let first = survey.flaws.keys().next().copied().unwrap_or(survey.tail);
    let mut head = Head::genesis(&row.session.id, row.session.incarnation);
    if first > SeqNum::ZERO {
        let before = first.minus(1)..first;
        let found = event::chunk(work.conn(), &row, &before, 1, &mut Kinds::default())?;
        head = found.first().map_or(head, Head::after);
    }
    for seq in (first.get()..survey.tail.get()).map(SeqNum::new) {
        let flaw = survey.flaws.get(&seq);
        let last = seq.plus(1) == survey.tail;
        let event = match flaw {
            Some(flaw) if flaw.is_loss() => {
                let kept = keep(work, &row, seq, flaw)?;
                repair.kept.extend(kept.map(|n| format!("kept/{n}")));
                placeholder(flaw, kept)?
            }
            _ => stored(work, &row, seq)?.into_new(),
        };
        let sealed = head.seal(event);
        let key = event_key(row.number, seq.get());
        work.change(TABLE, "DELETE FROM event WHERE key = ?1", [key])?;
        event::insert(work, row.number, &sealed, last)?;
    }
    if first == survey.tail && first > SeqNum::ZERO {
        let key = event_key(row.number, first.minus(1).get());
        work.change_one(TABLE, "UPDATE event SET last = 1 WHERE key = ?1", [key])?;
    }
    row.begun = survey.tail > SeqNum::ZERO;
    row.update(work)?;
    repair
        .steps
        .push(format!("give the events from {first} on new checksums"));
    Ok(repair)
}

fn stored(work: &Work<'_>, row: &SessionRow, seq: SeqNum) -> Result<Event> {
    let range = seq..seq.plus(1);
    let found = event::chunk(work.conn(), row, &range, 1, &mut Kinds::default())?.pop();
    found.ok_or_else(|| event::damaged(row, seq, "the event is gone while it was mended"))
}

/// Keeps a row as it is. `None` if there is none.
fn keep(work: &mut Work<'_>, row: &SessionRow, seq: SeqNum, flaw: &Flaw) -> Result<Option<i64>> {
    let sql = "INSERT INTO kept (session, seq, reason, id, at, kind, top, sum, data) \
               SELECT ?1, ?2, ?3, id, at, kind, top, sum, data FROM event WHERE key = ?4";
    let at = i64::try_from(seq.get()).unwrap_or(i64::MAX);
    let key = event_key(row.number, seq.get());
    match work.change("kept", sql, params![row.number, at, flaw.words(), key])? {
        0 => Ok(None),
        _ => work
            .conn()
            .query_row("SELECT last_insert_rowid()", [], |row| row.get(0))
            .optional()
            .map_err(failed("keep", "kept")),
    }
}

fn placeholder(flaw: &Flaw, kept: Option<i64>) -> Result<NewEvent> {
    let data = json!({ "reason": flaw.words(), "kept": kept });
    Ok(NewEvent::new(LOST, Data::from_value(&data)?))
}
