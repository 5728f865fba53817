//! Forked and spawned children: they must not hang, count or be stopped.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::process::CommandExt,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use sessionlog_crashfs::{Moment, Watch};
use tempfile::tempdir;

#[test]
fn a_child_that_writes_before_exec_neither_hangs_nor_counts() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let mut file = File::create(root.path().join("a")).unwrap();
    let twin = file.try_clone().unwrap();
    let before = watch.counts();
    // The child would be killed if its calls were numbered.
    watch.stop_at(1, Moment::Before);
    let mut command = Command::new("true");
    // SAFETY: only calls of the file are made, which are safe in a forked child.
    unsafe {
        command.pre_exec(move || {
            (&twin).write_all(b"from the child")?;
            twin.sync_all()
        });
    }
    let status = command.status().unwrap();
    watch.stop_at(0, Moment::Before);
    assert!(status.success(), "{status}");
    assert_eq!(watch.counts(), before);
    assert_eq!(fs::read(root.path().join("a")).unwrap(), b"from the child");
    file.write_all(b"!").unwrap();
    assert_eq!(watch.counts().since(&before).writes, 1);
}

#[test]
fn forks_while_other_threads_write_do_not_hang() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..3 {
            let path = root.path().join(n.to_string());
            let done = &done;
            scope.spawn(move || {
                let mut file = File::create(path).unwrap();
                while !done.load(Ordering::Relaxed) {
                    file.write_all(b"x").unwrap();
                }
            });
        }
        for _ in 0..50 {
            let file = File::create(root.path().join("child")).unwrap();
            let mut command = Command::new("true");
            // SAFETY: as above.
            unsafe { command.pre_exec(move || (&file).write_all(b"child")) };
            assert!(command.status().unwrap().success());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(watch.counts().failed, 0);
}

#[test]
fn a_spawned_program_writes_below_the_root_without_being_counted() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let status = Command::new("sh")
        .args(["-c", "echo hello > a && mkdir b"])
        .current_dir(root.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(watch.counts().calls(), 0);
    assert_eq!(fs::read(root.path().join("a")).unwrap(), b"hello\n");
}

#[test]
fn a_program_that_writes_to_a_watched_file_as_its_output_is_not_counted() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let out = File::create(root.path().join("out")).unwrap();
    assert!(
        Command::new("echo")
            .arg("hi")
            .stdout(out)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!((watch.counts().creates, watch.counts().calls()), (1, 1));
}
