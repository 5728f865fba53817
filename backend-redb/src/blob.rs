//! Blobs: rows of content, written as they come and named when they are whole.

mod get;

use std::ops::Range;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, Fuse};
use futures_util::{StreamExt, stream};
use redb::ReadableTable;
use sessionlog_core::{
    BlobHasher, BlobId, BlobInfo, BlobStore, Error, FencingToken, Pieces, Result, SessionRef, fence,
};

use self::get::Getting;
use crate::Redb;
use crate::failure::failed;
use crate::format::{BLOBS, CHUNK, CHUNKS, UPLOADS, id_of, key_of};
use crate::locks::of_upload;
use crate::log::life_in;
use crate::rows::ascending;
use crate::store::Done;
use crate::write::Write;

/// Rows written by one transaction: what is shorter needs one alone.
const ROWS: usize = 16;

#[async_trait]
impl BlobStore for Redb {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let row = self.life(session)?;
        fence(token, row.token)?;
        let mut rows = Cut {
            content: content.fuse(),
            rest: BytesMut::new(),
            hasher: BlobHasher::default(),
            len: 0,
        };
        let mut first = rows.next().await?;
        let mut upload = None;
        let mut index = 0;
        if first.len() == ROWS {
            let life = session.clone();
            let job = move |write: &mut Write<'_>| begin(write, &life, token);
            let Done::Upload(number, lock) = self.write(session, job).await? else {
                return Err(Error::internal("an upload without a number"));
            };
            let upload = upload.insert((number, lock)).0;
            while first.len() == ROWS {
                let (life, full) = (session.clone(), std::mem::take(&mut first));
                let job = move |write: &mut Write<'_>| {
                    fence(token, write.life(&life)?.token)?;
                    put_rows(write, upload, index, &full)
                };
                let written = self.write(session, job).await;
                index += 16;
                match written.and(rows.next().await) {
                    Ok(next) => first = next,
                    Err(error) => {
                        self.give_up(session, upload).await;
                        return Err(error);
                    }
                }
            }
        }
        let info = BlobInfo::new(rows.hasher.finish(), rows.len);
        let life = session.clone();
        let number = upload.as_ref().map(|(number, _)| *number);
        let finished = self
            .write(session, move |write| {
                finish(write, &life, token, info, number, index, &first)
            })
            .await;
        if let Some(number) = number {
            if finished.is_err() {
                self.give_up(session, number).await;
            }
            self.shared.locks.clear(&of_upload(number));
        }
        finished.map(|_| info)
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        Getting::new(self, session, id, range).pieces()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let listed = self.shared.engine.read(|txn| {
            let row = life_in(txn, session)?;
            let what = "list blobs";
            let table = txn.open_table(BLOBS).map_err(failed(what))?;
            let whole = (row.number, &[0; 32])..=(row.number, &[0xff; 32]);
            ascending(table.range(whole).map_err(failed(what))?, what)
                .map(|entry| {
                    let (key, value) = entry?;
                    let id = id_of(key.value().1)
                        .ok_or_else(|| Error::internal("a hash that is no blob id"))?;
                    let (_, len) = value.value();
                    Ok(BlobInfo::new(id, len))
                })
                .collect::<Result<Vec<_>>>()
        });
        let listed = listed.and_then(|listed| listed.ok_or_else(|| session.gone()));
        match listed {
            Ok(blobs) => stream::iter(blobs.into_iter().map(Ok)).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let life = session.clone();
        self.write(session, move |write| remove(write, &life, id, token))
            .await?;
        Ok(())
    }
}

/// Content as it comes, cut into rows.
struct Cut {
    /// Fused: rows are asked for once more behind the last piece.
    content: Fuse<Pieces>,
    rest: BytesMut,
    hasher: BlobHasher,
    len: u64,
}

impl Cut {
    /// The next rows: as many as one transaction takes, or all that are left.
    async fn next(&mut self) -> Result<Vec<Bytes>> {
        let mut rows = Vec::new();
        while rows.len() < ROWS {
            while self.rest.len() < CHUNK {
                let Some(piece) = self.content.next().await else {
                    break;
                };
                let piece = piece?;
                self.hasher.update(&piece);
                self.len += piece.len() as u64;
                self.rest.extend_from_slice(&piece);
            }
            if self.rest.is_empty() {
                break;
            }
            let row = self.rest.split_to(CHUNK.min(self.rest.len()));
            rows.push(row.freeze());
        }
        Ok(rows)
    }
}

impl Redb {
    /// Removes what there is of an upload that failed.
    async fn give_up(&self, session: &SessionRef, upload: u64) {
        // Best effort: the next upload clears what is left.
        let job = move |write: &mut Write<'_>| {
            // A commit that failed may have happened all the same: then a blob has these rows.
            if is_upload(write, upload)? {
                drop_upload(write, upload)?;
            }
            Ok(Done::Nothing)
        };
        drop(self.write(session, job).await);
        self.shared.locks.clear(&of_upload(upload));
    }
}

/// Begins an upload, and clears away those whose writers have died.
fn begin(write: &mut Write<'_>, session: &SessionRef, token: Option<FencingToken>) -> Result<Done> {
    let row = write.life(session)?;
    fence(token, row.token)?;
    for dead in abandoned(write)? {
        drop_upload(write, dead)?;
        write.locks.clear(&of_upload(dead));
    }
    let upload = write.next_number()?;
    let lock = write.locks.take(&of_upload(upload))?;
    let lock =
        lock.ok_or_else(|| Error::unavailable("an upload is still being given up, try again"))?;
    let outcome = (|| {
        write.txn.open_table(UPLOADS)?.insert(upload, row.number)?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    Ok(Done::Upload(upload, lock))
}

/// Uploads that nobody writes any more.
fn abandoned(write: &Write<'_>) -> Result<Vec<u64>> {
    let what = "read uploads";
    let uploads = write.txn.open_table(UPLOADS).map_err(failed(what))?;
    let mut dead = Vec::new();
    for entry in ascending(uploads.iter().map_err(failed(what))?, what) {
        let upload = entry?.0.value();
        if !write.locks.is_held(&of_upload(upload))? {
            dead.push(upload);
        }
    }
    Ok(dead)
}

/// Whether an upload has neither become a blob nor been given up.
fn is_upload(write: &Write<'_>, upload: u64) -> Result<bool> {
    let what = "read uploads";
    let uploads = write.txn.open_table(UPLOADS).map_err(failed(what))?;
    Ok(uploads.get(upload).map_err(failed(what))?.is_some())
}

fn put_rows(write: &mut Write<'_>, upload: u64, index: u32, rows: &[Bytes]) -> Result<Done> {
    let outcome = (|| {
        let mut chunks = write.txn.open_table(CHUNKS)?;
        for (at, row) in (index..).zip(rows) {
            chunks.insert((upload, at), &**row)?;
        }
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    Ok(Done::Nothing)
}

fn drop_upload(write: &mut Write<'_>, upload: u64) -> Result<()> {
    let outcome = (|| {
        let mut chunks = write.txn.open_table(CHUNKS)?;
        chunks.retain_in((upload, 0)..=(upload, u32::MAX), |_, _| false)?;
        write.txn.open_table(UPLOADS)?.remove(upload)?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)
}

/// Writes the last rows and names the blob.
fn finish(
    write: &mut Write<'_>,
    session: &SessionRef,
    token: Option<FencingToken>,
    info: BlobInfo,
    upload: Option<u64>,
    index: u32,
    rows: &[Bytes],
) -> Result<Done> {
    let row = write.life(session)?;
    fence(token, row.token)?;
    let hash = key_of(info.id);
    let key = (row.number, &hash);
    if let Some((old, len)) = find(write, key)? {
        let rubbish = match is_whole(write, old, len)? {
            true => upload,
            false => Some(old),
        };
        if let Some(rubbish) = rubbish {
            drop_upload(write, rubbish)?;
        }
        if rubbish != Some(old) {
            // What is acknowledged twice is made durable twice, as with events.
            write.put_row(session, &row)?;
            return Ok(Done::Nothing);
        }
    }
    let number = match upload {
        Some(upload) => upload,
        None => write.next_number()?,
    };
    put_rows(write, number, index, rows)?;
    let outcome = (|| {
        write
            .txn
            .open_table(BLOBS)?
            .insert(key, (number, info.len))?;
        write.txn.open_table(UPLOADS)?.remove(number)?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    Ok(Done::Nothing)
}

/// The upload and the length of a blob, if it is there.
fn find(write: &Write<'_>, key: (u64, &[u8; 32])) -> Result<Option<(u64, u64)>> {
    let blobs = write.txn.open_table(BLOBS).map_err(failed("read blobs"))?;
    let found = blobs.get(key).map_err(failed("read blobs"))?;
    Ok(found.map(|found| found.value()))
}

/// Whether a blob has all of its rows, each as long as it must be. Reads them.
fn is_whole(write: &Write<'_>, upload: u64, len: u64) -> Result<bool> {
    let what = "read the blob";
    let chunks = write.txn.open_table(CHUNKS).map_err(failed(what))?;
    let mut found = 0;
    let rows = (upload, 0)..=(upload, u32::MAX);
    for (entry, index) in ascending(chunks.range(rows).map_err(failed(what))?, what).zip(0..) {
        let (key, row) = entry?;
        let expected = (len - found).min(CHUNK as u64);
        if key.value().1 != index || row.value().len() as u64 != expected {
            return Ok(false);
        }
        found += expected;
    }
    Ok(found == len)
}

fn remove(
    write: &mut Write<'_>,
    session: &SessionRef,
    id: BlobId,
    token: Option<FencingToken>,
) -> Result<Done> {
    let row = write.life(session)?;
    fence(token, row.token)?;
    let hash = key_of(id);
    let key = (row.number, &hash);
    match find(write, key)? {
        Some((upload, _)) => {
            drop_upload(write, upload)?;
            let outcome = (|| {
                write.txn.open_table(BLOBS)?.remove(key)?;
                Ok::<_, redb::Error>(())
            })();
            write.wrote(outcome)?;
        }
        // That it is gone is acknowledged, and the commit that removed it may have failed.
        None => write.put_row(session, &row)?,
    }
    Ok(Done::Nothing)
}

/// Removes all blobs of a session, and its uploads.
pub(crate) fn remove_all(write: &mut Write<'_>, number: u64) -> Result<()> {
    let what = "read blobs";
    let mut found = Vec::new();
    {
        let blobs = write.txn.open_table(BLOBS).map_err(failed(what))?;
        let whole = (number, &[0; 32])..=(number, &[0xff; 32]);
        for entry in ascending(blobs.range(whole).map_err(failed(what))?, what) {
            found.push(entry?.1.value().0);
        }
        let uploads = write.txn.open_table(UPLOADS).map_err(failed(what))?;
        for entry in ascending(uploads.iter().map_err(failed(what))?, what) {
            let (upload, session) = entry?;
            if session.value() == number {
                found.push(upload.value());
            }
        }
    }
    for upload in found {
        drop_upload(write, upload)?;
    }
    let outcome = (|| {
        let mut blobs = write.txn.open_table(BLOBS)?;
        let whole = (number, &[0; 32])..=(number, &[0xff; 32]);
        blobs.retain_in(whole, |_, _| false)?;
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)
}
