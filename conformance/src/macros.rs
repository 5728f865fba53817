//! The macro that makes a test of each law.

/// Makes one test of each law for a [`Subject`](crate::Subject), and a last one that prints the
/// matrix and fails on anything that is not measured.
///
/// ```text
/// sessionlog_conformance::conformance!(Mine);
/// ```
///
/// Call it once in a module: the tests have the names of the laws, such as
/// `g08_fencing_stale_append_is_refused`.
#[macro_export]
macro_rules! conformance {
    ($subject:ty) => {
        $crate::__laws_as_tests! {
            $subject;
            l0_places_are_apart
            l0_the_place_is_used
            l0_file_calls_are_seen
            l0_a_child_can_be_started
            l0_known_stores_get_their_verdicts
            l0_killed_known_stores_get_their_verdicts
            l0_known_failures_are_laws
            g01_positions_are_dense_from_zero
            g01_the_head_is_the_end_of_the_log
            g01_an_empty_batch_changes_nothing
            g01_a_refused_append_uses_no_position
            g02_a_reader_sees_whole_batches
            g02_a_dropped_append_leaves_all_or_nothing
            g02_a_dropped_append_leaves_no_lock
            g03_everything_survives_a_reopen
            g03_the_folder_is_the_store
            g03_an_append_is_flushed_before_it_is_acknowledged
            g03_a_lone_append_is_one_write_and_one_flush
            g03_concurrent_appends_share_flushes
            g04_payload_bytes_come_back_untouched
            g04_payloads_of_any_length_come_back
            g04_unknown_kinds_come_back
            g04_times_are_data_and_no_order
            g04_concurrent_appends_are_all_there_once
            g04_slices_equal_the_full_read
            g04_a_long_log_is_read_whole
            g04_ranges_are_cut_at_the_tail
            g04_a_read_ends_where_the_log_ended_when_it_began
            g05_the_stated_tail_must_be_the_tail
            g05_one_of_n_racing_appends_wins
            g05_one_of_n_racing_threads_wins
            g05_one_of_n_racing_handles_wins
            g05_tail_and_token_are_both_checked
            g05_creating_twice_is_a_conflict
            g06_each_handle_sees_what_was_acknowledged
            g06_each_handle_sees_creations_and_deletions
            g06_a_follower_gets_each_event_once
            g06_a_follower_wakes_up_for_another_handle
            g06_a_follower_learns_of_the_end_of_the_life
            g06_what_is_there_needs_no_waiting
            g07_tokens_grow_with_every_grant
            g07_tokens_grow_over_a_reopen
            g07_tokens_grow_by_force
            g08_fencing_stale_append_is_refused
            g08_fencing_stale_snapshot_is_refused
            g08_fencing_stale_put_is_refused
            g08_fencing_stale_remove_is_refused
            g08_fencing_stale_delete_is_refused
            g08_fencing_stale_renew_is_refused
            g08_fencing_outlives_a_reopen
            g08_fencing_outlives_the_lease
            g08_a_forced_grant_fences_the_holder
            g08_a_token_that_never_was_is_refused
            g08_plain_appends_go_on_beside_a_lease
            g09_the_second_is_told_who_holds_the_lease
            g09_the_second_handle_is_told_who_holds_the_lease
            g09_of_n_racing_requests_one_is_granted
            g09_leases_of_two_sessions_are_apart
            g09_a_dropped_lease_is_free_at_once
            g09_a_renewed_lease_is_still_held
            g09_the_probe_tells_who_drives
            g09_the_probe_takes_nothing
            g10_release_twice_changes_nothing
            g10_release_after_a_newer_grant_frees_nobody
            g10_release_after_a_forced_grant_frees_nobody
            g11_the_latest_at_or_before_is_given
            g11_the_last_two_snapshots_are_kept
            g11_projections_and_versions_are_apart
            g11_the_same_place_is_replaced
            g11_a_scan_gives_the_latest_of_each_session
            g12_snapshots_come_back_whole
            g12_snapshot_and_tail_equal_full_replay
            g11_losing_every_snapshot_changes_no_result
            g12_a_resumed_conversation_equals_full_replay
            g12_a_snapshot_of_something_else_is_not_believed
            g13_a_missing_session_is_not_found
            g13_too_large_events_are_refused_with_figures
            g13_too_large_batches_are_refused_with_figures
            g13_a_refused_append_changes_nothing
            g14_sessions_do_not_touch_each_other
            g14_ids_that_file_systems_confuse_are_apart
            g14_the_list_has_every_session_once
            g15_checksums_follow_the_formula
            g15_every_slice_can_be_verified
            g15_verify_finds_nothing_in_a_whole_store
            g15_repair_of_a_whole_session_changes_nothing
            g16_reading_changes_no_byte
            g16_reading_makes_no_call_that_changes
            g16_opening_to_read_changes_no_byte
            g16_an_open_read_blocks_no_writer
            g16_foreign_files_are_left_alone
            g17_a_deleted_session_is_gone
            g17_no_byte_of_a_deleted_session_stays
            g17_the_name_can_be_used_again
            g17_a_deleted_life_is_refused_by_the_next
            g17_a_lease_of_a_deleted_life_frees_nobody
            g17_a_driven_session_is_not_deleted_by_others
            g17_delete_twice_is_not_found
            g18_the_same_batch_is_the_same_append
            g18_other_content_under_a_known_id_is_refused
            g18_a_partial_repeat_is_refused
            g18_an_id_twice_in_a_batch_is_refused
            g18_the_same_id_in_two_sessions_is_two_events
            g18_ids_in_any_order_are_told_apart
            g18_repeats_are_found_after_a_reopen
            g18_old_ids_are_found_behind_thousands_of_events
            g18_a_repeat_is_found_whatever_its_condition
            g18_concurrent_repeats_yield_one_copy
            g19_no_event_hides_another
            g19_rollback_compaction_and_branches_only_append
            g19_a_fork_leaves_its_source_unchanged
            g20_every_prefix_replays_to_a_valid_conversation
            a01_a_blob_is_named_by_its_content
            a01_ranges_of_a_blob_are_cut_at_its_end
            a01_the_same_content_twice_is_one_blob
            a01_blobs_are_listed_and_removed
            a01_blobs_belong_to_one_session
            a01_a_source_that_fails_leaves_nothing
            a01_a_dropped_put_leaves_all_or_nothing
            g04_any_commands_show_what_the_reference_shows
            g03_killed_appends_leave_a_prefix
            g02_a_killed_group_leaves_whole_batches
            g07_a_killed_holder_leaves_its_token
            g11_killed_snapshots_and_blobs_are_whole_or_absent
            g17_a_killed_delete_leaves_whole_or_gone
            g03_kills_at_any_time_leave_a_prefix
            g20_a_killed_turn_resumes_as_a_valid_conversation
            g06_another_process_sees_what_was_acknowledged
            g01_appends_of_several_processes_are_one_order
            g09_the_holder_in_another_process_is_told
            g09_a_killed_holder_is_replaced_at_once
            y08_files_are_private_whatever_the_umask
            g03_power_loss_leaves_a_prefix
            g02_power_loss_leaves_whole_batches_of_a_group
            g07_power_loss_takes_no_token_back
            g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent
            g17_power_loss_leaves_a_delete_whole_or_gone
            g20_power_loss_leaves_a_conversation_that_resumes
            g03_power_loss_in_any_work_leaves_a_prefix
            g03_a_second_power_loss_takes_nothing_more
            g03_names_rest_on_flushes_of_their_folders
            g03_a_flush_left_out_is_noticed
            g13_a_file_call_that_fails_loses_nothing
            g13_a_disk_that_goes_on_failing_loses_nothing
            g18_object_faults_leave_one_copy_of_a_batch
            g08_object_faults_let_no_old_writer_in
            g04_object_faults_never_shorten_a_read
            g11_object_faults_put_no_snapshot_ahead
            g17_object_faults_bring_nothing_back
            a01_object_faults_leave_blobs_whole_or_absent
            g08_writers_that_take_over_among_object_faults_lose_nothing
            g17_a_delete_among_writers_and_object_faults_is_final
            g13_an_operation_ends_when_no_request_gets_through
            g05_a_store_that_ignores_conditions_is_refused
            g06_a_store_whose_lists_lag_is_refused
            g15_damage_gives_the_right_answer_or_an_error
            g15_damage_shortens_no_log_in_silence
            g16_damaged_files_stay_as_they_are
            g15_verify_names_the_damage
            g15_repair_salvages_what_is_whole
            g14_damage_to_one_session_leaves_the_others
            g01_an_append_to_a_damaged_store_is_right_or_refused
            g07_damage_brings_no_token_back
            g06_threads_make_one_history
            g09_threads_hold_the_lease_one_at_a_time
            g14_lists_beside_creates_and_deletes_are_right
            g16_followers_beside_writers_miss_nothing
            g06_processes_make_one_history
            g09_processes_hold_the_lease_one_at_a_time
            g14_lists_beside_other_processes_are_right
            g08_a_stopped_holder_is_fenced
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __laws_as_tests {
    ($subject:ty; $($law:ident)*) => {
        $(
            #[test]
            fn $law() {
                $crate::test_law::<$subject>(stringify!($law), module_path!());
            }
        )*

        #[test]
        fn zz_matrix() {
            $crate::test_matrix::<$subject>(module_path!(), &[$(stringify!($law)),*]);
        }
    };
}
