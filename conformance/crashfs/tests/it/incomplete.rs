//! What a recorder did not see or can't tell is never silence.

use std::{
    arch::asm,
    fs::{self, File},
    io::{self, Write},
    os::{fd::AsRawFd, unix::net::UnixListener, unix::process::CommandExt},
    path::Path,
    process::Command,
};

use sessionlog_crashfs::Recorder;
use tempfile::tempdir;

/// Why the record of `work` is not complete.
fn reason(work: impl FnOnce(&Path)) -> String {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    work(folder.path());
    recorder.finish().unwrap_err().to_string()
}

/// Writes by a system call of its own, past every hook.
fn hidden_write(file: &File, bytes: &[u8]) {
    let (fd, from, len) = (file.as_raw_fd() as usize, bytes.as_ptr(), bytes.len());
    let wrote: isize;
    // SAFETY: `write` with as many bytes as there are.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            inlateout("rax") libc::SYS_write as isize => wrote,
            in("rdi") fd, in("rsi") from, in("rdx") len,
            lateout("rcx") _, lateout("r11") _,
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            in("x8") libc::SYS_write,
            inlateout("x0") fd as isize => wrote,
            in("x1") from, in("x2") len,
        );
    }
    assert_eq!(wrote, bytes.len() as isize);
}

#[test]
fn a_write_past_the_hooks_is_found_out() {
    let said = reason(|at| {
        let mut file = File::create(at.join("a")).unwrap();
        file.write_all(b"seen").unwrap();
        hidden_write(&file, b"not seen");
    });
    assert!(
        said.contains("a has 4 bytes in the record and 12"),
        "{said}"
    );

    let said = reason(|at| {
        let mut file = File::create(at.join("a")).unwrap();
        file.write_all(b"seen").unwrap();
        io::Seek::rewind(&mut file).unwrap();
        hidden_write(&file, b"S");
    });
    assert!(said.contains("differs from byte 0"), "{said}");
}

#[test]
fn a_write_through_a_name_outside_is_found_out() {
    let outside = tempdir().unwrap();
    let said = reason(|at| {
        fs::write(at.join("a"), b"x").unwrap();
        fs::hard_link(at.join("a"), outside.path().join("b")).unwrap();
        fs::write(outside.path().join("b"), b"other").unwrap();
    });
    assert!(said.contains("a has 1 bytes in the record and 5"), "{said}");
}

#[test]
fn what_a_child_does_is_found_out() {
    let said = reason(|at| {
        let sh = ["-c", "mkdir by-a-child"];
        assert!(
            Command::new("sh")
                .args(sh)
                .current_dir(at)
                .status()
                .unwrap()
                .success()
        );
    });
    assert!(said.contains("by-a-child is in the folder only"), "{said}");

    let said = reason(|at| {
        let mut file = File::create(at.join("a")).unwrap();
        let mut command = Command::new("true");
        // SAFETY: writing is allowed in a forked child.
        unsafe { command.pre_exec(move || file.write_all(b"forked")) };
        assert!(command.status().unwrap().success());
    });
    assert!(said.contains("a has 0 bytes in the record and 6"), "{said}");
}

#[test]
fn what_comes_from_outside_or_leaves_with_its_contents_can_not_be_told() {
    let outside = tempdir().unwrap();
    let there = |name: &str| outside.path().join(name);
    fs::write(there("a"), b"x").unwrap();
    fs::write(there("b"), b"x").unwrap();
    let said = reason(|at| fs::rename(there("a"), at.join("a")).unwrap());
    assert!(said.contains("from outside"), "{said}");
    let said = reason(|at| fs::hard_link(there("b"), at.join("b")).unwrap());
    assert!(
        said.contains("op 0") && said.contains("nobody saw"),
        "{said}"
    );
    let said = reason(|at| {
        fs::create_dir(at.join("d")).unwrap();
        fs::rename(at.join("d"), there("d")).unwrap();
    });
    assert!(said.contains("a folder was renamed"), "{said}");
}

#[test]
fn a_removed_and_hidden_name_is_found_out() {
    let outside = tempdir().unwrap();
    let said = reason(|at| {
        fs::write(at.join("a"), b"x").unwrap();
        // The whole folder goes away and another one comes.
        fs::rename(at, outside.path().join("moved")).unwrap();
        fs::create_dir(at).unwrap();
    });
    assert!(said.contains("a is in the record only"), "{said}");
}

#[test]
fn something_that_is_no_file_is_refused() {
    let folder = tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let error = Recorder::new(folder.path()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    drop(listener);
    fs::remove_file(&socket).unwrap();
    let said = reason(|at| drop(UnixListener::bind(at.join("socket")).unwrap()));
    assert!(said.contains("no file, folder or link"), "{said}");
    let none = Recorder::new(folder.path().join("none")).unwrap_err();
    assert_eq!(none.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_record_that_needs_more_room_says_so() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::with_room(folder.path(), 10_000).unwrap();
    fs::write(folder.path().join("a"), vec![1; 5_000]).unwrap();
    let before = recorder.mark();
    fs::write(folder.path().join("b"), vec![1; 5_000]).unwrap();
    fs::write(folder.path().join("c"), b"small").unwrap();
    assert_eq!(
        (before, recorder.mark()),
        (2, 3),
        "nothing after what had no room"
    );
    let said = recorder.finish().unwrap_err().to_string();
    assert!(said.contains("no room"), "{said}");
}
