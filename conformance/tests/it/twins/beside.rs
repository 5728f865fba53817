//! Twins of the reference backend whose fault is beside the log: deletes, leases,
//! snapshots, blobs, upkeep.

use super::memory::over_memory;
use super::twins;

twins! { "beside", over_memory;
    token_skips_tail TokenSkipsTail [
        g05_tail_and_token_are_both_checked,
    ]
    accepts_unknown_tokens AcceptsUnknownTokens [
        g01_a_refused_append_uses_no_position,
        g04_any_commands_show_what_the_reference_shows,
        g08_a_token_that_never_was_is_refused,
    ]
    anonymous_holder AnonymousHolder [
        g04_any_commands_show_what_the_reference_shows,
        g09_a_dropped_lease_is_free_at_once,
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_a_renewed_lease_is_still_held,
        g09_leases_of_two_sessions_are_apart,
        g09_the_probe_takes_nothing,
        g09_the_second_handle_is_told_who_holds_the_lease,
        g09_the_second_is_told_who_holds_the_lease,
        g17_a_lease_of_a_deleted_life_frees_nobody,
    ]
    dropped_lease_stays DroppedLeaseStays [
        g04_any_commands_show_what_the_reference_shows,
        g09_a_dropped_lease_is_free_at_once,
    ]
    fence_forgotten_at_reopen FenceForgottenAtReopen [
        g08_fencing_outlives_a_reopen,
    ]
    fence_only_while_held FenceOnlyWhileHeld [
        g01_a_refused_append_uses_no_position,
        g04_any_commands_show_what_the_reference_shows,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
    ]
    fenceless_append FencelessAppend [
        g01_a_refused_append_uses_no_position,
        g01_an_empty_batch_changes_nothing,
        g04_any_commands_show_what_the_reference_shows,
        g05_tail_and_token_are_both_checked,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_an_append_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_append_is_refused,
        g08_fencing_stale_renew_is_refused,
        g13_a_refused_append_changes_nothing,
        g18_a_repeat_is_found_whatever_its_condition,
    ]
    fenceless_delete FencelessDelete [
        g04_any_commands_show_what_the_reference_shows,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_delete_is_refused,
        g14_sessions_do_not_touch_each_other,
        g16_an_open_read_blocks_no_writer,
        g17_a_driven_session_is_not_deleted_by_others,
        g17_a_lease_of_a_deleted_life_frees_nobody,
        g17_the_name_can_be_used_again,
    ]
    fenceless_put FencelessPut [
        g04_any_commands_show_what_the_reference_shows,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_put_is_refused,
    ]
    fenceless_remove FencelessRemove [
        g04_any_commands_show_what_the_reference_shows,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_remove_is_refused,
    ]
    fenceless_renew FencelessRenew [
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_fencing_stale_renew_is_refused,
        g17_a_lease_of_a_deleted_life_frees_nobody,
    ]
    fenceless_save FencelessSave [
        g04_any_commands_show_what_the_reference_shows,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_snapshot_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_snapshot_is_refused,
    ]
    lease_excludes_others LeaseExcludesOthers [
        g04_any_commands_show_what_the_reference_shows,
        g08_plain_appends_go_on_beside_a_lease,
        g13_a_refused_append_changes_nothing,
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
        g18_a_repeat_is_found_whatever_its_condition,
    ]
    not_exclusive NotExclusive [
        g04_any_commands_show_what_the_reference_shows,
        g09_a_dropped_lease_is_free_at_once,
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_a_lease_lasts_as_long_as_it_says,
        g09_a_renewed_lease_is_still_held,
        g09_leases_of_two_sessions_are_apart,
        g09_of_n_racing_requests_one_is_granted,
        g09_the_probe_takes_nothing,
        g09_the_second_handle_is_told_who_holds_the_lease,
        g09_the_second_is_told_who_holds_the_lease,
        g10_release_after_a_forced_grant_frees_nobody,
        g10_release_after_a_newer_grant_frees_nobody,
        g17_a_lease_of_a_deleted_life_frees_nobody,
    ]
    old_release_frees_new OldReleaseFreesNew [
        g17_a_lease_of_a_deleted_life_frees_nobody,
    ]
    one_lease_for_all OneLeaseForAll [
        g04_any_commands_show_what_the_reference_shows,
        g09_leases_of_two_sessions_are_apart,
    ]
    probe_acquires ProbeAcquires [
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g09_the_probe_takes_nothing,
        g17_the_name_can_be_used_again,
    ]
    probe_always_idle ProbeAlwaysIdle [
        g04_any_commands_show_what_the_reference_shows,
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_a_lease_lasts_as_long_as_it_says,
        g09_the_probe_tells_who_drives,
        g09_the_second_handle_is_told_who_holds_the_lease,
    ]
    release_frees_anyone ReleaseFreesAnyone [
        g04_any_commands_show_what_the_reference_shows,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g10_release_after_a_forced_grant_frees_nobody,
        g10_release_after_a_newer_grant_frees_nobody,
    ]
    release_twice_fails ReleaseTwiceFails [
        g10_release_after_a_newer_grant_frees_nobody,
        g10_release_twice_changes_nothing,
        g17_the_name_can_be_used_again,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    renew_releases RenewReleases [
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_a_renewed_lease_is_still_held,
    ]
    token_is_always_one TokenIsAlwaysOne [
        g01_an_empty_batch_changes_nothing,
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g05_tail_and_token_are_both_checked,
        g07_tokens_grow_by_force,
        g07_tokens_grow_over_a_reopen,
        g07_tokens_grow_with_every_grant,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_fences_a_snapshot_under_way,
        g08_a_grant_fences_an_append_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_append_is_refused,
        g08_fencing_stale_delete_is_refused,
        g08_fencing_stale_put_is_refused,
        g08_fencing_stale_remove_is_refused,
        g08_fencing_stale_renew_is_refused,
        g08_fencing_stale_snapshot_is_refused,
        g09_a_dropped_lease_is_free_at_once,
        g09_a_holder_is_told_with_the_time_of_its_grant,
        g09_the_probe_takes_nothing,
        g09_the_second_handle_is_told_who_holds_the_lease,
        g09_the_second_is_told_who_holds_the_lease,
        g10_release_after_a_forced_grant_frees_nobody,
        g10_release_after_a_newer_grant_frees_nobody,
        g13_a_refused_append_changes_nothing,
        g18_a_repeat_is_found_whatever_its_condition,
    ]
    tokens_restart TokensRestart [
        g04_any_commands_show_what_the_reference_shows,
        g07_tokens_grow_over_a_reopen,
    ]
    cuts_snapshots CutsSnapshots [
        g12_snapshots_come_back_whole,
    ]
    ignores_versions IgnoresVersions [
        g11_projections_and_versions_are_apart,
        g12_snapshots_come_back_whole,
    ]
    keeps_first_snapshot KeepsFirstSnapshot [
        g11_the_same_place_is_replaced,
    ]
    keeps_one_snapshot KeepsOneSnapshot [
        g11_the_last_two_snapshots_are_kept,
        g11_the_latest_at_or_before_is_given,
    ]
    latest_ignores_bound LatestIgnoresBound [
        g11_the_last_two_snapshots_are_kept,
        g11_the_latest_at_or_before_is_given,
        g11_the_same_place_is_replaced,
    ]
    scan_misses_one ScanMissesOne [
        g11_a_scan_gives_the_latest_of_each_session,
    ]
    swaps_snapshot_states SwapsSnapshotStates [
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g08_a_grant_fences_a_snapshot_under_way,
        g11_a_scan_gives_the_latest_of_each_session,
        g11_losing_every_snapshot_changes_no_result,
        g11_projections_and_versions_are_apart,
        g11_the_same_place_is_replaced,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshot_and_tail_equal_full_replay,
        g12_snapshots_come_back_whole,
    ]
    blobs_are_shared BlobsAreShared [
        a01_blobs_are_listed_and_removed,
        a01_blobs_belong_to_one_session,
        g17_the_name_can_be_used_again,
    ]
    cuts_blobs CutsBlobs [
        a01_a_blob_is_named_by_its_content,
    ]
    keeps_half_puts KeepsHalfPuts [
        a01_a_source_that_fails_leaves_nothing,
    ]
    lists_double_puts ListsDoublePuts [
        a01_the_same_content_twice_is_one_blob,
        g02_a_dropped_operation_was_done_or_was_not,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_a_deleted_session_is_gone,
        g19_a_fork_leaves_its_source_unchanged,
    ]
    loses_blobs_at_reopen LosesBlobsAtReopen [
        a01_a_blob_is_named_by_its_content,
        g03_everything_survives_a_reopen,
        g04_any_commands_show_what_the_reference_shows,
        g14_sessions_do_not_touch_each_other,
        g17_a_deleted_session_is_gone,
    ]
    puts_in_parts PutsInParts [
        a01_a_dropped_put_leaves_all_or_nothing,
        a01_a_source_that_fails_leaves_nothing,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_put_is_refused,
    ]
    ranges_are_inclusive RangesAreInclusive [
        a01_ranges_of_a_blob_are_cut_at_its_end,
    ]
    removing_missing_fails RemovingMissingFails [
        a01_a_dropped_put_leaves_all_or_nothing,
        a01_blobs_are_listed_and_removed,
        g04_any_commands_show_what_the_reference_shows,
    ]
    repair_loses_an_event RepairLosesAnEvent [
        g15_a_repair_disturbs_no_driver,
        g15_repair_of_a_whole_session_changes_nothing,
    ]
    verify_cries_wolf VerifyCriesWolf [
        g04_any_commands_show_what_the_reference_shows,
        g15_verify_finds_nothing_in_a_whole_store,
    ]
    delete_leaves_blobs DeleteLeavesBlobs [
        g17_the_name_can_be_used_again,
    ]
    delete_takes_neighbours_blobs DeleteTakesNeighboursBlobs [
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_delete_is_refused,
        g14_sessions_do_not_touch_each_other,
        g17_a_deleted_life_is_refused_by_the_next,
    ]
    deletes_driven DeletesDriven [
        g04_any_commands_show_what_the_reference_shows,
        g09_a_lease_lasts_as_long_as_it_says,
        g17_a_delete_under_way_ends_no_lease,
        g17_a_driven_session_is_not_deleted_by_others,
    ]
    deletes_twice DeletesTwice [
        g04_any_commands_show_what_the_reference_shows,
        g13_a_missing_session_is_not_found,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_delete_twice_is_not_found,
    ]
}
