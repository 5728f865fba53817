//! Every capability, and the laws that are not asked of a backend that declines it: those and no other,
//! alone and together with any others.

use std::collections::BTreeSet;

use super::*;
use crate::Level;
use crate::known::Known;

const WHY: &str = "it is declined";

type Decline = fn(&mut Erased);

macro_rules! capabilities {
    ($($field:ident [$($law:ident),* $(,)?])*) => {
        const CAPABILITIES: &[(Decline, &[&str])] = &[
            $((|s| s.$field = Capability::No(WHY), &[$(stringify!($law)),*])),*
        ];
    };
}

capabilities! {
    several_handles [
        a01_an_open_beside_a_put_takes_nothing_of_it,
        g05_one_of_n_racing_handles_wins,
        g06_a_follower_learns_of_another_handles_delete,
        g06_a_follower_wakes_up_for_another_handle,
        g06_each_handle_sees_creations_and_deletions,
        g06_each_handle_sees_what_was_acknowledged,
        g08_a_grant_on_another_handle_fences_the_holder,
        g09_the_second_handle_is_told_who_holds_the_lease,
    ]
    several_processes [
        g01_appends_of_several_processes_are_one_order,
        g06_another_process_sees_what_was_acknowledged,
        g06_processes_make_one_history,
        g08_a_stopped_holder_is_fenced,
        g09_processes_hold_the_lease_one_at_a_time,
        g09_the_holder_in_another_process_is_told,
        g14_lists_beside_other_processes_are_right,
    ]
    forced_leases [
        a01_object_faults_leave_blobs_whole_or_absent,
        g02_an_operation_given_up_among_requests_is_whole_or_absent,
        g07_tokens_grow_by_force,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_fences_a_snapshot_under_way,
        g08_a_grant_fences_an_append_under_way,
        g08_a_stopped_holder_is_fenced,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g10_release_after_a_forced_grant_frees_nobody,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
    ]
    prompt_leases [
        g09_a_dropped_lease_is_free_at_once,
        g09_a_killed_holder_is_replaced_at_once,
        g09_processes_hold_the_lease_one_at_a_time,
        g09_the_holder_in_another_process_is_told,
        g09_threads_hold_the_lease_one_at_a_time,
    ]
    live_notification [
        g06_a_follower_learns_of_another_handles_delete,
        g06_a_follower_wakes_up_for_another_handle,
        g16_followers_beside_writers_miss_nothing,
    ]
    group_commit [g03_concurrent_appends_share_flushes]
    one_write_one_flush [g03_a_lone_append_is_one_write_and_one_flush]
    silent_open [
        g16_damaged_files_stay_as_they_are,
        g16_opening_to_read_changes_no_byte,
    ]
    erases_bytes [g17_no_byte_of_a_deleted_session_stays]
    private_files [y08_files_are_private_whatever_the_umask]
    refuses_unfit_stores [
        g05_a_store_that_ignores_conditions_is_refused,
        g06_a_store_whose_lists_lag_is_refused,
    ]
    linearizable_reads []
    finds_lost_ends []
    finds_lost_names []
    salvages [g15_repair_salvages_what_is_whole]
    posix_names [g03_names_rest_on_flushes_of_their_folders]
}

/// A store that declines nothing.
fn whole(known: Known) -> Erased {
    let mut subject = known.subject();
    subject.several_handles = Capability::Yes;
    subject.several_processes = Capability::Yes;
    subject.group_commit = Capability::Yes;
    subject.one_write_one_flush = Capability::Yes;
    subject.finds_lost_ends = Capability::Yes;
    subject.salvages = Capability::Yes;
    subject
}

/// The laws that are not asked of a subject because it declines something.
fn declined(subject: &Erased, options: &Options) -> BTreeSet<&'static str> {
    let is_declined = |need: &Need| {
        *need != Need::Calls
            && unmet(*need, subject, options) == Some(Verdict::Skipped(WHY.to_owned()))
    };
    let laws = laws().filter(|law| law.needs.iter().any(is_declined));
    laws.map(|law| law.id).collect()
}

#[test]
fn every_combination_of_capabilities_takes_its_own_laws_away_and_no_other() {
    let options = Options::smoke();
    for choice in 0..1_u32 << CAPABILITIES.len() {
        let mut subject = whole(Known::GoodFiles);
        let mut expected = BTreeSet::new();
        for (n, (decline, laws)) in CAPABILITIES.iter().enumerate() {
            if choice & 1 << n != 0 {
                decline(&mut subject);
                expected.extend(laws.iter().copied());
            }
        }
        assert_eq!(declined(&subject, &options), expected, "choice {choice:b}");
    }
}

/// Runs the laws of a level on a subject with and without capabilities: the same verdicts, but for the
/// laws that are not asked any more.
fn same_but_for(known: Known, level: Level, without: &[usize]) {
    let options = Options::smoke().with_patience(400);
    let subject = known.subject();
    let (mut less, mut skipped) = (subject, BTreeSet::new());
    for n in without {
        let (decline, laws) = CAPABILITIES[*n];
        decline(&mut less);
        skipped.extend(laws.iter().copied());
    }
    for law in laws().filter(|law| law.level == level) {
        let verdict = run_law(less, law, &options).verdict;
        // What was no pass before, for want of a child or of another medium, says nothing.
        if skipped.contains(law.id) {
            assert!(matches!(verdict, Verdict::Skipped(_)), "{}", law.id);
        } else if verdict != Verdict::Passed {
            let before = run_law(subject, law, &options).verdict;
            assert_eq!(verdict.name(), before.name(), "{}: {verdict:?}", law.id);
        }
    }
}

#[test]
fn each_capability_alone_changes_no_other_law_of_the_contract() {
    // Those of files change nothing in memory.
    for n in [0, 2, 3, 4, 11] {
        same_but_for(Known::GoodMemory, Level::Contract, &[n]);
        same_but_for(Known::GoodMemory, Level::Race, &[n]);
    }
}

#[test]
fn a_store_of_files_that_declines_everything_upholds_all_the_rest() {
    let all: Vec<usize> = (0..CAPABILITIES.len()).collect();
    for level in [Level::Contract, Level::Power, Level::Damage, Level::Race] {
        same_but_for(Known::GoodFiles, level, &all);
    }
}
