//! The table of sessions: each row has a checksum, and the rows are counted.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use sessionlog_core::{
    Error, FencingToken, Holder, Incarnation, Owner, Place, Result, SessionId, SessionRef, Sum,
    Timestamp,
};

use crate::desk::{Work, row};
use crate::fault::failed;
use crate::schema::event_key;

/// The name of the table, in messages.
const TABLE: &str = "session";

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub(crate) number: i64,
    pub(crate) session: SessionRef,
    /// The log has an event.
    pub(crate) begun: bool,
    pub(crate) token: FencingToken,
    pub(crate) owner: String,
    pub(crate) since: i64,
}

/// A row as it is, whole or not.
pub(crate) struct Stored {
    pub(crate) number: i64,
    pub(crate) id: Option<SessionId>,
    /// `None` if the row does not match its checksum.
    pub(crate) row: Option<SessionRow>,
}

impl SessionRow {
    const COLUMNS: &str = "number, id, incarnation, begun, token, owner, since, sum";

    pub(crate) fn new(session: SessionRef, number: i64) -> Self {
        Self {
            number,
            session,
            begun: false,
            token: FencingToken::NONE,
            owner: String::new(),
            since: 0,
        }
    }

    fn sum(&self) -> i64 {
        let SessionRef { id, incarnation } = &self.session;
        let text = format!(
            "{} {id} {incarnation} {} {} {} {}",
            self.number,
            u8::from(self.begun),
            self.token,
            self.since,
            self.owner
        );
        Sum::from_u64(0)
            .then(text.as_bytes())
            .as_u64()
            .cast_signed()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        let number = row.get(0)?;
        let id = row.get_ref(1)?.as_str().ok();
        let id = id.and_then(|id| SessionId::new(id).ok());
        Ok(Stored {
            number,
            row: id.clone().and_then(|id| Self::decode(row, number, id)),
            id,
        })
    }

    fn decode(row: &Row<'_>, number: i64, id: SessionId) -> Option<Self> {
        let (row, sum) = Self::fields(row, number, id)?;
        (row.sum() == sum).then_some(row)
    }

    /// What a row says, and the checksum that it has.
    fn fields(row: &Row<'_>, number: i64, id: SessionId) -> Option<(Self, i64)> {
        let incarnation = row.get_ref(2).ok()?.as_blob().ok()?.try_into().ok()?;
        let fields = Self {
            number,
            session: SessionRef {
                id,
                incarnation: Incarnation::from_bytes(incarnation),
            },
            begun: row.get_ref(3).ok()? == ValueRef::Integer(1),
            token: FencingToken::new(u64::try_from(row.get_ref(4).ok()?.as_i64().ok()?).ok()?),
            owner: row.get_ref(5).ok()?.as_str().ok()?.to_owned(),
            since: row.get_ref(6).ok()?.as_i64().ok()?,
        };
        Some((fields, row.get_ref(7).ok()?.as_i64().ok()?))
    }

    /// The present life of an id. `None` if the index has no such id; [`census`] tells whether that can
    /// be believed.
    pub(crate) fn find(conn: &Connection, id: &SessionId) -> Result<Option<Self>> {
        let sql = select("WHERE id = ?1");
        let Some(stored) = row(conn, TABLE, &sql, [id.as_str()], Self::read)? else {
            return Ok(None);
        };
        match stored.row {
            Some(row) if row.session.id == *id => Ok(Some(row)),
            _ => Err(Error::corrupt(
                Place::file(TABLE).with_session(id),
                "the session's row does not match its checksum",
            )),
        }
    }

    /// Makes a row, which must not be there yet.
    pub(crate) fn insert(work: &mut Work<'_>, session: SessionRef) -> Result<Self> {
        // The number comes from the insert, and the checksum needs the number.
        let sql = "INSERT INTO session (id, incarnation, begun, token, owner, since, sum) \
                   VALUES (?1, ?2, 0, 0, '', 0, 0)";
        let key = session.incarnation.as_bytes();
        work.change_one(TABLE, sql, params![session.id.as_str(), key])?;
        let row = Self::new(session, work.conn().last_insert_rowid());
        row.update(work)?;
        count(work, 1)?;
        Ok(row)
    }

    /// Puts a row into a database that is being built, unless one with its number or name is there.
    pub(crate) fn restore(mut self, conn: &Connection) -> rusqlite::Result<()> {
        let (from, to) = (event_key(self.number, 0), event_key(self.number + 1, 0));
        let sql = "SELECT EXISTS (SELECT 1 FROM event WHERE key >= ?1 AND key < ?2)";
        self.begun = conn.query_row(sql, [from, to], |row| row.get(0))?;
        let sql = "INSERT OR IGNORE INTO session VALUES (?1, ?2, ?3, ?4, 0, '', 0, ?5)";
        let SessionRef { id, incarnation } = &self.session;
        let (id, life) = (id.as_str(), incarnation.as_bytes());
        conn.execute(sql, params![self.number, id, life, self.begun, self.sum()])?;
        Ok(())
    }

    /// What the row of an id says although it does not match its checksum; `None` if it does, or if
    /// too little can be read.
    pub(crate) fn salvage(conn: &Connection, id: &SessionId) -> Result<Option<Self>> {
        let sql = select("WHERE id = ?1");
        let read = |row: &Row<'_>| Ok(Self::fields(row, row.get(0)?, id.clone()));
        let found = row(conn, TABLE, &sql, [id.as_str()], read)?.flatten();
        Ok(found
            .filter(|(row, sum)| row.sum() != *sum)
            .map(|(row, _)| row))
    }

    /// Writes what can change of a row.
    pub(crate) fn update(&self, work: &mut Work<'_>) -> Result<()> {
        let token = i64::try_from(self.token.get())
            .map_err(|_| Error::internal("the session has used up its tokens"))?;
        work.change_one(
            TABLE,
            "UPDATE session SET begun = ?2, token = ?3, owner = ?4, since = ?5, sum = ?6 \
             WHERE number = ?1",
            params![
                self.number,
                self.begun,
                token,
                self.owner,
                self.since,
                self.sum()
            ],
        )
    }

    /// Writes a whole row in the place of the one with its number.
    pub(crate) fn replace(&self, work: &mut Work<'_>) -> Result<()> {
        let sql = "UPDATE session SET id = ?2, incarnation = ?3 WHERE number = ?1";
        let SessionRef { id, incarnation } = &self.session;
        let named = params![self.number, id.as_str(), incarnation.as_bytes()];
        work.change_one(TABLE, sql, named)?;
        self.update(work)
    }

    /// Removes a row.
    pub(crate) fn delete(&self, work: &mut Work<'_>) -> Result<()> {
        let sql = "DELETE FROM session WHERE number = ?1";
        work.change_one(TABLE, sql, [self.number])?;
        count(work, -1)
    }

    /// Who got the newest grant.
    pub(crate) fn holder(&self) -> Result<Holder> {
        let since = Timestamp::from_micros(self.since).unwrap_or(Timestamp::EPOCH);
        Ok(Holder::new(
            Owner::new(self.owner.as_str())?,
            self.token,
            since,
        ))
    }
}

fn select(rest: &str) -> String {
    format!("SELECT {} FROM session {rest}", SessionRow::COLUMNS)
}

fn count(work: &mut Work<'_>, more: i64) -> Result<()> {
    let sql = "UPDATE store SET sessions = sessions + ?1 WHERE only_row = 0";
    work.change_one("store", sql, [more])
}

/// All rows, whole or not, in the order of their making.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Stored>> {
    let sql = select("NOT INDEXED ORDER BY number");
    let mut statement = conn.prepare_cached(&sql).map_err(failed("list", TABLE))?;
    let rows = statement.query_map([], SessionRow::read);
    let mut rows: Vec<Stored> = rows
        .and_then(Iterator::collect)
        .map_err(failed("list", TABLE))?;
    for damaged in rows.iter_mut().filter(|stored| stored.row.is_none()) {
        // The index has a second copy of each name.
        let sql = "SELECT id FROM session INDEXED BY sqlite_autoindex_session_1 \
                   WHERE id > '' AND number = ?1";
        let name = row(conn, TABLE, sql, [damaged.number], |row| row.get(0));
        let name: Option<String> = name.unwrap_or_default();
        if let Some(id) = name.and_then(|name| SessionId::new(&name).ok()) {
            damaged.id = Some(id);
        }
    }
    Ok(rows)
}

/// Checks the table as a whole: no row is lost or damaged, and the index has all of them, in order. The
/// findings, as places and messages.
pub(crate) fn census(conn: &Connection) -> Result<Vec<(Place, String)>> {
    let rows = all(conn)?;
    let mut found = Vec::new();
    for stored in rows.iter().filter(|stored| stored.row.is_none()) {
        let place = match &stored.id {
            Some(id) => Place::file(TABLE).with_session(id),
            None => Place::file(TABLE),
        };
        let message = "a session's row does not match its checksum";
        found.push((place, format!("{message}: number {}", stored.number)));
    }
    let counted = "SELECT sessions FROM store WHERE only_row = 0";
    let counted: Option<i64> = row(conn, "store", counted, [], |row| row.get(0))?;
    if counted != i64::try_from(rows.len()).ok() {
        let message = format!(
            "the store has {} sessions, but counted {counted:?}",
            rows.len()
        );
        found.push((Place::file(TABLE), message));
    }
    let mut listed: Vec<_> = rows
        .iter()
        .filter_map(|stored| Some((stored.id.as_ref()?.as_str().to_owned(), stored.number)))
        .collect();
    listed.sort_unstable();
    let sql = "SELECT id, number FROM session INDEXED BY sqlite_autoindex_session_1 ORDER BY id";
    let mut statement = conn.prepare_cached(sql).map_err(failed("list", TABLE))?;
    let indexed: rusqlite::Result<Vec<(String, i64)>> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .and_then(Iterator::collect);
    if indexed.map_err(failed("list", TABLE))? != listed {
        let message = "the index of sessions does not match the sessions";
        found.push((Place::file(TABLE), message.into()));
    }
    Ok(found)
}

/// The error of a session that is not there, if it can be believed that it is not.
pub(crate) fn missing(conn: &Connection, id: &SessionId) -> Result<Error> {
    match census(conn)?.into_iter().next() {
        Some((place, message)) => Err(Error::corrupt(
            place,
            format!("it can't be told whether the session is there: {id}: {message}"),
        )),
        None => Ok(Error::not_found(format!("there is no such session: {id}"))),
    }
}
