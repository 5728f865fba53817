//! The self-test behind [`armed`](crate::armed()).

use std::{
    ffi::{CStr, CString},
    fs::{self, File},
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::hooks;
use crate::{Counts, Watch};

/// Runs every probe; the answer says which calls were not seen.
pub(crate) fn run() -> Result<(), String> {
    let folder = Folder::new().map_err(|e| format!("no temporary folder: {e}"))?;
    let watch = Watch::new(&folder.0).map_err(|e| format!("no watch: {e}"))?;
    let probes: [(&str, Probe); 3] = [
        ("std", through_std),
        ("rustix", through_rustix),
        ("libc's syscall", through_syscall),
    ];
    for (who, probe) in probes {
        let before = watch.counts();
        let expected = probe(&folder.0).map_err(|e| format!("the probe of {who} failed: {e}"))?;
        let seen = watch.counts().since(&before);
        if seen != expected {
            return Err(missed(who, &seen, &expected));
        }
    }
    shared_libraries()
}

type Probe = fn(&Path) -> io::Result<Counts>;

fn missed(who: &str, seen: &Counts, expected: &Counts) -> String {
    let cure = match (who, seen.calls()) {
        ("rustix", 0) => "; build rustix with its feature use-libc",
        (_, 0) => "; is the crate linked, and is /proc mounted?",
        _ => "",
    };
    format!("calls of {who} were not seen as made{cure} (saw {seen:?}, made {expected:?})")
}

fn through_std(folder: &Path) -> io::Result<Counts> {
    let (old, new) = (folder.join("std"), folder.join("std renamed"));
    let mut file = File::create(&old)?;
    file.write_all(b"probe")?;
    file.sync_data()?;
    file.set_len(3)?;
    file.sync_all()?;
    fs::rename(&old, &new)?;
    File::open(folder)?.sync_all()?;
    fs::remove_file(&new)?;
    Ok(Counts {
        creates: 1,
        writes: 1,
        bytes_written: 5,
        truncates: 1,
        fsyncs: 1,
        fdatasyncs: 1,
        folder_flushes: 1,
        renames: 1,
        unlinks: 1,
        ..Counts::default()
    })
}

fn through_rustix(folder: &Path) -> io::Result<Counts> {
    use rustix::fs::{Mode, OFlags, fsync, open, rename, unlink};
    let (old, new) = (folder.join("rustix"), folder.join("rustix renamed"));
    let file = open(
        &old,
        OFlags::CREATE | OFlags::WRONLY,
        Mode::RUSR | Mode::WUSR,
    )?;
    rustix::io::write(&file, b"probe")?;
    fsync(&file)?;
    rename(&old, &new)?;
    unlink(&new)?;
    Ok(Counts {
        creates: 1,
        writes: 1,
        bytes_written: 5,
        fsyncs: 1,
        renames: 1,
        unlinks: 1,
        ..Counts::default()
    })
}

fn through_syscall(folder: &Path) -> io::Result<Counts> {
    let path = CString::new(folder.join("syscall").as_os_str().as_bytes())?;
    let at = libc::c_long::from(libc::AT_FDCWD);
    // SAFETY: the path ends with a NUL and outlives the calls.
    let done = unsafe {
        let made = libc::syscall(libc::SYS_mkdirat, at, path.as_ptr(), 0o700);
        let gone = libc::syscall(libc::SYS_unlinkat, at, path.as_ptr(), libc::AT_REMOVEDIR);
        made == 0 && gone == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    Ok(Counts {
        mkdirs: 1,
        rmdirs: 1,
        ..Counts::default()
    })
}

/// A shared library calls what the dynamic linker finds first.
fn shared_libraries() -> Result<(), String> {
    let ours: [(&CStr, *const ()); 4] = [
        (c"open64", hooks::open::open64 as *const ()),
        (c"write", hooks::write::write as *const ()),
        (c"fsync", hooks::flush::fsync as *const ()),
        (c"rename", hooks::names::rename as *const ()),
    ];
    for (name, hook) in ours {
        // SAFETY: the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if found.cast_const().cast() != hook {
            return Err(format!(
                "shared libraries would call another {}",
                name.to_string_lossy()
            ));
        }
    }
    Ok(())
}

/// A new folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        let mut n = 0;
        loop {
            let name = format!("crashfs-probe-{}-{n}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 1000 => n += 1,
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over in a temporary folder does no harm.
        fs::remove_dir_all(&self.0).ok();
    }
}
