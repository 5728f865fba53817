//! Children of this test binary that are to end at an exact call.

use std::{
    fs::{self, File, OpenOptions},
    io::{IoSlice, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use sessionlog_crashfs::{Moment, Plan, arm_from_env};
use tempfile::tempdir;

const TEN: &[u8] = b"123456789\n";

/// Runs one test of this binary as a child with a plan.
fn child(test: &str, plan: &Plan) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--quiet"])
        .envs(plan.to_env())
        .stdout(Stdio::null())
        .status()
        .unwrap()
}

// The children: without a plan in the environment they have nothing to do.

/// Calls: create (1), write (2), flush (3), write (4), flush (5), rename (6).
#[test]
fn works_until_it_is_killed() {
    let Some(watch) = arm_from_env().unwrap() else {
        return;
    };
    let at = |name: &str| watch.root().join(name);
    let mut log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(at("log"))
        .unwrap();
    for _ in 0..2 {
        log.write_all(TEN).unwrap();
        log.sync_data().unwrap();
    }
    fs::rename(at("log"), at("done")).unwrap();
}

#[test]
fn scatters_until_it_is_killed() {
    let Some(watch) = arm_from_env().unwrap() else {
        return;
    };
    let mut file = File::create(watch.root().join("a")).unwrap();
    let parts = [
        IoSlice::new(b"one"),
        IoSlice::new(b"three"),
        IoSlice::new(b""),
    ];
    assert_eq!(file.write_vectored(&parts).unwrap(), 8);
}

#[test]
fn threads_work_until_they_are_killed() {
    let Some(watch) = arm_from_env().unwrap() else {
        return;
    };
    let root = watch.root();
    std::thread::scope(|scope| {
        for n in 0..4 {
            scope.spawn(move || {
                for i in 0..100 {
                    fs::create_dir(root.join(format!("{n}-{i}"))).unwrap();
                }
            });
        }
    });
}

/// The length of the log and whether it was renamed, after a stop at `n`.
fn after_stop(n: u64, moment: Moment) -> (Option<i32>, Option<u64>, bool) {
    let folder = tempdir().unwrap();
    let plan = Plan::new(folder.path()).stop_at(n, moment);
    let status = child("kill::works_until_it_is_killed", &plan);
    let len = |name: &str| fs::metadata(folder.path().join(name)).ok().map(|m| m.len());
    (
        status.signal(),
        len("log").or(len("done")),
        len("done").is_some(),
    )
}

#[test]
fn each_call_can_be_the_last_one() {
    let killed = Some(9);
    // create, write, flush, write, flush, rename
    let before = [None, Some(0), Some(10), Some(10), Some(20), Some(20)];
    let after = [Some(0), Some(10), Some(10), Some(20), Some(20), Some(20)];
    for (n, (before, after)) in (1..).zip(before.into_iter().zip(after)) {
        assert_eq!(
            after_stop(n, Moment::Before),
            (killed, before, false),
            "before call {n}"
        );
        assert_eq!(
            after_stop(n, Moment::After),
            (killed, after, n == 6),
            "after call {n}"
        );
    }
}

#[test]
fn half_of_a_write_is_written_and_nothing_of_another_call() {
    let killed = Some(9);
    for (n, len) in (1..).zip([None, Some(5), Some(10), Some(15), Some(20), Some(20)]) {
        assert_eq!(
            after_stop(n, Moment::Half),
            (killed, len, false),
            "half of call {n}"
        );
    }
}

#[test]
fn half_of_a_scattered_write_is_half_of_all_its_bytes() {
    let folder = tempdir().unwrap();
    let plan = Plan::new(folder.path()).stop_at(2, Moment::Half);
    assert_eq!(
        child("kill::scatters_until_it_is_killed", &plan).signal(),
        Some(9)
    );
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"onet");
}

#[test]
fn a_stop_that_is_not_reached_changes_nothing() {
    assert_eq!(after_stop(7, Moment::Before), (None, Some(20), true));
    assert_eq!(after_stop(0, Moment::Before), (None, Some(20), true));
}

#[test]
fn no_thread_carries_a_later_call_out() {
    for moment in [Moment::Before, Moment::After] {
        let folder = tempdir().unwrap();
        let plan = Plan::new(folder.path()).stop_at(150, moment);
        let status = child("kill::threads_work_until_they_are_killed", &plan);
        assert_eq!(status.signal(), Some(9));
        let made = fs::read_dir(folder.path()).unwrap().count();
        // Three other threads may have been on their way with a lower number.
        assert!((146..=150).contains(&made), "{made} folders");
    }
}

#[test]
fn a_plan_survives_the_environment_and_half_a_plan_is_refused() {
    let plan = Plan::new(Path::new("/tmp/x")).stop_at(3, Moment::Half);
    let env = plan.to_env();
    assert_eq!(env[0].1, "/tmp/x");
    assert_eq!(
        (env[1].1.to_str(), env[2].1.to_str()),
        (Some("3"), Some("half"))
    );

    let folder = tempdir().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::works_until_it_is_killed", "--quiet"])
        .env("CRASHFS_ROOT", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(101), "a panic: the number is missing");
}
