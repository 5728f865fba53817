//! What differs between operating systems, and what every file of a store has in common.
//!
//! Every function that gives an `io::Result` gives the operating system's error as it is; [`failed`]
//! turns it into an error that says what could not be done.
#![expect(clippy::missing_errors_doc, reason = "said once, above")]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sessionlog_core::{Error, Result};

use crate::look::Look;

/// Turns a failure of the operating system into an error that says what could not be done, and what to
/// do about it.
///
/// Where nothing but a change of the place or its rights helps, it is `Unsupported`; else `Unavailable`.
pub fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    // Nothing is put into words before something fails: this stands behind every call.
    move |source| refused(&format!("can't {what}: {}", path.display()), source)
}

/// As [`failed`], for a rename or a removal of `from`: told as failed, it may have happened all the
/// same, and is `Indeterminate` unless the name is seen to be there still.
pub fn failed_to_move(what: &str, from: &Path) -> impl FnOnce(io::Error) -> Error {
    let (what, from) = (what.to_owned(), from.to_owned());
    move |source| match fs::symlink_metadata(&from) {
        Ok(_) => failed(&what, &from)(source),
        Err(_) => {
            let message = format!("perhaps it was done: {what}: {}", from.display());
            Error::indeterminate(message).with_source(source)
        }
    }
}

/// The error of an operation that the operating system refused, with what to do about it.
pub fn refused(message: &str, source: io::Error) -> Error {
    use io::ErrorKind as Io;
    let error = match source.kind() {
        Io::ReadOnlyFilesystem => Error::unsupported(format!(
            "{message}: the file system is read-only, make it writable or use another place"
        )),
        Io::PermissionDenied => Error::unsupported(format!(
            "{message}: this user may not, change the rights or run as the owner of the store"
        )),
        Io::StorageFull => {
            Error::unavailable(format!("{message}: the disk is full, free some space"))
        }
        Io::QuotaExceeded => Error::unavailable(format!(
            "{message}: the quota of this user is used up, free some space"
        )),
        _ => Error::unavailable(message),
    };
    error.with_source(source)
}

/// Which file a path or a handle means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// A number that no two files of one folder have at a time.
    pub fn number(self) -> u64 {
        if cfg!(unix) { self.1 } else { self.0 }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn from_numbers(device: u64, file: u64) -> Self {
        Self(device, file)
    }

    /// The identity of what this metadata belongs to.
    #[cfg(unix)]
    pub fn of(meta: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(meta.dev(), meta.ino())
    }

    /// The identity of what this metadata belongs to.
    #[cfg(windows)]
    pub fn of(meta: &Metadata) -> Self {
        use std::os::windows::fs::MetadataExt;
        Self(meta.creation_time(), 0)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits());
    }
    options.read(true);
    options
}

/// Opens for reading; a symbolic link is an error.
pub fn open_read(path: &Path) -> io::Result<File> {
    options().open(path)
}

/// Opens for reading and writing; the file must be there.
pub fn open_write(path: &Path) -> io::Result<File> {
    options().write(true).open(path)
}

/// Makes a file that must not be there yet, private to its owner.
pub fn create_new(path: &Path) -> io::Result<File> {
    let file = options().write(true).create_new(true).open(path)?;
    make_private(&file, 0o600)?;
    Ok(file)
}

/// Opens for reading and writing, and makes the file if it isn't there, private to its owner.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    loop {
        match open_write(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match create_new(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// Makes a folder, private to its owner. One that is there already is left as it is.
pub fn make_dir(path: &Path) -> io::Result<()> {
    match create_dir(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_dir(path) => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(unix)]
fn create_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new().mode(0o700).create(path)?;
    // The mask of the process can only have taken permissions away from the owner.
    match fs::symlink_metadata(path)?.permissions().mode() & 0o777 {
        0o700 => Ok(()),
        _ => fs::set_permissions(path, fs::Permissions::from_mode(0o700)),
    }
}

#[cfg(not(unix))]
fn create_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[cfg(unix)]
fn make_private(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn make_private(_file: &File, _mode: u32) -> io::Result<()> {
    // Elsewhere files take the access rules of their folder.
    Ok(())
}

/// Makes a folder and those above it, each private and durable in the one above. So is the last one that
/// is there: whoever made it may have failed, or been killed, before the flush.
pub fn make_all(path: &Path) -> Result<()> {
    if path.is_dir() {
        return sync_name(path).map_err(failed("flush the folder above", path));
    }
    if let Some(parent) = path.parent() {
        make_all(parent)?;
        make_dir(path).map_err(failed("make the folder", path))?;
        sync_dir(parent).map_err(failed("flush", parent))?;
    }
    Ok(())
}

/// Whether a path is a folder and not a link to one.
pub fn is_dir(path: &Path) -> bool {
    Look::at(path).is_ok_and(|found| found.is_dir)
}

/// What is known of a store's file; `None` if nothing has its name. Links are not followed.
///
/// # Errors
/// `InvalidInput` if something else is there, or a part of the path is a file; else as [`failed`].
pub fn look(path: &Path) -> Result<Option<Look>> {
    let invalid = |what: &str| Error::invalid(format!("{what}: {}", path.display()));
    match Look::at(path) {
        Ok(found) if found.is_file => Ok(Some(found)),
        Ok(_) => Err(invalid("the path of a store is a link, or not a file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            Err(invalid("part of the path of the store is a file").with_source(e))
        }
        Err(e) => Err(failed("look at the store", path)(e)),
    }
}

/// The file `name` in a folder that is there, for a store of one file that was given a folder. The
/// folder must be empty but for hidden files, or hold something whose name begins with `name`: else it
/// is somebody else's, another store's perhaps.
pub fn file_in_folder(folder: &Path, name: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(failed("look into", folder))?;
    let mut foreign = false;
    for entry in entries {
        let entry = entry.map_err(failed("look into", folder))?.file_name();
        if entry.as_encoded_bytes().starts_with(name.as_bytes()) {
            return Ok(folder.join(name));
        }
        foreign |= !entry.as_encoded_bytes().starts_with(b".");
    }
    if foreign {
        return Err(Error::invalid(format!(
            "the folder holds other things and no {name}, give the path of a file instead: {}",
            folder.display()
        )));
    }
    Ok(folder.join(name))
}

/// Makes names in a folder durable.
#[cfg(unix)]
pub fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes names in a folder durable: elsewhere the file system does so by itself.
#[cfg(not(unix))]
pub fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes names in a folder durable, and its own in the one above. Costs two flushes: it is for what is
/// opened to be written to, whose maker may have failed, or been killed, before it flushed the names.
pub fn sync_names(folder: &Path) -> io::Result<()> {
    sync_dir(folder)?;
    sync_name(folder)
}

/// Makes the name of a folder durable in the one above. Where that can't be read or flushed, nobody has
/// made a name there.
fn sync_name(folder: &Path) -> io::Result<()> {
    use io::ErrorKind as Io;
    let above = folder
        .parent()
        .filter(|above| !above.as_os_str().is_empty());
    match above.map_or(Ok(()), sync_dir) {
        Err(e) => match e.kind() {
            Io::PermissionDenied | Io::ReadOnlyFilesystem | Io::InvalidInput | Io::Unsupported => {
                Ok(())
            }
            _ => Err(e),
        },
        flushed => flushed,
    }
}

/// Reads at an offset without moving a cursor; shorter only at the end of the file.
pub fn read_at(file: &File, mut into: &mut [u8], mut offset: u64) -> io::Result<usize> {
    let whole = into.len();
    while !into.is_empty() {
        match read_some(file, into, offset) {
            Ok(0) => break,
            Ok(n) => {
                into = into.get_mut(n..).unwrap_or_default();
                offset = offset.saturating_add(wide(n));
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(whole - into.len())
}

/// The bytes from `from` to `to`, or to the end of the file if that comes first.
pub fn read_range(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let len = narrow(to.saturating_sub(from))?;
    let mut bytes = vec![0; len];
    let read = read_at(file, &mut bytes, from)?;
    bytes.truncate(read);
    Ok(bytes)
}

#[cfg(unix)]
fn read_some(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_some(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

/// Writes at an offset, all of it: one call, unless the system takes less than it was given.
#[cfg(unix)]
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes at an offset, all of it: one call, unless the system takes less than it was given.
#[cfg(windows)]
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_some(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = bytes.get(n..).unwrap_or_default();
                offset = offset.saturating_add(wide(n));
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

/// Writes at an offset with one call, so that nothing can come between its parts. Gives how much the
/// system took: less than all when the disk is full, for one.
pub fn write_once_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    loop {
        match write_some(file, bytes, offset) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A length as an offset.
pub fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// An offset as a length in memory.
pub fn narrow(n: u64) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// A name that nobody else uses.
pub fn unique() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Writes a whole new file under another name and renames it. With `durable` it is flushed before,
/// and its name after: an error of that last step is `Indeterminate`, and so is one of the rename unless
/// it is seen not to have happened. Every other one changed nothing.
pub fn replace(dir: &Path, name: &str, bytes: &[u8], durable: bool) -> Result<()> {
    let temporary = dir.join(format!(".tmp-{}", unique()));
    let path = dir.join(name);
    let written = (|| {
        let file = create_new(&temporary)?;
        write_all_at(&file, bytes, 0)?;
        if durable {
            file.sync_all()?;
        }
        Ok(())
    })();
    let written = written.map_err(failed("write", &path)).and_then(|()| {
        let renamed = fs::rename(&temporary, &path);
        renamed.map_err(failed_to_move(&format!("write {name}"), &temporary))
    });
    // Best effort: whatever is left is cleared by the next writer.
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    if !durable {
        return Ok(());
    }
    sync_dir(dir).map_err(|source| {
        Error::indeterminate(format!(
            "it was written, but perhaps not durably: {}",
            path.display()
        ))
        .with_source(source)
    })
}
