//! What the fuzz targets share: a golden store, one file of which is changed, and everything that it
//! may then answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use pollster::block_on;
use sessionlog::transcript::Transcript;
use sessionlog::{Event, Result, SeqNum, SessionId, Severity, Store};

/// Opens a store in a folder.
pub type Open = fn(&Path) -> Result<Store>;

/// A store that is whole, and what is in it.
pub struct Golden {
    files: Vec<(PathBuf, Vec<u8>)>,
    logs: BTreeMap<SessionId, Vec<Event>>,
    open: Open,
}

impl Golden {
    /// Takes up the files of a folder of test data, below a folder of the workspace.
    pub fn new(folder: &str, keep: fn(&str) -> bool, open: Open) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(folder);
        let mut files = Vec::new();
        take(&root, Path::new(""), keep, &mut files);
        files.sort();
        let mut golden = Self {
            files,
            logs: BTreeMap::new(),
            open,
        };
        let dir = golden.laid(None);
        let store = open(dir.path()).expect("a golden store can be opened");
        for id in block_on(store.ids()).expect("a golden store can be listed") {
            let read = read(&store, &id);
            golden
                .logs
                .insert(id, read.expect("a golden store can be read"));
        }
        assert!(!golden.logs.is_empty(), "no session in {}", root.display());
        golden
    }

    /// A folder with the files, one of which has other bytes.
    fn laid(&self, changed: Option<(usize, Vec<u8>)>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (n, (name, bytes)) in self.files.iter().enumerate() {
            let bytes = match &changed {
                Some((which, bytes)) if *which == n => bytes,
                _ => bytes,
            };
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(dir.path())).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        dir
    }

    /// Changes a file as the input says: its first byte names the file, the second whether the rest
    /// is its content or a list of changes.
    pub fn run(&self, data: &[u8]) {
        let [file, how, rest @ ..] = data else {
            return;
        };
        let which = usize::from(*file) % self.files.len();
        let bytes = if how % 4 == 3 {
            rest.to_vec()
        } else {
            patched(&self.files[which].1, rest)
        };
        let dir = self.laid(Some((which, bytes)));
        let Ok(store) = (self.open)(dir.path()) else {
            return;
        };
        self.visit(&store, true);
        let ids: Vec<_> = self.logs.keys().cloned().collect();
        for id in &ids {
            let would = block_on(store.repair(id, false));
            let Ok(did) = block_on(store.repair(id, true)) else {
                continue;
            };
            drop(would);
            let log = read(&store, id).expect("a session can be read after its repair");
            assert_eq!(log.len() as u64, did.events + did.lost, "{did:?}");
        }
        self.visit(&store, false);
    }

    /// Asks for everything. What is read before a repair is what was stored, or an error.
    fn visit(&self, store: &Store, stored: bool) {
        let ids = block_on(store.ids()).unwrap_or_default();
        drop(block_on(store.cards()));
        drop(block_on(store.strays()));
        for id in self.logs.keys().chain(&ids) {
            let found = block_on(store.verify(id));
            let log = read(store, id);
            if let (Ok(log), Some(truth), true) = (&log, self.logs.get(id), stored) {
                // A log may have lost its end, no more.
                let same = truth.starts_with(log) || log.first() != truth.first();
                assert!(same, "other events of {id}: {log:?}");
            }
            if let (Ok(found), Err(error)) = (&found, &log) {
                let damage = found.iter().any(|f| f.severity == Severity::Damage);
                assert!(
                    damage || !error.is_corrupt(),
                    "{error}, and verify says {found:?}"
                );
            }
            let Ok(session) = block_on(store.open(id)) else {
                continue;
            };
            drop(block_on(session.project::<Transcript>()));
            drop(block_on(session.holder()));
            for blob in block_on(session.blobs()).unwrap_or_default() {
                let pieces = session.blob(blob.id, 0..u64::MAX);
                drop(block_on(pieces.try_collect::<Vec<_>>()));
            }
        }
    }
}

fn read(store: &Store, id: &SessionId) -> Result<Vec<Event>> {
    block_on(async { store.open(id).await?.read(SeqNum::all()).collect().await })
}

fn take(root: &Path, name: &Path, keep: fn(&str) -> bool, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(name)).expect("a golden store") {
        let entry = entry.expect("an entry");
        let name = name.join(entry.file_name());
        if entry.path().is_dir() {
            take(root, &name, keep, files);
        } else if keep(&name.to_string_lossy()) {
            files.push((name, fs::read(entry.path()).expect("a file")));
        }
    }
}

/// The bytes with changes of six bytes each: what to do, where, with what.
fn patched(base: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for change in changes.chunks_exact(6) {
        let [what, a, b, c, d, value] = *change else {
            break;
        };
        let at = u32::from_le_bytes([a, b, c, d]) as usize;
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        let run = (at + 1 + usize::from(value) * 8).min(bytes.len());
        match what % 8 {
            0..=2 => bytes[at] ^= 1 << (value % 8),
            3 | 4 => bytes[at] = value,
            5 => bytes[at..run].fill(0),
            6 => drop(bytes.drain(at..run)),
            _ => bytes.truncate(at + 1),
        }
    }
    bytes
}

/// Lets panics be caught: a backend may catch those of a library on damaged pages. One that nobody
/// catches still ends the run.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|_| ()));
}
