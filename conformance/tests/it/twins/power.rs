//! Twins that fail when the power goes, or a disk fails: what they store reaches the place with a
//! fault.
//!
//! The tutorial's backend works in a folder that nobody looks at, and each change of its journal
//! is brought to the place before it is acknowledged.

mod mirror;

use sessionlog_conformance::{Capability, Law, Level, Medium, Options, Place, Subject, run_some};
use sessionlog_core::Result;

use super::must_fail_some;
use crate::specimens::mirrored::Mirrored;
use mirror::{Fault, Mirror};

/// What these can fail: a kill takes nothing that was written. Whether threads meet between the parts of
/// a split batch is chance.
fn wanted(law: &Law) -> bool {
    law.id != "g05_one_of_n_racing_threads_wins"
        && matches!(law.level, Level::Contract | Level::Power | Level::Errors)
}

macro_rules! mirrored {
    ($twin:ident, $fault:ident) => {
        impl Subject for $twin {
            type Backend = Mirrored;
            const MEDIUM: Medium = Medium::Directory;
            const SEVERAL_HANDLES: Capability = Capability::No("it is a twin of one handle");
            const SEVERAL_PROCESSES: Capability = Capability::No("it is a twin of one process");
            const GROUP_COMMIT: Capability = Capability::No("each append is flushed alone");
            async fn open(place: &Place) -> Result<Mirrored> {
                let dir = place.dir();
                let store = Mirrored::open(dir, Mirror::open(dir, Fault::$fault)).await?;
                Ok(match Fault::$fault {
                    Fault::SplitsBatches => store.splitting(),
                    _ => store,
                })
            }
        }
    };
}

/// Without a fault it upholds everything: what the twins fail, they fail by their faults.
#[test]
fn a_mirror_without_a_fault_passes() {
    struct Twin;
    mirrored!(Twin, None);
    must_fail_some::<Twin>(&Options::smoke(), &[], wanted);
}

/// What is saved of a failure shows it again: of a power loss the same folder, and nothing else.
#[test]
fn a_saved_failure_is_seen_again() {
    struct Twin;
    mirrored!(Twin, NoFlush);
    let folder = tempfile::tempdir().unwrap();
    for (id, most) in [
        ("g03_power_loss_leaves_a_prefix", 1),
        ("g13_a_file_call_that_fails_loses_nothing", 10),
        ("g13_a_failed_flush_behind_a_kill_loses_nothing", 10),
    ] {
        let options = Options::smoke().with_artefacts(folder.path());
        let report = run_some::<Twin>(&options, |law| law.id == id);
        let first = &report.outcomes[0];
        let file = first.artefact.as_ref().unwrap();
        let options = Options::smoke().with_replay(file);
        let report = run_some::<Twin>(&options, |law| law.id == id);
        let again = &report.outcomes[0];
        assert_eq!(again.verdict.name(), "FAILED", "{again}");
        assert_eq!(again.verdict, first.verdict);
        assert!(again.sometimes["power losses"] <= most, "{again:?}");
        // No step is left that is not needed.
        let reason = first.verdict.reason().unwrap_or_default();
        assert!(reason.matches("append").count() <= 3, "{first}");
    }
}

macro_rules! power_twins {
    ($($name:ident $fault:ident [$($law:ident),* $(,)?])*) => {
        $(
            #[test]
            fn $name() {
                struct Twin;
                mirrored!(Twin, $fault);
                let expected = &[$(stringify!($law)),*];
                must_fail_some::<Twin>(&Options::smoke(), expected, wanted);
            }
        )*

        /// The twins and the laws that they must fail.
        pub(crate) const ALL: &[(&str, &[&str])] = &[
            $((stringify!($name), &[$(stringify!($law)),*])),*
        ];
    };
}

power_twins! {
    no_flush NoFlush [
        g02_power_loss_leaves_whole_batches_of_a_group,
        g03_a_second_power_loss_takes_nothing_more,
        g03_an_append_is_flushed_before_it_is_acknowledged,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_in_any_work_leaves_a_prefix,
        g03_power_loss_leaves_a_prefix,
        g07_power_loss_takes_no_token_back,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g17_power_loss_leaves_a_delete_whole_or_gone,
        g20_power_loss_leaves_a_conversation_that_resumes,
    ]
    flush_before_write FlushBeforeWrite [
        g02_power_loss_leaves_whole_batches_of_a_group,
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_in_any_work_leaves_a_prefix,
        g03_power_loss_leaves_a_prefix,
        g07_power_loss_takes_no_token_back,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g17_power_loss_leaves_a_delete_whole_or_gone,
        g20_power_loss_leaves_a_conversation_that_resumes,
    ]
    no_folder_flush NoFolderFlush [
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g17_power_loss_leaves_a_delete_whole_or_gone,
    ]
    no_checksum NoChecksum [
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_leaves_a_prefix,
    ]
    no_tail_repair NoTailRepair [
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_in_any_work_leaves_a_prefix,
        g03_power_loss_leaves_a_prefix,
        g07_power_loss_takes_no_token_back,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
        g17_power_loss_leaves_a_delete_whole_or_gone,
    ]
    flushes_twice FlushesTwice [
        g03_a_flush_left_out_is_noticed,
    ]
    splits_batches SplitsBatches [
        g01_a_refused_append_uses_no_position,
        g02_power_loss_leaves_whole_batches_of_a_group,
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g03_power_loss_in_any_work_leaves_a_prefix,
        g03_power_loss_leaves_a_prefix,
        g07_power_loss_takes_no_token_back,
        g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_refused_append_changes_nothing,
        g13_a_second_failing_call_loses_nothing,
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
        g17_power_loss_leaves_a_delete_whole_or_gone,
        g18_a_partial_repeat_is_refused,
        g18_an_id_twice_in_a_batch_is_refused,
        g20_power_loss_leaves_a_conversation_that_resumes,
    ]
    truncates_in_place TruncatesInPlace [
        g03_a_second_power_loss_takes_nothing_more,
        g03_names_rest_on_flushes_of_their_folders,
        g17_power_loss_leaves_a_delete_whole_or_gone,
    ]
    truncates_once TruncatesOnce [
        g03_power_loss_in_any_work_leaves_a_prefix,
    ]
    grant_errors_ignored GrantErrorsIgnored [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    flush_retried FlushRetried [
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    trusts_the_past TrustsThePast [
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
    ]
    flushes_the_past FlushesThePast [
        g13_a_failed_flush_before_a_kill_loses_nothing,
    ]
    mended_later MendedLater [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
    cure_believed CureBelieved [
        g13_a_second_failing_call_loses_nothing,
    ]
    errors_ignored ErrorsIgnored [
        g13_a_disk_that_goes_on_failing_loses_nothing,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        g13_a_file_call_that_fails_loses_nothing,
        g13_a_second_failing_call_loses_nothing,
    ]
}
