//! Every change that well-known libraries make is seen: their records are complete.

use std::path::Path;

use object_store::{ObjectStoreExt, local::LocalFileSystem, path::Path as Key};
use redb::{Database, TableDefinition};
use rusqlite::Connection;
use sessionlog_crashfs::{Op, Record};
use tokio::io::AsyncWriteExt;

use crate::records::recorded;

fn count(record: &Record, what: impl Fn(&Op) -> bool) -> usize {
    record.ops.iter().filter(|op| what(op)).count()
}

fn writes(record: &Record) -> usize {
    count(record, |op| matches!(op, Op::Write { .. }))
}

fn flushes(record: &Record) -> usize {
    count(record, |op| matches!(op, Op::Flush { ok: true, .. }))
}

fn folder_flushes(record: &Record) -> usize {
    count(record, |op| matches!(op, Op::FlushFolder { ok: true, .. }))
}

fn sqlite(at: &Path, journal: &str, synchronous: &str) {
    let db = Connection::open(at.join("db")).unwrap();
    db.pragma_update(None, "synchronous", synchronous).unwrap();
    db.pragma_update(None, "journal_mode", journal).unwrap();
    db.execute_batch("create table log(n integer primary key, event text)")
        .unwrap();
    for n in 0..20 {
        db.execute("insert into log values (?1, ?2)", (n, "x".repeat(500)))
            .unwrap();
    }
    db.execute_batch("delete from log where n < 10; vacuum")
        .unwrap();
}

#[test]
fn bundled_sqlite_in_its_journal_modes() {
    let wal = recorded(|at| sqlite(at, "wal", "full"));
    assert!(
        writes(&wal) > 40 && flushes(&wal) >= 20,
        "{}",
        flushes(&wal)
    );
    // The index of the log is shared memory: a mapping.
    let shm = count(
        &wal,
        |op| matches!(op, Op::Create { place, .. } if place.name.to_str() == Some("db-shm")),
    );
    assert_eq!(shm, 1);

    let delete = recorded(|at| sqlite(at, "delete", "extra"));
    assert!(flushes(&delete) >= 40 && folder_flushes(&delete) >= 20);
    let off = recorded(|at| sqlite(at, "wal", "off"));
    assert_eq!((flushes(&off), folder_flushes(&off)), (0, 0));
}

#[test]
fn sqlite_with_its_database_mapped() {
    let record = recorded(|at| {
        let db = Connection::open(at.join("db")).unwrap();
        db.pragma_update(None, "mmap_size", 1 << 20).unwrap();
        db.execute_batch("create table t(x); insert into t values (1)")
            .unwrap();
        let n: i64 = db
            .query_row("select x from t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(n, 1);
    });
    assert!(writes(&record) > 2);
}

#[test]
fn redb_through_several_commits() {
    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
    let record = recorded(|at| {
        let db = Database::create(at.join("db")).unwrap();
        for n in 0..10 {
            let write = db.begin_write().unwrap();
            write
                .open_table(TABLE)
                .unwrap()
                .insert(n, &[7; 1000][..])
                .unwrap();
            write.commit().unwrap();
        }
    });
    assert!(writes(&record) > 20 && flushes(&record) >= 10);
    assert_eq!(
        folder_flushes(&record),
        0,
        "redb leaves the folder to its caller"
    );
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(work)
}

#[test]
fn tokio_works_on_threads_of_its_own() {
    let record = recorded(|at| {
        block_on(async {
            let mut file = tokio::fs::File::create(at.join("a")).await.unwrap();
            file.write_all(b"content").await.unwrap();
            file.sync_all().await.unwrap();
            drop(file);
            tokio::fs::copy(at.join("a"), at.join("b")).await.unwrap();
            tokio::fs::rename(at.join("b"), at.join("c")).await.unwrap();
            tokio::fs::remove_file(at.join("a")).await.unwrap();
        });
    });
    assert_eq!((writes(&record), flushes(&record)), (2, 1));
}

#[test]
fn object_store_flushes_when_it_is_told_to() {
    let put = |at: &Path, durable| {
        let store = LocalFileSystem::new_with_prefix(at)
            .unwrap()
            .with_fsync(durable);
        block_on(async {
            for key in ["a", "folder/b"] {
                store.put(&Key::from(key), "content".into()).await.unwrap();
            }
            store
                .rename(&Key::from("a"), &Key::from("c"))
                .await
                .unwrap();
            store.delete(&Key::from("c")).await.unwrap();
        });
    };
    let durable = recorded(|at| put(at, true));
    assert!(flushes(&durable) >= 2 && folder_flushes(&durable) >= 2);
    let volatile = recorded(|at| put(at, false));
    assert_eq!((flushes(&volatile), folder_flushes(&volatile)), (0, 0));
    assert_eq!(writes(&volatile), 2);
}

#[test]
fn tempfile_persists_what_it_wrote() {
    let record = recorded(|at| {
        let file = tempfile::NamedTempFile::new_in(at).unwrap();
        std::io::Write::write_all(&mut file.as_file(), b"content").unwrap();
        file.as_file().sync_all().unwrap();
        file.persist(at.join("kept")).unwrap();
        let gone = tempfile::tempfile_in(at).unwrap();
        std::io::Write::write_all(&mut &gone, b"nobody's").unwrap();
        tempfile::tempdir_in(at).unwrap().close().unwrap();
    });
    let unnamed = |op: &Op| matches!(op, Op::CreateUnnamed { .. });
    assert_eq!((writes(&record), count(&record, unnamed)), (2, 1));
}
