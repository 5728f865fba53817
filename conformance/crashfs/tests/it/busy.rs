//! Recording among threads, signals and forks: nothing hangs, nothing is out of order.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::Command,
    sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use sessionlog_crashfs::{Op, Recorder};
use tempfile::tempdir;

#[test]
fn overlapping_calls_of_threads_are_in_the_order_of_their_effects() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let path = |name: &str| folder.path().join(name);
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path("log"))
        .unwrap();
    std::thread::scope(|scope| {
        for n in 0..4_u8 {
            let (mut log, path) = (&log, &path);
            scope.spawn(move || {
                for i in 0..50 {
                    log.write_all(&vec![n; 1 + usize::from(n) + i % 7]).unwrap();
                    // Four threads fight for the same few names.
                    fs::write(path(&format!("tmp{n}")), [n]).unwrap();
                    fs::rename(path(&format!("tmp{n}")), path("one")).unwrap();
                    fs::remove_file(path("one")).ok();
                    drop(
                        OpenOptions::new()
                            .append(true)
                            .create(true)
                            .open(path("two"))
                            .unwrap(),
                    );
                    fs::remove_file(path("two")).ok();
                    fs::create_dir(path("dir")).ok();
                    fs::write(path("dir/a"), [n]).ok();
                    fs::rename(path("dir"), path(&format!("dir{n}"))).ok();
                    fs::remove_dir_all(path(&format!("dir{n}"))).ok();
                }
            });
        }
    });
    // The check is the assertion: the ops in this order make what is there.
    let record = recorder.finish().unwrap();
    assert!(record.ops.len() > 600, "{}", record.ops.len());
}

#[test]
fn forks_while_threads_record_do_not_hang() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let (done, outside) = (AtomicBool::new(false), tempdir().unwrap());
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (path, done) = (folder.path().join(n.to_string()), &done);
            scope.spawn(move || {
                let mut file = File::create(path).unwrap();
                while !done.load(Ordering::Relaxed) {
                    file.write_all(b"x").unwrap();
                    file.sync_data().unwrap();
                }
            });
        }
        for _ in 0..50 {
            let mut file = File::create(outside.path().join("child")).unwrap();
            let inside = folder.path().join("made-by-a-child");
            let mut command = Command::new("true");
            // SAFETY: calls on files, which are safe in a forked child.
            unsafe {
                command.pre_exec(move || {
                    file.write_all(b"child")?;
                    fs::create_dir(&inside)?;
                    fs::remove_dir(&inside)
                })
            };
            assert!(command.status().unwrap().success());
        }
        done.store(true, Ordering::Relaxed);
    });
    recorder.finish().unwrap();
}

static SIGNALLED: AtomicI32 = AtomicI32::new(-1);
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: libc::c_int) {
    let fd = SIGNALLED.load(Ordering::SeqCst);
    // SAFETY: as many bytes as said.
    unsafe { libc::write(fd, c"!".as_ptr().cast(), 1) };
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_signal_handler_that_writes_below_the_root_does_not_hang() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let mut log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.path().join("log"))
        .unwrap();
    SIGNALLED.store(log.as_raw_fd(), Ordering::SeqCst);
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: the handler only makes calls that are allowed in one.
    unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
    // SAFETY: this thread, which outlives the scope.
    let me = unsafe { libc::pthread_self() };
    let done = AtomicBool::new(false);
    let mut written = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut sent = 0;
            while !done.load(Ordering::Relaxed) {
                if HANDLED.load(Ordering::SeqCst) == sent {
                    sent += 1;
                    // SAFETY: as above.
                    unsafe { libc::pthread_kill(me, libc::SIGUSR2) };
                }
                std::thread::yield_now();
            }
        });
        while HANDLED.load(Ordering::SeqCst) < 100 && written < 1_000_000 {
            log.write_all(b"x").unwrap();
            written += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    let handled = HANDLED.load(Ordering::SeqCst);
    assert!(handled >= 100, "{handled} signals in {written} writes");
    let record = recorder.finish().unwrap();
    let writes = record
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Write { .. }))
        .count();
    assert_eq!(writes as u64, written + handled);
}
