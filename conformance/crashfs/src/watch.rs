//! A watch over one folder.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Counts, Moment,
    slot::{self, ROOT_MAX, Slot, WATCHES},
};

/// Counts this process's file calls below one folder for as long as it lives.
///
/// - **Below**: a call on a file descriptor counts if the path under which
///   `/proc/thread-self/fd` shows it is the root or below it, so duplicated,
///   inherited and received descriptors count, and files in renamed folders
///   stay counted. A call on a name counts if the folder of the name is the
///   root or below it, symbolic links on the way followed. The root's own
///   name is outside; flushes of the root as a folder are inside.
/// - **Whose**: of this process only. A forked child counts nothing and is
///   never stopped; it can make a watch of its own.
/// - **Several** watches can be open at once, and their roots may overlap.
/// - **Numbered**: every counted call gets the next number before it is
///   carried out, in one order over all threads.
///
/// It does not ask whether the calls of this build reach it: ask
/// [`armed`](crate::armed) once. While any watch is open, `io_uring` and Linux
/// AIO can't be set up, and copies inside the kernel to a watched file are
/// refused (see the [crate docs](crate)).
pub struct Watch {
    root: PathBuf,
    pub(crate) bit: u64,
    pub(crate) slot: &'static Slot,
}

impl Watch {
    /// Watches the folder `root`, which must exist.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](io::ErrorKind::Unsupported) where calls can't be interposed.
    /// - [`NotADirectory`](io::ErrorKind::NotADirectory), or what resolving the path gave.
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) for a path longer than 1,023 bytes.
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy) if 64 watches are open.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Watch> {
        if let Some(reason) = crate::armed::unsupported() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let root = fs::canonicalize(root)?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut bytes = root.as_os_str().as_encoded_bytes();
        if bytes == b"/" {
            bytes = b"";
        }
        if bytes.len() > ROOT_MAX {
            let message = format!("the root's path is longer than {ROOT_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (bit, slot) = slot::open(bytes).ok_or_else(|| {
            let message = format!("{WATCHES} watches are open already");
            io::Error::new(io::ErrorKind::ResourceBusy, message)
        })?;
        Ok(Watch { root, bit, slot })
    }

    /// The watched folder, absolute and without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What was counted so far. Exact for calls that returned before; a call
    /// that is still running on another thread may be in or not.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.slot.counts()
    }

    /// Lets the process end itself with `SIGKILL` at the `n`-th numbered call
    /// from now (1 is the next one); 0 takes a stop back.
    ///
    /// No call with a higher number is carried out. Calls with a lower number
    /// that are running on other threads at that moment may be or not.
    pub fn stop_at(&self, n: u64, moment: Moment) {
        self.slot.stop_at(n, moment);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("root", &self.root)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        slot::close(self.bit);
    }
}
