//! The file of a store: how it is made, found and recognised.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use redb::Builder;
use redb::backends::FileBackend;
use sessionlog_core::{Error, Place, Result};
use sessionlog_local::files::{
    Identity, create_new, failed as os_failed, file_in_folder, is_dir, look, make_all, open_read,
    read_at, sync_dir, sync_names, unique,
};
use sessionlog_local::look::Look;

use crate::failure::{FILE, failed};
use crate::format::{
    BACKEND, BLOBS, CHUNKS, EVENTS, FORMAT, KEPT, LEASES, MARKER, NUMBERS, SESSIONS, SNAPSHOTS,
    UPLOADS,
};

const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// Behind the magic: which slot holds the newest commit, among others.
const GOD_BYTE: usize = 9;
/// Bits of that byte: the second slot is the newest, the file is open, the newest commit was flushed before
/// the header led to it.
const SECOND: u8 = 1;
const OPEN: u8 = 2;
const TWO_PHASES: u8 = 4;
const SLOTS: usize = 64;
const SLOT_LEN: usize = 128;
const HEADER_LEN: usize = SLOTS + 2 * SLOT_LEN;

/// The name of the file in a folder that is the store's own.
const NAME: &str = "sessions.redb";
/// What the name of the folder of locks ends with.
pub(crate) const LOCKS: &str = ".locks";
/// What stands behind the name of a store in the name of its damaged predecessor.
pub(crate) const DAMAGED: &str = ".damaged-";

/// Names beside a store.
#[derive(Default)]
pub(crate) struct Strays {
    /// Stores that were being made when something died.
    pub(crate) leftovers: Vec<String>,
    /// Stores that a repair replaced.
    pub(crate) damaged: Vec<String>,
    /// What is not the store's although it lies where only the store should.
    pub(crate) foreign: Vec<String>,
}

/// The path of a store.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    folder: PathBuf,
    name: String,
    /// Whether the folder is the store's own: it was what the store was opened as.
    owns_folder: bool,
}

/// The beginning of the file: it changes with every commit.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Header([u8; HEADER_LEN]);

impl Header {
    pub(crate) fn read(file: &File) -> std::io::Result<Self> {
        let mut bytes = [0; HEADER_LEN];
        read_at(file, &mut bytes, 0)?;
        Ok(Self(bytes))
    }

    /// The slot of the newest commit.
    fn newest(&self) -> Option<&[u8]> {
        let second = self.0.get(GOD_BYTE)? & SECOND != 0;
        let start = if second { SLOTS + SLOT_LEN } else { SLOTS };
        self.0.get(start..start + SLOT_LEN)
    }

    /// Whether somebody has the file open, or died, behind a commit that was flushed once.
    pub(crate) fn is_left_in_one_phase(&self) -> bool {
        let bits = self.0.get(GOD_BYTE).copied().unwrap_or(0);
        bits & (OPEN | TWO_PHASES) == OPEN
    }

    /// Whether no commit came between.
    pub(crate) fn same_commit(&self, other: &Self) -> bool {
        self.newest() == other.newest()
    }
}

impl StoreFile {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut path = std::path::absolute(path).map_err(os_failed("find", path))?;
        let owns_folder = path.is_dir();
        if owns_folder {
            path = file_in_folder(&path, NAME)?;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::invalid(format!(
                "the path of a redb store is not a file: {}",
                path.display()
            )));
        };
        Ok(Self {
            folder: folder.to_owned(),
            name: name.to_string_lossy().into_owned(),
            path,
            owns_folder,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A name beside the file.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("{}{suffix}", self.name))
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the names of stores begin that are being made.
    fn unfinished(&self) -> String {
        format!(".{}.new-", self.name)
    }

    /// The path of a store that is to be made.
    pub(crate) fn temporary(&self, unique: &str) -> PathBuf {
        self.folder.join(format!("{}{unique}", self.unfinished()))
    }

    /// Which file the path means now; `None` if there is none.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        match look(&self.path)? {
            Some(found) => Ok(Some(found.identity)),
            None => self.missing().map(|()| None),
        }
    }

    /// An error if the file was there and is not any more: its locks are made only once it is.
    fn missing(&self) -> Result<()> {
        let locks = self.beside(LOCKS);
        if !is_dir(&locks) {
            return Ok(());
        }
        Err(Error::corrupt(
            Place::file(FILE),
            format!(
                "the file of the store is gone, but its locks are there: bring it back, or remove {}",
                locks.display()
            ),
        ))
    }

    /// Opens the file for reading, if it is there and can be a database.
    pub(crate) fn open(&self) -> Result<Option<(File, Identity)>> {
        if self.identity()?.is_none() {
            return Ok(None);
        }
        let file = match open_read(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(os_failed("open", &self.path)(e)),
        };
        let found = Look::of(&file).map_err(os_failed("look at", &self.path))?;
        let mut magic = [0; MAGIC.len()];
        let read = read_at(&file, &mut magic, 0).map_err(os_failed("read", &self.path))?;
        if magic != MAGIC {
            let message = match read {
                0 => "the file of the store is empty",
                _ => "the file is no redb database, or its first bytes are damaged",
            };
            return Err(Error::corrupt(Place::file(FILE).with_offset(0), message));
        }
        if found.len < HEADER_LEN as u64 {
            return Err(Error::corrupt(
                Place::file(FILE).with_offset(found.len),
                "the file of the store is cut off",
            ));
        }
        Ok(Some((file, found.identity)))
    }

    /// Makes the store. Another process may do so at the same time: one of them wins.
    pub(crate) fn make(&self) -> Result<()> {
        if self.identity()?.is_some() {
            return Ok(());
        }
        make_all(&self.folder)?;
        let temporary = self.temporary(&unique());
        let made = fill(&temporary).and_then(|()| match fs::hard_link(&temporary, &self.path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            // Another maker has won, and has cleared this one's away.
            Err(_) if self.identity()?.is_some() => Ok(()),
            linked => linked.map_err(os_failed("make the store", &self.path)),
        });
        // Best effort: whatever is left is cleared by the next writer.
        drop(fs::remove_file(&temporary));
        made?;
        sync_dir(&self.folder).map_err(os_failed("flush", &self.folder))
    }

    /// Makes the names that lead to the store durable: whoever gave them may have failed to, or been killed
    /// before.
    pub(crate) fn flush_names(&self) -> Result<()> {
        sync_names(&self.folder).map_err(os_failed("flush", &self.folder))
    }

    /// What lies beside the store.
    pub(crate) fn strays(&self) -> Result<Strays> {
        let mut strays = Strays::default();
        let Strays {
            leftovers,
            damaged,
            foreign,
        } = &mut strays;
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(strays),
            Err(e) => return Err(os_failed("list", &self.folder)(e)),
        };
        for entry in entries {
            let entry = entry.map_err(os_failed("list", &self.folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match name.strip_prefix(&self.name) {
                Some("" | LOCKS) => {}
                Some(kept) if kept.starts_with(DAMAGED) => damaged.push(name),
                _ if name.starts_with(&self.unfinished()) => leftovers.push(name),
                None if !self.owns_folder => {}
                _ => foreign.push(name),
            }
        }
        Ok(strays)
    }

    /// Removes stores that were being made when something died.
    pub(crate) fn clear(&self) {
        // Best effort: they are in nobody's way.
        for leftover in self.strays().unwrap_or_default().leftovers {
            drop(fs::remove_file(self.folder.join(leftover)));
        }
    }
}

/// Makes an empty store under another name, flushed.
pub(crate) fn fill(path: &Path) -> Result<()> {
    let file = create_new(path).map_err(os_failed("make", path))?;
    let flush = file.try_clone().map_err(os_failed("make", path))?;
    let what = "make the store";
    let backend = FileBackend::new(file).map_err(failed(what))?;
    let database = Builder::new()
        .create_with_backend(backend)
        .map_err(failed(what))?;
    let mut txn = database.begin_write().map_err(failed(what))?;
    txn.set_quick_repair(true);
    {
        let mut marker = txn.open_table(MARKER).map_err(failed(what))?;
        marker.insert("backend", BACKEND).map_err(failed(what))?;
        let format = FORMAT.to_string();
        let format = format.as_str();
        marker.insert("format", format).map_err(failed(what))?;
        txn.open_table(NUMBERS).map_err(failed(what))?;
        txn.open_table(SESSIONS).map_err(failed(what))?;
        txn.open_table(EVENTS).map_err(failed(what))?;
        txn.open_table(LEASES).map_err(failed(what))?;
        txn.open_table(SNAPSHOTS).map_err(failed(what))?;
        txn.open_table(BLOBS).map_err(failed(what))?;
        txn.open_table(CHUNKS).map_err(failed(what))?;
        txn.open_table(UPLOADS).map_err(failed(what))?;
        txn.open_table(KEPT).map_err(failed(what))?;
    }
    txn.commit().map_err(failed(what))?;
    database.close().map_err(failed(what))?;
    flush.sync_all().map_err(os_failed("flush", path))
}

/// Refuses a database that is no store, another backend's, or a newer version's.
pub(crate) fn check_marker(txn: &redb::ReadTransaction) -> Result<()> {
    let table = match txn.open_table(MARKER) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => {
            return Err(Error::invalid(
                "the file is a redb database, but no sessionlog store: name another",
            ));
        }
        Err(e) => return Err(failed("read the marker")(e)),
    };
    let read = |name: &str| -> Result<Option<String>> {
        let value = table.get(name).map_err(failed("read the marker"))?;
        Ok(value.map(|v| v.value().to_owned()))
    };
    let backend = read("backend")?;
    let format = read("format")?.and_then(|f| f.parse::<u64>().ok());
    let (Some(backend), Some(format)) = (backend, format) else {
        return Err(Error::corrupt(Place::file(FILE), "the marker is damaged"));
    };
    if backend != BACKEND {
        return Err(Error::unsupported(format!(
            "the store is of another kind, open it with backend \"{backend}\" (format {format}), \
             not \"{BACKEND}\" (format {FORMAT})"
        )));
    }
    if format > FORMAT {
        return Err(Error::unsupported(format!(
            "the store was written by a newer version, update this program: it has format \
             {format}, this version reads up to {FORMAT}"
        )));
    }
    Ok(())
}
