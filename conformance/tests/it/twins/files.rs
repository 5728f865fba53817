//! Twins of the tutorial's backend, which keeps its data in a folder.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sessionlog_conformance::{Capability, ChildCommand, Medium, Options, Place, Subject};
use sessionlog_core::{Backend, Memory, Result};

use super::{Fault, Faulty, must_fail, must_fail_with, twins};
use crate::custom_backend::{Journal, Mine};

/// Writes a file that its owner alone can read.
pub(super) fn private(path: &Path, content: &[u8]) {
    let mut file = private_file(path).unwrap();
    file.set_len(0).unwrap();
    file.write_all(content).unwrap();
}

/// Opens a file that its owner alone can read, a new one if there is none.
pub(super) fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a twin of the journal at a place.
async fn open(place: &Place, fault: Fault) -> Result<Faulty> {
    let journal = Mine::open(place).await?;
    let dir = place.dir();
    match fault {
        Fault::WorldReadable => drop(File::create(dir.join("shared")).unwrap()),
        Fault::OpeningWrites => {
            let path = dir.join("opened");
            let before = fs::read(&path).unwrap_or_default();
            private(&path, &[before, vec![b'x']].concat());
        }
        Fault::ReadsRewriteAFile if !dir.join("probe").exists() => {
            private(&dir.join("probe"), b"x");
        }
        Fault::ClearsForeignFiles => drop(fs::remove_file(dir.join("notes.txt"))),
        _ => {}
    }
    let mut twin = Faulty::new(Arc::new(journal) as Arc<dyn Backend>, fault);
    twin.dir = Some(dir.to_owned());
    Ok(twin)
}

macro_rules! over_files {
    ($twin:ident, $fault:ident) => {
        impl Subject for $twin {
            type Backend = Faulty;
            const MEDIUM: Medium = Medium::Directory;
            const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
            const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
            const GROUP_COMMIT: Capability = Mine::GROUP_COMMIT;
            const ONE_WRITE_ONE_FLUSH: Capability = Mine::ONE_WRITE_ONE_FLUSH;
            const FINDS_LOST_ENDS: Capability = Mine::FINDS_LOST_ENDS;
            const SALVAGES: Capability = Mine::SALVAGES;
            async fn open(place: &Place) -> Result<Faulty> {
                open(place, Fault::$fault).await
            }
        }
    };
}

twins! { "files", over_files;
    acknowledges_early AcknowledgesEarly [
        g02_a_killed_group_leaves_whole_batches,
        g03_killed_appends_leave_a_prefix,
        g03_kills_at_any_time_leave_a_prefix,
        g07_a_killed_holder_leaves_its_token,
        g11_killed_snapshots_and_blobs_are_whole_or_absent,
        g17_a_killed_delete_leaves_whole_or_gone,
        g20_a_killed_turn_resumes_as_a_valid_conversation,
    ]
    deletes_in_steps DeletesInSteps [
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g08_a_forced_grant_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_delete_is_refused,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_a_killed_delete_leaves_whole_or_gone,
        g17_power_loss_leaves_a_delete_whole_or_gone,
    ]
    lease_file_stays LeaseFileStays [
        g03_names_rest_on_flushes_of_their_folders,
        g07_a_killed_holder_leaves_its_token,
        g07_power_loss_takes_no_token_back,
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_a_killed_holder_is_replaced_at_once,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    clears_foreign_files ClearsForeignFiles [
        g16_foreign_files_are_left_alone,
    ]
    delete_leaves_a_file DeleteLeavesAFile [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g17_no_byte_of_a_deleted_session_stays,
    ]
    flushes_twice FlushesTwice [
        g03_a_lone_append_is_one_write_and_one_flush,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    opening_writes OpeningWrites [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g16_opening_to_read_changes_no_byte,
    ]
    reads_rewrite_a_file ReadsRewriteAFile [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g16_reading_makes_no_call_that_changes,
    ]
    reads_touch_a_file ReadsTouchAFile [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g16_opening_to_read_changes_no_byte,
        g16_reading_changes_no_byte,
        g16_reading_makes_no_call_that_changes,
    ]
    world_readable WorldReadable [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        y08_files_are_private_whatever_the_umask,
    ]
    tokens_restart TokensRestart [
        g03_names_rest_on_flushes_of_their_folders,
        g04_any_commands_show_what_the_reference_shows,
        g07_a_killed_holder_leaves_its_token,
        g07_damage_brings_no_token_back,
        g07_power_loss_takes_no_token_back,
        g07_tokens_grow_over_a_reopen,
        g09_a_killed_holder_is_replaced_at_once,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    puts_in_parts PutsInParts [
        a01_a_dropped_put_leaves_all_or_nothing,
        a01_a_source_that_fails_leaves_nothing,
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_in_any_work_leaves_a_prefix,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_put_is_refused,
        g11_killed_snapshots_and_blobs_are_whole_or_absent,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        g15_damage_gives_the_right_answer_or_an_error,
    ]
}

/// The twins whose subject is wrong, not their backend.
pub(crate) const OTHERS: &[(&str, &[&str])] = &[
    ("promises_too_much", PROMISES_TOO_MUCH),
    ("keeps_it_in_memory", KEEPS_IT_IN_MEMORY),
    ("writes_past_the_hooks", WRITES_PAST_THE_HOOKS),
    ("has_no_child", HAS_NO_CHILD),
];

const PROMISES_TOO_MUCH: &[&str] = &[
    "g01_appends_of_several_processes_are_one_order",
    "g03_concurrent_appends_share_flushes",
    "g06_another_process_sees_what_was_acknowledged",
    "g09_the_holder_in_another_process_is_told",
];
const KEEPS_IT_IN_MEMORY: &[&str] = &[
    "g02_a_killed_group_leaves_whole_batches",
    "g02_power_loss_leaves_whole_batches_of_a_group",
    "g03_a_flush_left_out_is_noticed",
    "g03_a_second_power_loss_takes_nothing_more",
    "g03_an_append_is_flushed_before_it_is_acknowledged",
    "g03_concurrent_appends_share_flushes",
    "g03_killed_appends_leave_a_prefix",
    "g03_kills_at_any_time_leave_a_prefix",
    "g03_names_rest_on_flushes_of_their_folders",
    "g03_power_loss_in_any_work_leaves_a_prefix",
    "g03_power_loss_leaves_a_prefix",
    "g03_the_folder_is_the_store",
    "g07_a_killed_holder_leaves_its_token",
    "g07_power_loss_takes_no_token_back",
    "g09_a_killed_holder_is_replaced_at_once",
    "g11_killed_snapshots_and_blobs_are_whole_or_absent",
    "g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent",
    "g13_a_disk_that_goes_on_failing_loses_nothing",
    "g13_a_failed_flush_before_a_kill_loses_nothing",
    "g13_a_failed_flush_behind_a_kill_loses_nothing",
    "g13_a_file_call_that_fails_loses_nothing",
    "g13_a_second_failing_call_loses_nothing",
    "g16_foreign_files_are_left_alone",
    "g17_a_killed_delete_leaves_whole_or_gone",
    "g17_power_loss_leaves_a_delete_whole_or_gone",
    "g20_a_killed_turn_resumes_as_a_valid_conversation",
    "g20_power_loss_leaves_a_conversation_that_resumes",
    "l0_the_place_is_used",
    "g01_an_append_to_a_damaged_store_is_right_or_refused",
    "g07_damage_brings_no_token_back",
    "g15_damage_gives_the_right_answer_or_an_error",
    "g15_damage_shortens_no_log_in_silence",
    "g15_repair_salvages_what_is_whole",
    "g15_verify_names_the_damage",
    "g16_damaged_files_stay_as_they_are",
];
const WRITES_PAST_THE_HOOKS: &[&str] = &[
    "g02_a_killed_group_leaves_whole_batches",
    "g02_power_loss_leaves_whole_batches_of_a_group",
    "g03_a_flush_left_out_is_noticed",
    "g03_a_second_power_loss_takes_nothing_more",
    "g03_an_append_is_flushed_before_it_is_acknowledged",
    "g03_concurrent_appends_share_flushes",
    "g03_killed_appends_leave_a_prefix",
    "g03_kills_at_any_time_leave_a_prefix",
    "g03_names_rest_on_flushes_of_their_folders",
    "g03_power_loss_in_any_work_leaves_a_prefix",
    "g03_power_loss_leaves_a_prefix",
    "g03_the_folder_is_the_store",
    "g07_a_killed_holder_leaves_its_token",
    "g07_power_loss_takes_no_token_back",
    "g09_a_killed_holder_is_replaced_at_once",
    "g11_killed_snapshots_and_blobs_are_whole_or_absent",
    "g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent",
    "g13_a_disk_that_goes_on_failing_loses_nothing",
    "g13_a_failed_flush_before_a_kill_loses_nothing",
    "g13_a_failed_flush_behind_a_kill_loses_nothing",
    "g13_a_file_call_that_fails_loses_nothing",
    "g13_a_second_failing_call_loses_nothing",
    "g16_foreign_files_are_left_alone",
    "g17_a_killed_delete_leaves_whole_or_gone",
    "g17_power_loss_leaves_a_delete_whole_or_gone",
    "g20_a_killed_turn_resumes_as_a_valid_conversation",
    "g20_power_loss_leaves_a_conversation_that_resumes",
    "l0_file_calls_are_seen",
    "l0_the_place_is_used",
    "g01_an_append_to_a_damaged_store_is_right_or_refused",
    "g07_damage_brings_no_token_back",
    "g15_damage_gives_the_right_answer_or_an_error",
    "g15_damage_shortens_no_log_in_silence",
    "g15_repair_salvages_what_is_whole",
    "g15_verify_names_the_damage",
    "g16_damaged_files_stay_as_they_are",
];
const HAS_NO_CHILD: &[&str] = &[
    "g02_a_killed_group_leaves_whole_batches",
    "g03_killed_appends_leave_a_prefix",
    "g03_kills_at_any_time_leave_a_prefix",
    "g07_a_killed_holder_leaves_its_token",
    "g09_a_killed_holder_is_replaced_at_once",
    "g11_killed_snapshots_and_blobs_are_whole_or_absent",
    "g17_a_killed_delete_leaves_whole_or_gone",
    "g20_a_killed_turn_resumes_as_a_valid_conversation",
    "l0_a_child_can_be_started",
    "l0_killed_known_stores_get_their_verdicts",
    "y08_files_are_private_whatever_the_umask",
];

/// It says that it can share flushes, and the folder with other processes.
#[test]
fn promises_too_much() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Journal;
        const MEDIUM: Medium = Medium::Directory;
        const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
        const FINDS_LOST_ENDS: Capability = Mine::FINDS_LOST_ENDS;
        const SALVAGES: Capability = Mine::SALVAGES;
        async fn open(place: &Place) -> Result<Journal> {
            Mine::open(place).await
        }
    }
    must_fail::<Twin>("twins::files::promises_too_much", PROMISES_TOO_MUCH);
}

/// It says that it keeps its data in the folder, and keeps it in memory.
#[test]
fn keeps_it_in_memory() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Directory;
        const SEVERAL_PROCESSES: Capability = Capability::No("it is a twin of one process");
        async fn open(place: &Place) -> Result<Memory> {
            Ok(place.keep(|| Memory::with_limits(super::memory::LIMITS)))
        }
        fn limits() -> sessionlog_core::Limits {
            super::memory::LIMITS
        }
    }
    must_fail::<Twin>("twins::files::keeps_it_in_memory", KEEPS_IT_IN_MEMORY);
}

/// What it writes is written by another process, which nobody watches.
#[test]
fn writes_past_the_hooks() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Directory;
        const SEVERAL_PROCESSES: Capability = Capability::No("it is a twin of one process");
        async fn open(place: &Place) -> Result<Memory> {
            let write = "umask 077; printf x > hidden";
            let shell = Command::new("sh")
                .args(["-c", write])
                .current_dir(place.dir())
                .status();
            assert!(shell.unwrap().success());
            Ok(place.keep(|| Memory::with_limits(super::memory::LIMITS)))
        }
        fn limits() -> sessionlog_core::Limits {
            super::memory::LIMITS
        }
    }
    must_fail::<Twin>("twins::files::writes_past_the_hooks", WRITES_PAST_THE_HOOKS);
}

/// The command that should start a child starts something else.
#[test]
fn has_no_child() {
    let child = ChildCommand::test("there is no test of this name");
    let options = Options::smoke().with_child(child);
    must_fail_with::<Mine>(&options, HAS_NO_CHILD);
}
