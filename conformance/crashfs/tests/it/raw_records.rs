//! The record of calls that std doesn't make.

use std::{
    ffi::{CString, c_void},
    fs::{self, File},
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use sessionlog_crashfs::{Allocation, FileId, Op};

use crate::records::{place, recorded, write};

const A: FileId = FileId(1);

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

#[test]
fn every_mode_of_fallocate_is_told_and_applied() {
    let record = recorded(|at| {
        fs::write(at.join("a"), vec![7; 20_000]).unwrap();
        let file = File::options().write(true).open(at.join("a")).unwrap();
        let allocate = |mode, offset, len| {
            // SAFETY: plain numbers.
            unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) }
        };
        let keep = libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!(allocate(0, 0, 30_000), 0);
        assert_eq!(allocate(keep, 0, 100_000), 0);
        for mode in [
            libc::FALLOC_FL_PUNCH_HOLE | keep,
            libc::FALLOC_FL_ZERO_RANGE,
            libc::FALLOC_FL_ZERO_RANGE | keep,
            libc::FALLOC_FL_COLLAPSE_RANGE,
            libc::FALLOC_FL_INSERT_RANGE,
        ] {
            // Not every file system knows every mode: then nothing is recorded.
            allocate(mode, 4096, 4096);
        }
    });
    let asked = |how| {
        let same = |op: &&Op| matches!(op, Op::Allocate { how: h, .. } if *h == how);
        record.ops.iter().filter(same).count()
    };
    assert_eq!(
        (asked(Allocation::Grow), asked(Allocation::Reserve)),
        (1, 1)
    );
}

#[test]
fn an_unnamed_file_gets_its_name_by_a_link() {
    let record = recorded(|at| {
        let (dir, name) = (c(at), c(&at.join("named")));
        let flags = libc::O_TMPFILE | libc::O_WRONLY;
        // SAFETY: the paths end with a NUL; the descriptor is new.
        let file = unsafe {
            let fd = libc::open(dir.as_ptr(), flags, 0o600 as libc::c_uint);
            assert!(fd >= 0);
            File::from_raw_fd(fd)
        };
        std::io::Write::write_all(&mut &file, b"x").unwrap();
        let link = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: the paths end with a NUL.
        let linked = unsafe { libc::linkat(here, link.as_ptr(), here, name.as_ptr(), follow) };
        assert_eq!(linked, 0);
    });
    let named = place(FileId::ROOT, "named");
    let expected = [
        Op::CreateUnnamed { file: A },
        write(A, 0, b"x"),
        Op::Link {
            file: A,
            place: named,
        },
    ];
    assert_eq!(record.ops, expected);
}

#[test]
fn names_are_exchanged_and_not_replaced() {
    let record = recorded(|at| {
        fs::write(at.join("a"), b"1").unwrap();
        fs::create_dir(at.join("d")).unwrap();
        let rename = |from: &str, to: &str, flags| {
            let (from, to) = (c(&at.join(from)), c(&at.join(to)));
            let here = libc::AT_FDCWD;
            // SAFETY: the paths end with a NUL.
            unsafe { libc::renameat2(here, from.as_ptr(), here, to.as_ptr(), flags) }
        };
        assert_eq!(rename("a", "d", libc::RENAME_EXCHANGE), 0);
        assert_eq!(rename("a", "d", libc::RENAME_NOREPLACE), -1);
        assert_eq!(rename("a", "e", libc::RENAME_NOREPLACE), 0);
        assert!(at.join("d").is_file() && at.join("e").is_dir());
    });
    let (dir, at) = (FileId(2), |name| place(FileId::ROOT, name));
    let exchange = Op::Exchange {
        a: A,
        a_place: at("a"),
        b: dir,
        b_place: at("d"),
    };
    let rename = Op::Rename {
        node: dir,
        from: at("a"),
        to: at("e"),
        replaced: None,
    };
    assert_eq!(record.ops[3..], [exchange, rename]);
}

#[test]
fn scattered_writes_and_their_flags() {
    let record = recorded(|at| {
        let file = File::create(at.join("a")).unwrap();
        let part = |bytes: &'static [u8]| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(),
            iov_len: bytes.len(),
        };
        let (fd, parts) = (file.as_raw_fd(), [part(b"one"), part(b""), part(b"three")]);
        // SAFETY: the parts live as long as the program.
        unsafe {
            assert_eq!(libc::pwritev(fd, parts.as_ptr(), 3, 4), 8);
            assert_eq!(
                libc::pwritev2(fd, parts.as_ptr(), 1, -1, libc::RWF_DSYNC),
                3
            );
            assert_eq!(
                libc::pwritev2(fd, parts.as_ptr(), 1, 0, libc::RWF_APPEND),
                3
            );
            assert_eq!(libc::write(fd, std::ptr::null(), 0), 0);
            assert_eq!(libc::write(fd, std::ptr::null(), 5), -1);
        }
    });
    let (file, data_only, ok) = (A, true, true);
    let expected = [
        write(A, 4, b"onethree"),
        write(A, 0, b"one"),
        Op::Flush {
            file,
            data_only,
            ok,
        },
        write(A, 12, b"one"),
    ];
    assert_eq!(record.ops[1..], expected);
}

#[test]
fn truncating_by_name_and_flushing_everything() {
    let record = recorded(|at| {
        fs::write(at.join("a"), b"12345").unwrap();
        let (path, file) = (c(&at.join("a")), File::open(at.join("a")).unwrap());
        // SAFETY: the path ends with a NUL.
        unsafe {
            assert_eq!(libc::truncate(path.as_ptr(), 3), 0);
            assert_eq!(libc::syncfs(file.as_raw_fd()), 0);
            assert_eq!(libc::sync_file_range(file.as_raw_fd(), 0, 0, 0), 0);
        }
    });
    let expected = [Op::Truncate { file: A, len: 3 }, Op::FlushAll { ok: true }];
    assert_eq!(record.ops[2..], expected);
}

#[test]
fn names_relative_to_a_folder_are_found() {
    let record = recorded(|at| {
        fs::create_dir(at.join("d")).unwrap();
        let dir = File::open(at.join("d")).unwrap();
        let fd = dir.as_raw_fd();
        // SAFETY: the names end with a NUL.
        unsafe {
            assert_eq!(libc::mkdirat(fd, c"e//".as_ptr(), 0o755), 0);
            assert_eq!(libc::symlinkat(c"t".as_ptr(), fd, c"./e/l".as_ptr()), 0);
            assert_eq!(libc::renameat(fd, c"e/l".as_ptr(), fd, c"m".as_ptr()), 0);
            assert_eq!(libc::unlinkat(fd, c"e".as_ptr(), libc::AT_REMOVEDIR), 0);
        }
    });
    let (d, e, l) = (FileId(1), FileId(2), FileId(3));
    let target = place(d, "t").name;
    let expected = [
        Op::Mkdir {
            dir: e,
            place: place(d, "e"),
        },
        Op::Symlink {
            link: l,
            place: place(e, "l"),
            target,
        },
        Op::Rename {
            node: l,
            from: place(e, "l"),
            to: place(d, "m"),
            replaced: None,
        },
        Op::Rmdir {
            dir: e,
            place: place(d, "e"),
        },
    ];
    assert_eq!(record.ops[1..], expected);
}
