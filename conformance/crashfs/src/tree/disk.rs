//! From a real folder and to one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{FileId, Name, Tree};

/// Runs of zeroes of this length are left out when a file is written.
const HOLE: usize = 4096;

/// A file system's own number for a file: device and inode. Elsewhere than on
/// Unix, where nothing is recorded, its path.
#[cfg(unix)]
pub(crate) type Inode = (u64, u64);
#[cfg(not(unix))]
pub(crate) type Inode = PathBuf;

/// Which file is which.
pub(crate) type Inodes = BTreeMap<Inode, FileId>;

impl Tree {
    /// Reads a folder with everything below it. Several names of one file are one file.
    ///
    /// # Errors
    ///
    /// Those of reading; [`Unsupported`](io::ErrorKind::Unsupported) for something that is
    /// neither file, folder nor symbolic link.
    pub fn read(folder: impl AsRef<Path>) -> io::Result<Tree> {
        read(folder.as_ref()).map(|start| start.tree)
    }

    /// Writes everything below the root into `folder`, which must be there and be empty.
    /// Nothing is flushed. Long runs of zeroes become holes; a folder that has several names,
    /// as a model of a crash may leave it, is written under its first one. Files were changed
    /// a minute ago, as those that somebody finds after a crash.
    ///
    /// # Errors
    ///
    /// Those of writing; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if a name is taken.
    pub fn write(&self, folder: impl AsRef<Path>) -> io::Result<()> {
        let mut written = BTreeMap::new();
        let changed = SystemTime::now().checked_sub(Duration::from_secs(60));
        let changed = changed.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut entered = BTreeSet::from([FileId::ROOT]);
        let mut open = vec![(FileId::ROOT, folder.as_ref().to_path_buf())];
        while let Some((dir, path)) = open.pop() {
            for (name, id) in self.folders.get(&dir).into_iter().flatten() {
                let path = path.join(&**name);
                if self.folders.contains_key(id) {
                    if entered.insert(*id) {
                        fs::create_dir(&path)?;
                        open.push((*id, path));
                    }
                } else if let Some(target) = self.links.get(id) {
                    symlink(target, &path)?;
                } else if let Some(first) = written.get(id) {
                    fs::hard_link(first, &path)?;
                } else {
                    let bytes = self.files.get(id).map_or(&[][..], |bytes| bytes);
                    write_file(&path, bytes)?.set_modified(changed)?;
                    written.insert(*id, path);
                }
            }
        }
        Ok(())
    }
}

/// A folder that was read, and which file is which.
#[derive(Default)]
pub(crate) struct Start {
    pub(crate) tree: Tree,
    pub(crate) ids: Inodes,
    /// The first id that is free.
    pub(crate) next: u32,
}

/// Reads a folder.
pub(crate) fn read(folder: &Path) -> io::Result<Start> {
    let mut reader = Reader {
        tree: Tree::new(),
        ids: BTreeMap::from([(inode(folder, &fs::metadata(folder)?), FileId::ROOT)]),
        open: vec![(FileId::ROOT, folder.to_path_buf())],
        next: FileId::ROOT.0 + 1,
    };
    while let Some((dir, path)) = reader.open.pop() {
        for entry in fs::read_dir(&path)? {
            reader.entry(dir, &entry?)?;
        }
    }
    Ok(Start {
        tree: reader.tree,
        ids: reader.ids,
        next: reader.next,
    })
}

struct Reader {
    tree: Tree,
    ids: Inodes,
    open: Vec<(FileId, PathBuf)>,
    next: u32,
}

impl Reader {
    fn entry(&mut self, dir: FileId, entry: &fs::DirEntry) -> io::Result<()> {
        let (path, meta) = (entry.path(), entry.metadata()?);
        let inode = inode(&path, &meta);
        let id = match self.ids.get(&inode) {
            Some(id) => *id,
            None => {
                let id = FileId(self.next);
                self.next += 1;
                self.node(id, &path, &meta)?;
                self.ids.insert(inode, id);
                id
            }
        };
        let names = self.tree.folders.entry(dir).or_default();
        names.insert(Name::from(entry.file_name()), id);
        Ok(())
    }

    fn node(&mut self, id: FileId, path: &Path, meta: &fs::Metadata) -> io::Result<()> {
        if meta.is_dir() {
            self.tree.folders.insert(id, BTreeMap::new());
            self.open.push((id, path.to_path_buf()));
        } else if meta.is_symlink() {
            let target = Name::from(fs::read_link(path)?.into_os_string());
            self.tree.links.insert(id, target);
        } else if meta.is_file() {
            self.tree.files.insert(id, Arc::new(fs::read(path)?));
        } else {
            let message = format!("{} is no file, folder or link", path.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        Ok(())
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    let mut at = 0;
    let mut run = 0..0;
    for block in bytes.chunks(HOLE) {
        if zero(block) {
            write_run(&mut file, bytes, &run)?;
            run = at + block.len()..at;
        }
        at += block.len();
        run.end = at;
    }
    write_run(&mut file, bytes, &run)?;
    if run.is_empty() {
        file.set_len(bytes.len() as u64)?;
    }
    Ok(file)
}

fn write_run(file: &mut File, bytes: &[u8], run: &Range<usize>) -> io::Result<()> {
    match bytes.get(run.clone()) {
        None | Some([]) => Ok(()),
        Some(some) => {
            file.seek(SeekFrom::Start(run.start as u64))?;
            file.write_all(some)
        }
    }
}

fn zero(block: &[u8]) -> bool {
    // One comparison of memory, fast without optimization too.
    static ZEROES: [u8; HOLE] = [0; HOLE];
    ZEROES.get(..block.len()) == Some(block)
}

#[cfg(unix)]
fn symlink(target: &Name, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(&**target, path)
}

#[cfg(not(unix))]
fn symlink(_: &Name, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn inode(_: &Path, meta: &fs::Metadata) -> Inode {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

#[cfg(not(unix))]
fn inode(path: &Path, _: &fs::Metadata) -> Inode {
    path.to_path_buf()
}
