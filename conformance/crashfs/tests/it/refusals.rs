//! What would go around the hooks is refused while somebody watches.

use std::{fs::File, os::fd::AsRawFd};

use sessionlog_crashfs::Watch;
use tempfile::tempdir;

use crate::std_calls::counted;

fn errno() -> Option<i32> {
    std::io::Error::last_os_error().raw_os_error()
}

#[test]
fn copies_inside_the_kernel_to_a_watched_file_are_refused() {
    let counts = counted(|root| {
        let outside = tempdir().unwrap();
        std::fs::write(outside.path().join("a"), b"content").unwrap();
        let source = File::open(outside.path().join("a")).unwrap();
        let (to, elsewhere) = (
            File::create(root.join("b")).unwrap(),
            File::create(outside.path().join("c")).unwrap(),
        );
        let (from, to, elsewhere) = (source.as_raw_fd(), to.as_raw_fd(), elsewhere.as_raw_fd());
        let (mut at, null) = (0, std::ptr::null_mut());
        // SAFETY: the offset outlives the calls.
        unsafe {
            assert_eq!(libc::copy_file_range(from, &mut at, to, null, 7, 0), -1);
            assert_eq!(errno(), Some(libc::EXDEV));
            assert_eq!(libc::sendfile(to, from, &mut at, 7), -1);
            assert_eq!(errno(), Some(libc::EINVAL));
            assert_eq!(libc::ioctl(to, 0x4004_9409, from), -1);
            assert_eq!(errno(), Some(libc::EOPNOTSUPP));
            assert_eq!(libc::sendfile(elsewhere, from, &mut at, 7), 7);
        }
    });
    assert_eq!((counts.creates, counts.calls()), (1, 1), "{counts:?}");
}

#[test]
fn io_uring_can_not_be_set_up_while_a_watch_is_open() {
    let root = tempdir().unwrap();
    let _watch = Watch::new(root.path()).unwrap();
    // SAFETY: the kernel is not reached.
    let answer = unsafe { libc::syscall(libc::SYS_io_uring_setup, 8, std::ptr::null::<u8>()) };
    assert_eq!((answer, errno()), (-1, Some(libc::ENOSYS)));
}

#[test]
fn calls_by_number_are_counted_like_calls_by_name() {
    let counts = counted(|root| {
        let file = File::create(root.join("a")).unwrap();
        let fd = file.as_raw_fd();
        // SAFETY: as many bytes as said.
        unsafe {
            assert_eq!(libc::syscall(libc::SYS_write, fd, c"abc".as_ptr(), 3), 3);
            assert_eq!(
                libc::syscall(libc::SYS_pwrite64, fd, c"abc".as_ptr(), 3, 100),
                3
            );
            assert_eq!(libc::syscall(libc::SYS_fsync, fd), 0);
            let mut how: libc::open_how = std::mem::zeroed();
            how.flags = (libc::O_CREAT | libc::O_WRONLY) as u64;
            how.mode = 0o600;
            let path = std::ffi::CString::new(root.join("b").to_str().unwrap()).unwrap();
            let size = size_of::<libc::open_how>();
            let made = libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw const how,
                size,
            );
            assert!(made >= 0);
            libc::close(made as i32);
            assert!(libc::syscall(libc::SYS_gettid) > 0);
        }
        assert_eq!(file.metadata().unwrap().len(), 103);
    });
    assert_eq!(
        (counts.writes, counts.bytes_written, counts.fsyncs),
        (2, 6, 1)
    );
    assert_eq!((counts.creates, counts.calls()), (2, 5));
}
