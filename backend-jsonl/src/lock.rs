//! Locks of the operating system: gone with the process that holds them, however it ends.

use std::fs::File;
use std::io;

/// What a look at a lock shows.
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    expect(dead_code, reason = "systems without lock queries only say so")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Nobody has it.
    Free,
    /// Somebody has it.
    Held,
    /// This system can't tell without taking the lock.
    #[cfg_attr(
        any(target_os = "linux", target_os = "android"),
        expect(dead_code, reason = "only systems without lock queries need it")
    )]
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

    pub(crate) fn try_whole(file: &File) -> io::Result<bool> {
        try_set(file, 0, 0)
    }

    pub(crate) fn unlock_whole(file: &File) -> io::Result<()> {
        fcntl(file, FcntlArg::F_OFD_SETLK(&region(libc::F_UNLCK, 0, 0)?))?;
        Ok(())
    }

    pub(crate) fn try_token(file: &File, token: u64) -> io::Result<bool> {
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

    pub(crate) fn probe_whole(file: &File) -> io::Result<Probe> {
        query(file, 0, 0)
    }

    pub(crate) fn probe_token(file: &File, token: u64) -> io::Result<Probe> {
        query(file, token, 1)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use super::{File, Probe, io};
    use std::fs::TryLockError;

    pub(crate) fn try_whole(file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(crate) fn unlock_whole(file: &File) -> io::Result<()> {
        file.unlock()
    }

    pub(crate) fn try_token(file: &File, _token: u64) -> io::Result<bool> {
        try_whole(file)
    }

    pub(crate) fn probe_whole(_file: &File) -> io::Result<Probe> {
        Ok(Probe::Unknown)
    }

    pub(crate) fn probe_token(_file: &File, _token: u64) -> io::Result<Probe> {
        Ok(Probe::Unknown)
    }
}

pub(crate) use imp::{probe_token, probe_whole, try_token, try_whole, unlock_whole};
