//! Artifacts: rows of pieces, named by their content.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use rusqlite::{Connection, params};
use sessionlog_core::{
    BlobHasher, BlobId, BlobInfo, BlobStore, Error, FencingToken, Pieces, Place, Result,
    SessionRef, fence,
};
use sessionlog_local::files::wide;

use crate::desk::{Work, row};
use crate::fault::failed;
use crate::schema::{PIECE, piece_key};
use crate::session::SessionRow;
use crate::spool::Spool;
use crate::store::Sqlite;

const TABLE: &str = "blob";
const PIECES: &str = "piece";

/// A blob as it is listed.
#[derive(Clone, Copy)]
pub(crate) struct BlobRow {
    pub(crate) number: i64,
    pub(crate) info: BlobInfo,
}

/// The blobs of a session; an error for each that is not what was written.
pub(crate) fn listed(conn: &Connection, of: &SessionRow) -> Result<Vec<Result<BlobRow>>> {
    let sql = "SELECT number, id, len FROM blob WHERE session = ?1";
    let mut statement = conn.prepare_cached(sql).map_err(failed("list", TABLE))?;
    let mut rows = statement
        .query([of.number])
        .map_err(failed("list", TABLE))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed("list", TABLE))? {
        let read = || {
            let id = row.get_ref(1).ok()?.as_blob().ok()?;
            let info = BlobInfo::new(id_of(id)?, u64::try_from(row.get::<_, i64>(2).ok()?).ok()?);
            let number = row.get(0).ok()?;
            Some(BlobRow { number, info })
        };
        found.push(read().ok_or_else(|| damaged(of, "a blob's row is not what was written")));
    }
    Ok(found)
}

/// The name in its 32 bytes.
fn id_of(bytes: &[u8]) -> Option<BlobId> {
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    text.parse().ok()
}

fn bytes_of(id: BlobId) -> Vec<u8> {
    let text = id.to_string();
    let pairs = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(|pair| byte(pair).unwrap_or_default()).collect()
}

fn damaged(of: &SessionRow, why: &str) -> Error {
    Error::corrupt(Place::file(TABLE).with_session(&of.session.id), why)
}

fn find(conn: &Connection, of: &SessionRow, id: BlobId) -> Result<Option<BlobRow>> {
    let sql = "SELECT number, len FROM blob WHERE session = ?1 AND id = ?2";
    let found = row(conn, TABLE, sql, params![of.number, bytes_of(id)], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?))
    })?;
    let blob = |(number, len): (i64, i64)| {
        let len = u64::try_from(len).map_err(|_| damaged(of, "a blob has a length below zero"))?;
        let info = BlobInfo::new(id, len);
        Ok(BlobRow { number, info })
    };
    found.map(blob).transpose()
}

/// One piece, which has the length that it must have.
pub(crate) fn piece(conn: &Connection, of: &SessionRow, blob: &BlobRow, n: u64) -> Result<Bytes> {
    let sql = "SELECT data FROM piece WHERE key = ?1";
    let key = piece_key(blob.number, n);
    let found = row(conn, PIECES, sql, [key], |row| {
        Ok(Bytes::copy_from_slice(row.get_ref(0)?.as_blob()?))
    })?;
    let expected = wide(PIECE).min(blob.info.len.saturating_sub(n * wide(PIECE)));
    match found {
        Some(data) if wide(data.len()) == expected => Ok(data),
        _ => Err(damaged(
            of,
            &format!(
                "a piece of a blob is lost or cut: piece {n} of {}",
                blob.info.id
            ),
        )),
    }
}

/// Removes the blobs of a session, in the transaction that deletes it.
pub(crate) fn delete_all(work: &mut Work<'_>, number: i64) -> Result<()> {
    let pieces = "DELETE FROM piece WHERE key IN (SELECT piece.key FROM blob JOIN piece \
                  ON piece.key >= blob.number << 24 AND piece.key < (blob.number + 1) << 24 \
                  WHERE blob.session = ?1)";
    work.change(PIECES, pieces, [number])?;
    work.change(TABLE, "DELETE FROM blob WHERE session = ?1", [number])?;
    Ok(())
}

#[async_trait]
impl BlobStore for Sqlite {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        // Who may not write learns it before the content is read.
        fence(token, self.life(session).await?.0.token)?;
        let spool = Spool::fill(&self.inner.site, content).await?;
        let life = session.clone();
        let job = move |work: &mut Work<'_>| {
            let known = work.life(&life)?;
            let row = known.row.clone();
            work.keep(life, known);
            fence(token, row.token)?;
            if find(work.conn(), &row, spool.info.id)?.is_some() {
                return Ok(spool.info);
            }
            let len = i64::try_from(spool.info.len)
                .map_err(|_| Error::invalid("no blob can be as long as that"))?;
            let sql = "INSERT INTO blob (session, id, len) VALUES (?1, ?2, ?3)";
            let id = bytes_of(spool.info.id);
            work.change_one(TABLE, sql, params![row.number, id, len])?;
            let number = work.conn().last_insert_rowid();
            spool.pieces(|n, piece| {
                let sql = "INSERT INTO piece (key, data) VALUES (?1, ?2)";
                work.change_one(PIECES, sql, params![piece_key(number, n), piece])
            })?;
            Ok(spool.info)
        };
        self.inner.write(session, job).await
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let get = Get {
            store: self.clone(),
            session: session.clone(),
            id,
            hasher: (range.start == 0).then(BlobHasher::default),
            range,
            blob: None,
        };
        stream::unfold(Some(get), |get| async move {
            let mut get = get?;
            match get.next().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(get))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let (store, session) = (self.clone(), session.clone());
        let all = async move {
            let all = store
                .inner
                .read(|conn| match SessionRow::find(conn, &session.id)? {
                    Some(row) if row.session == session => listed(conn, &row),
                    _ => Err(session.gone()),
                });
            match all.await {
                Ok(Some(all)) => all.into_iter().map(|b| b.map(|b| b.info)).collect(),
                Ok(None) => vec![Err(session.gone())],
                Err(error) => vec![Err(error)],
            }
        };
        stream::once(all).flat_map(stream::iter).boxed()
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let life = session.clone();
        let job = move |work: &mut Work<'_>| {
            let known = work.life(&life)?;
            let row = known.row.clone();
            work.keep(life, known);
            fence(token, row.token)?;
            if let Some(blob) = find(work.conn(), &row, id)? {
                let sql = "DELETE FROM piece WHERE key >= ?1 AND key < ?2";
                let (from, to) = (piece_key(blob.number, 0), piece_key(blob.number + 1, 0));
                work.change(PIECES, sql, [from, to])?;
                let sql = "DELETE FROM blob WHERE number = ?1";
                work.change_one(TABLE, sql, [blob.number])?;
                work.erased = true;
            }
            Ok(())
        };
        self.inner.write(session, job).await
    }
}

/// A blob that is being read, a piece and a view at a time.
struct Get {
    store: Sqlite,
    session: SessionRef,
    id: BlobId,
    range: Range<u64>,
    blob: Option<BlobRow>,
    /// Present while everything from the first byte on was read.
    hasher: Option<BlobHasher>,
}

impl Get {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let (session, id, known) = (&self.session, self.id, self.blob);
        let start = self.range.start;
        let end = self.range.end;
        let found = self.store.inner.read(|conn| {
            let row = match SessionRow::find(conn, &session.id)? {
                Some(row) if row.session == *session => row,
                _ => return Err(session.gone()),
            };
            let gone = || Error::not_found(format!("there is no such blob: {id}"));
            let blob = find(conn, &row, id)?.ok_or_else(gone)?;
            if known.is_some_and(|known| known.number != blob.number) {
                return Err(gone());
            }
            let more = start < end.min(blob.info.len);
            let piece = more.then(|| piece(conn, &row, &blob, start / wide(PIECE)));
            Ok((row, blob, piece.transpose()?))
        });
        let (row, blob, piece) = found.await?.ok_or_else(|| session.gone())?;
        self.blob = Some(blob);
        let Some(piece) = piece else {
            return self.finish(&row, &blob);
        };
        let at = start / wide(PIECE) * wide(PIECE);
        let cut =
            |n: u64| usize::try_from(n.saturating_sub(at)).map_or(PIECE, |n| n.min(piece.len()));
        let piece = piece.slice(cut(start)..cut(end));
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&piece);
        }
        self.range.start = start + wide(piece.len());
        Ok(Some(piece))
    }

    /// The end of the stream: a blob that was read as a whole is the one of its name.
    fn finish(&mut self, of: &SessionRow, blob: &BlobRow) -> Result<Option<Bytes>> {
        let hasher = self.hasher.take();
        let hasher = hasher.filter(|_| self.range.start >= blob.info.len);
        match hasher.map(BlobHasher::finish) {
            Some(found) if found != self.id => Err(damaged(
                of,
                &format!("the content of a blob does not match its name: {}", self.id),
            )),
            _ => Ok(None),
        }
    }
}
