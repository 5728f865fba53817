//! Mending a session whose rows are damaged.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;
use sessionlog_core::{
    Data, Error, Event, Head, Kind, Kinds, NewEvent, Repair, Result, SeqNum, SessionId, SessionRef,
    held_error,
};

use crate::desk::Work;
use crate::event::{self, TABLE};
use crate::fault::failed;
use crate::lease;
use crate::rebuild::rebuild;
use crate::schema::event_key;
use crate::session::{SessionRow, missing};
use crate::store::Sqlite;
use crate::survey::{Flaw, Survey};

const LOST: Kind = Kind::from_static("repair.lost");

/// A session that is to be mended.
struct Broken {
    /// The row as it is.
    row: SessionRow,
    /// The row that takes its place, if it does not match its checksum. Which of its fields is wrong
    /// can't be told, so it is one of a new life: whatever was granted before is void.
    anew: Option<SessionRow>,
}

impl Broken {
    fn find(conn: &Connection, id: &SessionId) -> Result<Self> {
        let damage = match SessionRow::find(conn, id) {
            Ok(Some(row)) => return Ok(Self { row, anew: None }),
            Ok(None) => return Err(missing(conn, id)?),
            Err(error) => error,
        };
        let row = SessionRow::salvage(conn, id)?.ok_or(damage)?;
        let mut anew = SessionRow::new(SessionRef::fresh(id.clone()), row.number);
        anew.begun = row.begun;
        Ok(Self {
            row,
            anew: Some(anew),
        })
    }

    /// What is to be done.
    fn plan(&self, survey: &Survey) -> Repair {
        let mut repair = survey.plan();
        if self.anew.is_some() {
            repair.steps.push(
                "write the row of the session anew, as that of a new life: open handles on it end"
                    .into(),
            );
        }
        repair
    }
}

/// Mends a session, or says what it would do.
pub(crate) async fn repair(store: &Sqlite, id: &SessionId, apply: bool) -> Result<Repair> {
    let planned = match plan(store, id).await {
        Ok(planned) => planned,
        Err(error) if error.is_corrupt() => (Repair::default(), true),
        Err(error) => return Err(error),
    };
    let (mut repair, mut unreadable) = planned;
    let mut rebuilt = None;
    if apply && !unreadable {
        match mend_session(store, id).await {
            // Its rows can be read, but the pages around them can't be changed.
            Err(error) if error.is_corrupt() => unreadable = true,
            mended => return mended,
        }
    }
    if apply && unreadable {
        rebuilt = Some(rebuild(store).await?);
        repair = mend_session(store, id).await?;
    }
    if unreadable {
        let build = "build the database anew from all rows that can be read, for all sessions, and \
                     keep the old one beside it";
        repair.steps.insert(0, build.into());
    }
    repair.kept.extend(rebuilt);
    Ok(repair)
}

/// What is to be done, and whether pages of the database have to be replaced for it.
async fn plan(store: &Sqlite, id: &SessionId) -> Result<(Repair, bool)> {
    let none = || Error::not_found(format!("there is no such session: {id}"));
    let broken = store.inner.read(|conn| Broken::find(conn, id)).await?;
    let broken = broken.ok_or_else(none)?;
    let survey = Survey::of(store, &broken.row).await?;
    // What is written among damaged pages may be lost, or destroy more.
    let unreadable = survey.is_unreadable() || !store.inner.read(is_sound).await?.unwrap_or(true);
    Ok((broken.plan(&survey), unreadable))
}

/// Whether the pages of the database are what they should be. Reads all of them.
fn is_sound(conn: &Connection) -> Result<bool> {
    let found = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match found.map_err(failed("check", "the database")) {
        Ok(found) => Ok(found == "ok"),
        Err(error) if error.is_corrupt() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Mends a session, in one transaction.
async fn mend_session(store: &Sqlite, id: &SessionId) -> Result<Repair> {
    let (site, name) = (store.clone(), id.clone());
    let job = move |work: &mut Work<'_>| {
        let broken = Broken::find(work.conn(), &name)?;
        match &broken.anew {
            None => {
                if let Some(holder) = lease::held(&site.inner.site, &broken.row)? {
                    return Err(held_error(holder, None));
                }
            }
            Some(_) if lease::any_held(&site.inner.site, &broken.row)? => {
                return Err(Error::unavailable(
                    "somebody drives the session, whose name is damaged: stop them, and try again",
                ));
            }
            Some(_) => {}
        }
        mend(work, broken)
    };
    store.inner.write(&SessionRef::fresh(id.clone()), job).await
}

fn mend(work: &mut Work<'_>, broken: Broken) -> Result<Repair> {
    let survey = Survey::within(work.conn(), &broken.row)?;
    if survey.is_whole() && broken.anew.is_none() {
        return Ok(survey.plan());
    }
    let mut repair = broken.plan(&survey);
    let mut first = survey.flaws.keys().next().copied().unwrap_or(survey.tail);
    if broken.anew.is_some() {
        first = SeqNum::ZERO;
    }
    let mut row = broken.anew.unwrap_or(broken.row);
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
    row.replace(work)?;
    work.forget();
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
