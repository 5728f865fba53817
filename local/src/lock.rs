//! Locks of the operating system: gone with the process that holds them, however it ends.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a look at a lock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Nobody has it.
    Free,
    /// Somebody has it.
    Held,
    /// This system can't tell without taking the lock.
    Unknown,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use super::{File, Probe, io};
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    /// Bytes `from..from + len` of a file; a length of 0 reaches to the end of all offsets.
    fn region(kind: libc::c_int, from: u64, len: u64) -> io::Result<libc::flock> {
        let short = |n: libc::c_int| libc::c_short::try_from(n).map_err(|_| Errno::EINVAL);
        let long = |n: u64| libc::off_t::try_from(n).map_err(|_| Errno::EOVERFLOW);
        Ok(libc::flock {
            l_type: short(kind)?,
            l_whence: short(libc::SEEK_SET)?,
            l_start: long(from)?,
            l_len: long(len)?,
            l_pid: 0,
        })
    }

    fn try_set(file: &File, from: u64, len: u64) -> io::Result<bool> {
        let lock = region(libc::F_WRLCK, from, len)?;
        match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn try_whole(file: &File) -> io::Result<bool> {
        try_set(file, 0, 0)
    }

    pub(super) fn unlock_whole(file: &File) -> io::Result<()> {
        fcntl(file, FcntlArg::F_OFD_SETLK(&region(libc::F_UNLCK, 0, 0)?))?;
        Ok(())
    }

    pub(super) fn try_token(file: &File, token: u64) -> io::Result<bool> {
        try_set(file, token, 1)
    }

    fn query(file: &File, from: u64, len: u64) -> io::Result<Probe> {
        let mut lock = region(libc::F_WRLCK, from, len)?;
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(if libc::c_int::from(lock.l_type) == libc::F_UNLCK {
            Probe::Free
        } else {
            Probe::Held
        })
    }

    pub(super) fn probe_whole(file: &File) -> io::Result<Probe> {
        query(file, 0, 0)
    }

    pub(super) fn probe_token(file: &File, token: u64) -> io::Result<Probe> {
        query(file, token, 1)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use super::{File, Probe, io};
    use std::fs::TryLockError;

    pub(super) fn try_whole(file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn unlock_whole(file: &File) -> io::Result<()> {
        file.unlock()
    }

    pub(super) fn try_token(file: &File, _token: u64) -> io::Result<bool> {
        try_whole(file)
    }

    pub(super) fn probe_whole(_file: &File) -> io::Result<Probe> {
        Ok(Probe::Unknown)
    }

    pub(super) fn probe_token(_file: &File, _token: u64) -> io::Result<Probe> {
        Ok(Probe::Unknown)
    }
}

/// A lock that is held until it is let go or dropped.
///
/// It is given back by name, not only by closing its file: a child process that was forked, and has
/// not yet become another program, has the file open as well.
#[derive(Debug)]
pub struct Held(Mutex<Option<File>>);

impl Held {
    /// Takes the lock on a whole file; `None` if somebody has any part of it.
    ///
    /// # Errors
    /// What the operating system gives.
    pub fn whole(file: File) -> io::Result<Option<Self>> {
        Ok(try_whole(&file)?.then(|| Self(Mutex::new(Some(file)))))
    }

    /// Takes the lock on byte `token` of a file, as [`try_token`] does; `None` if somebody has it.
    ///
    /// # Errors
    /// What the operating system gives.
    pub fn token(file: File, token: u64) -> io::Result<Option<Self>> {
        Ok(try_token(&file, token)?.then(|| Self(Mutex::new(Some(file)))))
    }

    fn file(&self) -> MutexGuard<'_, Option<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was not let go.
    pub fn is_held(&self) -> bool {
        self.file().is_some()
    }

    /// Gives the lock back. Doing so twice changes nothing.
    pub fn let_go(&self) {
        if let Some(file) = self.file().take() {
            // What fails here is done by the last one that closes the file.
            drop(unlock_whole(&file));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Locks a whole file, if nobody has any part of it locked. The lock is the open file's: it ends when
/// the last handle on it is closed.
///
/// # Errors
/// What the operating system gives, but for "somebody has it", which is `false`.
pub fn try_whole(file: &File) -> io::Result<bool> {
    imp::try_whole(file)
}

/// Gives a lock on a whole file back.
///
/// # Errors
/// What the operating system gives.
pub fn unlock_whole(file: &File) -> io::Result<()> {
    imp::unlock_whole(file)
}

/// Locks byte `token` of a file, so that each grant of a lease has a lock of its own. Where the system
/// has no locks on parts of a file that belong to the open file, this is the whole file.
///
/// # Errors
/// As [`try_whole`].
pub fn try_token(file: &File, token: u64) -> io::Result<bool> {
    imp::try_token(file, token)
}

/// Whether somebody has any part of a file locked. Takes nothing.
///
/// # Errors
/// What the operating system gives.
pub fn probe_whole(file: &File) -> io::Result<Probe> {
    imp::probe_whole(file)
}

/// Whether somebody has byte `token` of a file locked. Takes nothing.
///
/// # Errors
/// What the operating system gives.
pub fn probe_token(file: &File, token: u64) -> io::Result<Probe> {
    imp::probe_token(file, token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &tempfile::TempDir) -> File {
        crate::files::open_or_create(&dir.path().join("lock")).unwrap()
    }

    #[test]
    fn a_lock_ends_with_its_holder_though_a_forked_child_has_the_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let file = open(&dir);
        let childs = file.try_clone().unwrap();
        let held = Held::whole(file).unwrap().unwrap();
        assert!(Held::whole(open(&dir)).unwrap().is_none());
        drop(held);
        assert!(Held::whole(open(&dir)).unwrap().is_some());
        drop(childs);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_token_has_a_lock_of_its_own_that_can_be_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let first = Held::token(open(&dir), 1).unwrap().unwrap();
        let second = Held::token(open(&dir), 2).unwrap().unwrap();
        assert_eq!(probe_token(&open(&dir), 1).unwrap(), Probe::Held);
        first.let_go();
        first.let_go();
        assert!(!first.is_held() && second.is_held());
        assert_eq!(probe_token(&open(&dir), 1).unwrap(), Probe::Free);
        assert_eq!(probe_whole(&open(&dir)).unwrap(), Probe::Held);
    }
}
