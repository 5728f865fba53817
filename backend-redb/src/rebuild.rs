//! A store of which pages are damaged, built anew from what can be read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use redb::{
    AccessGuard, Builder, ConcurrencyMode, Key, ReadTransaction, ReadableTable, TableDefinition,
    Value, WriteTransaction,
};
use sessionlog_core::{Error, Place, Result, SessionId};
use sessionlog_local::files::{failed as os_failed, failed_to_move, sync_dir, unique};
use sessionlog_local::gaps::{Way, around};

use crate::Redb;
use crate::failure::{FILE, failed, unpanicked};
use crate::file::{DAMAGED, Header, StoreFile, fill};
use crate::format::{
    BLOBS, CHUNK, CHUNKS, EVENTS, KEPT, LEASES, NEXT, NUMBERS, Raw, Row, SESSIONS,
};
use crate::open::Open;
use crate::rows::{ascending, descending};

const READ: &str = "read the damaged store";
const WRITE: &str = "write the new store";

/// Builds the store anew, from every row that can be read, and gives it the name of the old one, which
/// is kept beside it. Gives the name of what is kept.
///
/// Rows are carried over as they are, whole or not. Snapshots are a cache and are left behind.
pub(crate) async fn rebuild(store: &Redb) -> Result<String> {
    let engine = &store.shared.engine;
    let file = &engine.file;
    // Whoever waits for this lock looks, once it has it, whether the file is still the store. If nobody
    // can open it to write, it is only read.
    let begun = match engine.begin_write().await {
        Err(error) if error.is_corrupt() => None,
        begun => Some(begun?),
    };
    let gone = || Error::not_found("there is no store");
    let open = match &begun {
        Some(begun) => Arc::clone(&begun.open),
        None => engine.open_for_reading()?.ok_or_else(gone)?,
    };
    let replaced = replace(file, &open);
    engine.forget(&open);
    if let Some(begun) = begun {
        drop(unpanicked(WRITE, || {
            begun.txn.abort().map_err(failed(WRITE))
        }));
    }
    replaced
}

/// Builds a store anew in the place of the one that is open. Gives the name of what is kept.
fn replace(file: &StoreFile, open: &Open) -> Result<String> {
    let new = file.temporary(&unique());
    let kept = format!("{DAMAGED}{}", unique());
    let old = file.beside(&kept);
    let replaced = (|| {
        let before = open.header()?;
        fill(&new)?;
        unpanicked(WRITE, || build(open, &new))?;
        let _held = hold(&new)?;
        fs::hard_link(file.path(), &old).map_err(os_failed("keep the damaged store as", &old))?;
        fs::rename(&new, file.path())
            .map_err(failed_to_move("put the new store in place", &new))?;
        let sole = settle(file, open, &before, &old).map_err(|error| {
            Error::indeterminate("the store was built anew, but perhaps not durably, or in vain")
                .with_source(error)
        })?;
        if sole {
            return Ok(());
        }
        Err(Error::unavailable(
            "another process writes to the store while it is being repaired: stop it, and try again",
        ))
    })();
    // Best effort: the next writer clears it.
    drop(fs::remove_file(&new));
    replaced.map(|()| format!("{}{kept}", file.name()))
}

/// Behind the moment at which the new store got the name of the old one: makes it durable, or brings the old
/// one back if somebody has committed to it, who had it open before it was damaged. Gives which.
fn settle(file: &StoreFile, open: &Open, before: &Header, old: &Path) -> Result<bool> {
    let sole = open.header()?.same_commit(before);
    if !sole {
        fs::rename(old, file.path()).map_err(os_failed("bring back", file.path()))?;
    }
    sync_dir(file.folder()).map_err(os_failed("flush", file.folder()))?;
    Ok(sole)
}

/// Lets nobody commit to a store as long as it is there: it may have to make room for the old one again.
fn hold(path: &Path) -> Result<WriteTransaction> {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    let database = builder.open(path).map_err(failed(WRITE))?;
    database.begin_write().map_err(failed(WRITE))
}

fn build(old: &Open, path: &Path) -> Result<()> {
    let new = Builder::new().open(path).map_err(failed(WRITE))?;
    let mut txn = new.begin_write().map_err(failed(WRITE))?;
    txn.set_quick_repair(true);
    let read = old.begin_read()?;
    let mut next = 1;
    for (name, bytes) in both_ways(&read, SESSIONS, |k| k.to_vec(), |v| v.to_vec())? {
        insert(&txn, SESSIONS, name.as_slice(), bytes.as_slice())?;
        let id = std::str::from_utf8(&name)
            .ok()
            .and_then(|name| SessionId::new(name).ok());
        let row = id
            .and_then(|id| Row::decode(&id, &bytes))
            .or_else(|| Row::salvage(&bytes));
        if let Some(row) = row {
            next = next.max(row.number.saturating_add(1));
            carry(&read, &txn, EVENTS, row.number, row.head.tail.get())?;
            carry(&read, &txn, KEPT, row.number, 0)?;
            if let Ok(Some(said)) = look(&read, LEASES, row.number, |v| v.to_vec()) {
                insert(&txn, LEASES, row.number, said.as_slice())?;
            }
        }
    }
    for ((number, id), (upload, len)) in both_ways(&read, BLOBS, |(n, id)| (n, *id), |v| v)? {
        insert(&txn, BLOBS, (number, &id), (upload, len))?;
        next = next.max(upload.saturating_add(1));
        for index in 0..len.div_ceil(CHUNK as u64) {
            let Ok(index) = u32::try_from(index) else {
                break;
            };
            // A piece that can't be read is missed when the blob is.
            if let Ok(Some(piece)) = look(&read, CHUNKS, (upload, index), |v| v.to_vec()) {
                insert(&txn, CHUNKS, (upload, index), piece.as_slice())?;
            }
        }
    }
    // No number is used twice, also if the counter itself is lost.
    let counted = look(&read, NUMBERS, NEXT, |n| n).unwrap_or_default();
    insert(&txn, NUMBERS, NEXT, next.max(counted.unwrap_or(0)))?;
    txn.commit().map_err(failed(WRITE))?;
    drop(read);
    new.close().map_err(failed(WRITE))
}

fn insert<'v, K: Key + 'static, V: Value + 'static>(
    txn: &WriteTransaction,
    table: TableDefinition<'_, K, V>,
    key: impl std::borrow::Borrow<K::SelfType<'v>>,
    value: impl std::borrow::Borrow<V::SelfType<'v>>,
) -> Result<()> {
    let mut table = txn.open_table(table).map_err(failed(WRITE))?;
    table.insert(key, value).map(drop).map_err(failed(WRITE))
}

/// Entries of a table, from either end.
type Entries<'a, K, V> =
    Box<dyn Iterator<Item = Result<(AccessGuard<'a, K>, AccessGuard<'a, V>)>> + 'a>;

/// One row, if it is there and can be read.
fn look<'k, K: Key + 'static, V: Value + 'static, T>(
    read: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
    key: impl std::borrow::Borrow<K::SelfType<'k>>,
    own: impl FnOnce(V::SelfType<'_>) -> T,
) -> Result<Option<T>> {
    unpanicked(READ, || {
        let table = read.open_table(table).map_err(failed(READ))?;
        let row = table.get(key).map_err(failed(READ))?;
        Ok(row.map(|row| own(row.value())))
    })
}

/// The rows from both ends of a table up to what can't be read.
fn both_ways<K: Key + 'static, V: Value + 'static, A: PartialEq, B>(
    read: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
    key: impl Fn(K::SelfType<'_>) -> A,
    value: impl Fn(V::SelfType<'_>) -> B,
) -> Result<Vec<(A, B)>> {
    let mut rows: Vec<(A, B)> = Vec::new();
    for backwards in [false, true] {
        let before = rows.len();
        let walked = unpanicked(READ, || {
            let table = read.open_table(table).map_err(failed(READ))?;
            let all = table.iter().map_err(failed(READ))?;
            let entries: Entries<'_, K, V> = if backwards {
                Box::new(descending(all.rev(), READ))
            } else {
                Box::new(ascending(all, READ))
            };
            for entry in entries {
                let (k, v) = entry?;
                let row = (key(k.value()), value(v.value()));
                if backwards
                    && rows
                        .get(..before)
                        .is_some_and(|r| r.last().is_some_and(|l| l.0 == row.0))
                {
                    return Ok(true);
                }
                rows.push(row);
            }
            Ok(true)
        });
        match walked {
            Ok(_) => break,
            Err(error) if error.is_corrupt() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// Carries the rows of a session over. There is one at each key before `tail`: where none is found,
/// the tree is damaged. They are met in order: some can be found from the one before, and by no search.
fn carry(
    read: &ReadTransaction,
    txn: &WriteTransaction,
    table: TableDefinition<'static, (u64, u64), Raw>,
    number: u64,
    tail: u64,
) -> Result<()> {
    let mut new = txn.open_table(table).map_err(failed(WRITE))?;
    let range = |from: u64| {
        unpanicked(READ, || {
            let old = read.open_table(table).map_err(failed(READ))?;
            let keys = (number, from)..=(number, u64::MAX);
            old.range(keys).map_err(failed(READ))
        })
    };
    // A row's position and what `own` takes of it, or none where none has to be.
    fn next<T>(
        rows: &mut redb::Range<'_, (u64, u64), Raw>,
        (number, from, tail): (u64, u64, u64),
        own: impl Fn(&[u8]) -> T,
    ) -> Result<Option<(u64, T)>> {
        let corrupt = |what| Err(Error::corrupt(Place::file(FILE), what));
        let row = unpanicked(READ, || {
            let row = rows.next().transpose().map_err(failed(READ))?;
            Ok(row.map(|(key, value)| (key.value(), own(value.value()))))
        })?;
        match row {
            Some(((of, seq), value)) if of == number => Ok(Some((seq, value))),
            Some(_) => corrupt("the keys of a page are not what was written"),
            None if from < tail => corrupt("rows are missing"),
            None => Ok(None),
        }
    }
    let walk = |way: &mut Way| {
        let mut rows = range(way.next())?;
        while let Some((seq, value)) = next(&mut rows, (number, way.next(), tail), <[u8]>::to_vec)?
        {
            way.at(seq)?;
            new.insert((number, seq), value.as_slice())
                .map_err(failed(WRITE))?;
        }
        Ok(())
    };
    let first = |from| {
        let row = next(&mut range(from)?, (number, from, tail), |_| ())?;
        Ok(row.map(|(seq, ())| seq))
    };
    around(0, walk, first).map(drop)
}

#[cfg(test)]
mod tests;
