//! Calls as C code makes them.

use std::{
    ffi::{CString, c_void},
    fs::{self, File},
    io::Write,
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use crate::std_calls::counted;

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

#[test]
fn errno_is_set_by_an_error_and_kept_by_a_success() {
    let counts = counted(|root| {
        let (none, dir) = (c(&root.join("none")), c(&root.join("dir")));
        // SAFETY: the paths end with a NUL.
        unsafe {
            assert_eq!(libc::unlink(none.as_ptr()), -1);
            assert_eq!(*libc::__errno_location(), libc::ENOENT);
            *libc::__errno_location() = 0;
            assert_eq!(libc::mkdir(dir.as_ptr(), 0o755), 0);
            assert_eq!(*libc::__errno_location(), 0);
            assert_eq!(libc::write(-1, std::ptr::null(), 0), -1);
            assert_eq!(*libc::__errno_location(), libc::EBADF);
            assert_eq!(libc::posix_fallocate(-1, 0, 1), libc::EBADF);
            assert_eq!(libc::open(std::ptr::null(), libc::O_RDONLY), -1);
            assert_eq!(*libc::__errno_location(), libc::EFAULT);
        }
    });
    assert_eq!((counts.mkdirs, counts.failed), (1, 1));
}

#[test]
fn open_takes_its_mode_and_needs_none() {
    use std::os::unix::fs::PermissionsExt;
    let counts = counted(|root| {
        let path = c(&root.join("a"));
        // SAFETY: the path ends with a NUL; the descriptors are new.
        let (made, read) = unsafe {
            let flags = libc::O_CREAT | libc::O_WRONLY;
            let made = libc::open(path.as_ptr(), flags, 0o640 as libc::c_uint);
            let read = libc::open(path.as_ptr(), libc::O_RDONLY);
            assert!(made >= 0 && read >= 0);
            (File::from_raw_fd(made), File::from_raw_fd(read))
        };
        let mode = made.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        drop(read);
        // SAFETY: as above.
        unsafe { drop(File::from_raw_fd(libc::creat(path.as_ptr(), 0o600))) };
    });
    assert_eq!((counts.creates, counts.truncates), (1, 1), "{counts:?}");
}

#[test]
fn names_relative_to_a_folder_are_found() {
    let counts = counted(|root| {
        fs::create_dir(root.join("d")).unwrap();
        let dir = File::open(root.join("d")).unwrap();
        let fd = dir.as_raw_fd();
        // SAFETY: the names end with a NUL.
        unsafe {
            assert_eq!(libc::mkdirat(fd, c"e".as_ptr(), 0o755), 0);
            assert_eq!(
                libc::symlinkat(c"nowhere".as_ptr(), fd, c"./e/l".as_ptr()),
                0
            );
            assert_eq!(libc::renameat(fd, c"e/l".as_ptr(), fd, c"m".as_ptr()), 0);
            assert_eq!(libc::unlinkat(fd, c"m".as_ptr(), 0), 0);
            assert_eq!(libc::unlinkat(fd, c"e".as_ptr(), libc::AT_REMOVEDIR), 0);
        }
        let path = c(&root.join("d"));
        // SAFETY: the path ends with a NUL.
        assert_eq!(unsafe { libc::remove(path.as_ptr()) }, 0);
    });
    let names = (
        counts.mkdirs,
        counts.links,
        counts.renames,
        counts.unlinks,
        counts.rmdirs,
    );
    assert_eq!(names, (2, 1, 1, 1, 2), "{counts:?}");
}

#[test]
fn truncate_allocate_and_flushes_of_ranges_maps_and_systems() {
    let counts = counted(|root| {
        let file = File::create_new(root.join("a")).unwrap();
        drop(file);
        let file = File::options()
            .read(true)
            .write(true)
            .open(root.join("a"))
            .unwrap();
        let (fd, path) = (file.as_raw_fd(), c(&root.join("a")));
        // SAFETY: the file is long enough for what is mapped and stored.
        unsafe {
            assert_eq!(libc::truncate(path.as_ptr(), 8192), 0);
            assert_eq!(libc::fallocate(fd, 0, 0, 4096), 0);
            assert_eq!(libc::posix_fallocate(fd, 0, 4096), 0);
            assert_eq!(libc::sync_file_range(fd, 0, 0, 0), 0);
            let (len, rw) = (8192, libc::PROT_READ | libc::PROT_WRITE);
            let map = libc::mmap(std::ptr::null_mut(), len, rw, libc::MAP_SHARED, fd, 0);
            assert_ne!(map, libc::MAP_FAILED);
            map.cast::<u8>().write(1);
            assert_eq!(libc::msync(map, len, libc::MS_SYNC), 0);
            libc::munmap(map, len);
            assert_eq!(libc::syncfs(fd), 0);
        }
    });
    assert_eq!(
        (counts.truncates, counts.allocations, counts.range_flushes),
        (1, 2, 1)
    );
    assert_eq!(
        (
            counts.shared_maps,
            counts.map_flushes,
            counts.system_flushes
        ),
        (1, 1, 1)
    );
    assert_eq!((counts.flushes(), counts.calls()), (1, 7), "{counts:?}");
}

#[test]
fn anonymous_and_private_maps_and_pipes_count_nothing() {
    let counts = counted(|_| {
        let (_reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        // SAFETY: a mapping of its own.
        unsafe {
            let (rw, flags) = (libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            let map = libc::mmap(std::ptr::null_mut(), 4096, rw, flags, -1, 0);
            assert_eq!(libc::msync(map, 4096, libc::MS_SYNC), 0);
            libc::munmap(map, 4096);
        }
    });
    assert_eq!(counts, sessionlog_crashfs::Counts::default());
}

#[test]
fn scattered_writes_count_their_bytes() {
    let counts = counted(|root| {
        let file = File::create(root.join("a")).unwrap();
        let part = |bytes: &'static [u8]| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(),
            iov_len: bytes.len(),
        };
        let parts = [part(b"one"), part(b"three")];
        // SAFETY: the parts live as long as the program.
        unsafe {
            assert_eq!(libc::pwritev(file.as_raw_fd(), parts.as_ptr(), 2, 4), 8);
            assert_eq!(
                libc::pwritev2(file.as_raw_fd(), parts.as_ptr(), 2, -1, 0),
                8
            );
        }
        assert_eq!(fs::read(root.join("a")).unwrap(), b"onethreehree");
    });
    assert_eq!((counts.writes, counts.bytes_written), (2, 16));
}
