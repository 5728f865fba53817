//! Twins of the reference backend.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use futures_util::TryStreamExt;
use sessionlog_conformance::Place;
use sessionlog_core::{Backend, BlobInfo, Limits, Memory, Result, SessionId};

use super::{Fault, Faulty, Own, lock, twins};

/// Small, so that twins are quick.
pub(super) const LIMITS: Limits = Limits::DEFAULT
    .with_event_bytes(1 << 20)
    .with_batch_events(1_000)
    .with_batch_bytes(2 << 20);

/// Opens a twin of memory at a place.
pub(super) async fn open(place: &Place, fault: Fault) -> Result<Faulty> {
    let memory = || Arc::new(Memory::with_limits(LIMITS)) as Arc<dyn Backend>;
    let mut twin = place.keep(|| Faulty::new(memory(), fault));
    let number = twin.shared.opened.fetch_add(1, SeqCst);
    twin.own = Arc::new(Own {
        number,
        ..Own::default()
    });
    if number == 0 {
        return Ok(twin);
    }
    let ids: Vec<SessionId> = twin.inner.sessions().try_collect().await?;
    for id in ids {
        if fault == Fault::ClosesCallsAtReopen {
            twin.close_calls(&twin.inner.head(&id).await?.0).await?;
        }
        let (session, head) = twin.inner.head(&id).await?;
        if fault == Fault::LosesBlobsAtReopen {
            let blobs: Vec<BlobInfo> = twin.inner.list(&session).try_collect().await?;
            for blob in blobs {
                twin.inner.remove(&session, blob.id, None).await?;
            }
        }
        let mut known = lock(&twin.shared.known);
        let newest = known.newest.get(&session).copied().unwrap_or(0);
        known.at_open.insert(session, (newest, head.tail.get()));
        known.base.clear();
    }
    Ok(twin)
}

/// Makes a subject of a fault over the reference backend.
macro_rules! over_memory {
    ($twin:ident, $fault:ident) => {
        impl sessionlog_conformance::Subject for $twin {
            type Backend = super::Faulty;
            const MEDIUM: sessionlog_conformance::Medium = sessionlog_conformance::Medium::Memory;
            async fn open(
                place: &sessionlog_conformance::Place,
            ) -> sessionlog_core::Result<super::Faulty> {
                super::memory::open(place, super::Fault::$fault).await
            }
            fn limits() -> sessionlog_core::Limits {
                super::memory::LIMITS
            }
        }
    };
}

pub(super) use over_memory;

twins! { "memory", over_memory;
    caches_heads CachesHeads [
        g04_shortcuts_give_what_plain_looks_give,
        g05_one_of_n_racing_handles_wins,
        g06_a_follower_gets_each_event_once,
        g06_a_follower_learns_of_the_end_of_the_life,
        g06_a_follower_wakes_up_for_another_handle,
        g06_each_handle_sees_what_was_acknowledged,
        g17_the_name_can_be_used_again,
    ]
    caches_lists CachesLists [
        g06_each_handle_sees_creations_and_deletions,
        g16_an_open_read_blocks_no_writer,
    ]
    case_folds CaseFolds [
        g04_any_commands_show_what_the_reference_shows,
        g14_ids_that_file_systems_confuse_are_apart,
        g14_sessions_do_not_touch_each_other,
    ]
    checks_tail_early ChecksTailEarly [
        g04_any_commands_show_what_the_reference_shows,
        g05_one_of_n_racing_appends_wins,
        g05_one_of_n_racing_handles_wins,
        g05_one_of_n_racing_threads_wins,
        g18_a_repeat_is_found_whatever_its_condition,
    ]
    creates_twice CreatesTwice [
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g05_creating_twice_is_a_conflict,
    ]
    cuts_long_payloads CutsLongPayloads [
        g04_payloads_of_any_length_come_back,
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
    ]
    deaf_to_deletes DeafToDeletes [
        g06_a_follower_learns_of_another_handles_delete,
        g06_a_follower_learns_of_the_end_of_the_life,
        g13_a_missing_session_is_not_found,
        g17_a_deleted_life_is_refused_by_the_next,
    ]
    deaf_to_other_handles DeafToOtherHandles [
        g06_a_follower_learns_of_another_handles_delete,
        g06_a_follower_wakes_up_for_another_handle,
        g16_followers_beside_writers_miss_nothing,
    ]
    dropped_append_locks DroppedAppendLocks [
        g02_a_dropped_append_leaves_all_or_nothing,
        g02_a_dropped_append_leaves_no_lock,
    ]
    empty_ignores_condition EmptyIgnoresCondition [
        g01_an_empty_batch_changes_nothing,
        g04_any_commands_show_what_the_reference_shows,
    ]
    forgets_the_largest_id ForgetsTheLargestId [
        g01_the_head_is_the_end_of_the_log,
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g15_checksums_follow_the_formula,
    ]
    ignores_tail IgnoresTail [
        g01_a_refused_append_uses_no_position,
        g01_an_empty_batch_changes_nothing,
        g04_any_commands_show_what_the_reference_shows,
        g05_one_of_n_racing_appends_wins,
        g05_one_of_n_racing_handles_wins,
        g05_one_of_n_racing_threads_wins,
        g05_tail_and_token_are_both_checked,
        g05_the_stated_tail_must_be_the_tail,
        g13_a_refused_append_changes_nothing,
    ]
    list_keeps_deleted ListKeepsDeleted [
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g06_each_handle_sees_creations_and_deletions,
        g14_ids_that_file_systems_confuse_are_apart,
        g14_sessions_do_not_touch_each_other,
        g14_the_list_has_every_session_once,
        g16_an_open_read_blocks_no_writer,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_a_deleted_session_is_gone,
        g17_a_driven_session_is_not_deleted_by_others,
    ]
    list_misses_one ListMissesOne [
        g14_ids_that_file_systems_confuse_are_apart,
        g14_sessions_do_not_touch_each_other,
        g14_the_list_has_every_session_once,
    ]
    loses_concurrent_appends LosesConcurrentAppends [
        g02_a_dropped_append_leaves_all_or_nothing,
        g02_a_dropped_append_leaves_no_lock,
        g04_concurrent_appends_are_all_there_once,
        g08_a_grant_fences_an_append_under_way,
        g18_concurrent_repeats_yield_one_copy,
    ]
    missing_is_empty MissingIsEmpty [
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g13_a_missing_session_is_not_found,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_a_deleted_session_is_gone,
    ]
    never_wakes NeverWakes [
        g06_a_follower_gets_each_event_once,
        g06_a_follower_learns_of_another_handles_delete,
        g06_a_follower_learns_of_the_end_of_the_life,
        g06_a_follower_wakes_up_for_another_handle,
        g06_what_is_there_needs_no_waiting,
        g13_a_missing_session_is_not_found,
        g16_followers_beside_writers_miss_nothing,
        g17_a_deleted_life_is_refused_by_the_next,
    ]
    no_chain NoChain [
        g01_the_head_is_the_end_of_the_log,
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g06_a_follower_gets_each_event_once,
        g06_a_follower_wakes_up_for_another_handle,
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshot_and_tail_equal_full_replay,
        g15_checksums_follow_the_formula,
        g15_every_slice_can_be_verified,
        g19_a_fork_leaves_its_source_unchanged,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    reads_beyond ReadsBeyond [
        g04_a_read_ends_where_the_log_ended_when_it_began,
    ]
    reads_lock_writers ReadsLockWriters [
        g04_a_read_ends_where_the_log_ended_when_it_began,
        g06_a_follower_gets_each_event_once,
        g16_an_open_read_blocks_no_writer,
    ]
    refusal_writes_an_event RefusalWritesAnEvent [
        g01_a_refused_append_uses_no_position,
        g01_an_empty_batch_changes_nothing,
        g04_any_commands_show_what_the_reference_shows,
        g05_one_of_n_racing_appends_wins,
        g05_one_of_n_racing_handles_wins,
        g05_one_of_n_racing_threads_wins,
        g05_tail_and_token_are_both_checked,
        g05_the_stated_tail_must_be_the_tail,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_an_append_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_append_is_refused,
        g13_a_refused_append_changes_nothing,
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
        g18_a_partial_repeat_is_refused,
        g18_an_id_twice_in_a_batch_is_refused,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_other_content_under_a_known_id_is_refused,
        g18_repeats_are_found_after_a_reopen,
    ]
    reserialises Reserialises [
        g04_payload_bytes_come_back_untouched,
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g18_other_content_under_a_known_id_is_refused,
        g19_a_fork_leaves_its_source_unchanged,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    reversed_ranges_panic ReversedRangesPanic [
        g04_ranges_are_cut_at_the_tail,
    ]
    rollback_hides RollbackHides [
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g19_a_fork_leaves_its_source_unchanged,
        g19_no_event_hides_another,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    slices_lose_their_end SlicesLoseTheirEnd [
        g04_a_long_log_is_read_whole,
        g04_shortcuts_give_what_plain_looks_give,
        g04_slices_equal_the_full_read,
        g06_a_follower_gets_each_event_once,
        g06_a_follower_wakes_up_for_another_handle,
        g06_each_handle_sees_what_was_acknowledged,
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshot_and_tail_equal_full_replay,
        g15_every_slice_can_be_verified,
        g19_rollback_compaction_and_branches_only_append,
    ]
    splits_batches SplitsBatches [
        g01_a_refused_append_uses_no_position,
        g02_a_dropped_append_leaves_all_or_nothing,
        g02_a_reader_sees_whole_batches,
        g04_concurrent_appends_are_all_there_once,
        g08_a_grant_fences_an_append_under_way,
        g13_a_refused_append_changes_nothing,
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
        g18_a_partial_repeat_is_refused,
        g18_an_id_twice_in_a_batch_is_refused,
    ]
    stops_at_a_thousand StopsAtAThousand [
        g02_a_reader_sees_whole_batches,
        g04_a_long_log_is_read_whole,
    ]
    tells_short_ranges TellsShortRanges [
        g01_a_refused_append_uses_no_position,
        g01_positions_are_dense_from_zero,
        g04_any_commands_show_what_the_reference_shows,
        g04_concurrent_appends_are_all_there_once,
        g05_one_of_n_racing_appends_wins,
        g05_one_of_n_racing_handles_wins,
        g05_one_of_n_racing_threads_wins,
        g05_the_stated_tail_must_be_the_tail,
        g06_each_handle_sees_what_was_acknowledged,
        g08_fencing_stale_append_is_refused,
        g18_a_partial_repeat_is_refused,
        g18_a_repeat_is_found_whatever_its_condition,
        g18_concurrent_repeats_yield_one_copy,
        g18_ids_in_any_order_are_told_apart,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_repeats_are_found_after_a_reopen,
        g18_the_same_batch_is_the_same_append,
        g18_the_same_id_in_two_sessions_is_two_events,
    ]
    times_begin_in_1970 TimesBeginIn1970 [
        g04_times_are_data_and_no_order,
    ]
    unknown_kinds UnknownKinds [
        g04_unknown_kinds_come_back,
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g19_a_fork_leaves_its_source_unchanged,
        g19_no_event_hides_another,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    waits_for_news WaitsForNews [
        g06_a_follower_gets_each_event_once,
        g06_what_is_there_needs_no_waiting,
    ]
    stale_handle_writes StaleHandleWrites [
        g04_any_commands_show_what_the_reference_shows,
        g06_each_handle_sees_creations_and_deletions,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_what_is_under_way_stays_in_its_life,
    ]
    concurrent_repeats_double ConcurrentRepeatsDouble [
        g18_concurrent_repeats_yield_one_copy,
    ]
    condition_first ConditionFirst [
        g04_any_commands_show_what_the_reference_shows,
        g18_a_repeat_is_found_whatever_its_condition,
    ]
    drops_doubles DropsDoubles [
        g01_a_refused_append_uses_no_position,
        g13_a_refused_append_changes_nothing,
        g18_an_id_twice_in_a_batch_is_refused,
    ]
    forgets_ids_at_reopen ForgetsIdsAtReopen [
        g04_any_commands_show_what_the_reference_shows,
        g18_ids_in_any_order_are_told_apart,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_repeats_are_found_after_a_reopen,
    ]
    ids_are_global IdsAreGlobal [
        g02_a_dropped_append_leaves_all_or_nothing,
        g02_a_dropped_operation_was_done_or_was_not,
        g05_one_of_n_racing_threads_wins,
        g06_a_follower_gets_each_event_once,
        g11_a_scan_gives_the_latest_of_each_session,
        g14_sessions_do_not_touch_each_other,
        g16_an_open_read_blocks_no_writer,
        g17_a_delete_under_way_ends_no_lease,
        g17_a_deleted_session_is_gone,
        g17_the_name_can_be_used_again,
        g18_the_same_id_in_two_sessions_is_two_events,
        g19_a_fork_leaves_its_source_unchanged,
    ]
    ids_must_ascend IdsMustAscend [
        g01_the_head_is_the_end_of_the_log,
        g04_any_commands_show_what_the_reference_shows,
        g08_a_grant_fences_an_append_under_way,
        g15_checksums_follow_the_formula,
        g18_ids_in_any_order_are_told_apart,
        g18_old_ids_are_found_behind_thousands_of_events,
        g19_a_fork_leaves_its_source_unchanged,
    ]
    no_content_check NoContentCheck [
        g04_any_commands_show_what_the_reference_shows,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_other_content_under_a_known_id_is_refused,
        g18_repeats_are_found_after_a_reopen,
    ]
    not_idempotent NotIdempotent [
        g04_any_commands_show_what_the_reference_shows,
        g13_a_refused_append_changes_nothing,
        g18_a_partial_repeat_is_refused,
        g18_a_repeat_is_found_whatever_its_condition,
        g18_an_id_twice_in_a_batch_is_refused,
        g18_concurrent_repeats_yield_one_copy,
        g18_ids_in_any_order_are_told_apart,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_other_content_under_a_known_id_is_refused,
        g18_repeats_are_found_after_a_reopen,
        g18_the_same_batch_is_the_same_append,
    ]
    skips_known SkipsKnown [
        g04_any_commands_show_what_the_reference_shows,
        g13_a_refused_append_changes_nothing,
        g18_a_partial_repeat_is_refused,
        g18_an_id_twice_in_a_batch_is_refused,
        g18_old_ids_are_found_behind_thousands_of_events,
        g18_other_content_under_a_known_id_is_refused,
        g18_repeats_are_found_after_a_reopen,
    ]
    small_window SmallWindow [
        g18_old_ids_are_found_behind_thousands_of_events,
    ]
}
