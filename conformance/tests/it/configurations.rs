//! Known configurations of stores: the good ones uphold every law of power loss, the bad ones fail.

use sessionlog_conformance::{Options, Subject, run_some};

use crate::specimens::{objects, of_power, redb, sqlite};

const LOSES: &[&str] = &["g03_power_loss_leaves_a_prefix"];

/// It fails these laws at least; if there are none, it upholds all.
fn must<S: Subject>(fail: &[&str]) {
    let report = run_some::<S>(&Options::smoke(), of_power);
    let red = report.outcomes.iter().filter(|o| !o.verdict.is_green());
    let red: Vec<_> = red.map(|o| o.law).collect();
    if fail.is_empty() {
        assert!(red.is_empty(), "this is a good one:\n{report}");
    }
    for law in fail {
        assert!(
            red.contains(law),
            "{law} must fail, and these did: {red:#?}"
        );
    }
}

#[test]
fn sqlite_with_wal_and_full_is_durable() {
    must::<sqlite::WalFull>(&[]);
}

#[test]
fn sqlite_with_delete_and_extra_is_durable() {
    must::<sqlite::DeleteExtra>(&[]);
}

#[test]
fn sqlite_with_wal_and_normal_loses_acknowledged_commits() {
    must::<sqlite::WalNormal>(LOSES);
}

#[test]
fn sqlite_with_off_loses_acknowledged_commits() {
    must::<sqlite::WalOff>(LOSES);
}

#[test]
fn sqlite_with_delete_and_full_loses_acknowledged_commits() {
    must::<sqlite::DeleteFull>(LOSES);
}

#[test]
fn redb_that_is_created_in_its_place_may_never_open() {
    must::<redb::Immediate>(LOSES);
}

#[test]
fn redb_without_durability_loses_commits() {
    must::<redb::None>(LOSES);
}

#[test]
fn objects_in_a_folder_that_nobody_flushes_are_lost() {
    must::<objects::Unflushed>(LOSES);
}
