//! Twins of the small object log.

use super::twins;

/// Makes a subject of a flaw of the object log.
macro_rules! over_objects {
    ($twin:ident, $flaw:ident) => {
        impl sessionlog_conformance::Subject for $twin {
            type Backend = crate::head_log::HeadLog;
            const MEDIUM: sessionlog_conformance::Medium =
                sessionlog_conformance::Medium::ObjectStore;
            const PROMPT_LEASES: sessionlog_conformance::Capability =
                sessionlog_conformance::Capability::No("a lease ends when it is given back");
            async fn open(
                place: &sessionlog_conformance::Place,
            ) -> sessionlog_core::Result<crate::head_log::HeadLog> {
                let flaw = crate::head_log::Flaw::$flaw;
                crate::head_log::HeadLog::open(place.objects(), place.name(), flaw).await
            }
        }
    };
}

twins! { "objects", over_objects;
    doubles_retries DoublesRetries [
        a01_object_faults_leave_blobs_whole_or_absent,
        g02_an_operation_given_up_among_requests_is_whole_or_absent,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
        g18_concurrent_repeats_yield_one_copy,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    only_reads_back OnlyReadsBack [
        a01_object_faults_leave_blobs_whole_or_absent,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    trusts_conflicts TrustsConflicts [
        a01_object_faults_leave_blobs_whole_or_absent,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    frees_by_name FreesByName [
        g10_object_faults_free_no_later_holder,
    ]
    writes_no_fence WritesNoFence [
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g17_a_delete_among_writers_and_object_faults_is_final,
    ]
    lists_once ListsOnce [
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g17_a_delete_among_writers_and_object_faults_is_final,
    ]
    collects_fences CollectsFences [
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g17_a_delete_among_writers_and_object_faults_is_final,
    ]
    deletes_fences DeletesFences [
        g06_each_handle_sees_creations_and_deletions,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
    ]
    reuses_slots ReusesSlots [
        a01_object_faults_leave_blobs_whole_or_absent,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g11_object_faults_put_no_snapshot_ahead,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    ignores_partial_deletes IgnoresPartialDeletes [
        g17_object_faults_bring_nothing_back,
    ]
    believes_truncated_lists BelievesTruncatedLists [
        g04_object_faults_never_shorten_a_read,
    ]
    believes_broken_bodies BelievesBrokenBodies [
        a01_object_faults_leave_blobs_whole_or_absent,
        g04_object_faults_never_shorten_a_read,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g10_object_faults_free_no_later_holder,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    never_gives_up NeverGivesUp [
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g13_an_operation_ends_when_no_request_gets_through,
    ]
    acknowledges_unknown AcknowledgesUnknown [
        a01_object_faults_leave_blobs_whole_or_absent,
        g08_object_faults_let_no_old_writer_in,
        g08_writers_that_take_over_among_object_faults_lose_nothing,
        g11_object_faults_put_no_snapshot_ahead,
        g13_an_operation_ends_when_no_request_gets_through,
        g17_a_delete_among_writers_and_object_faults_is_final,
        g17_object_faults_bring_nothing_back,
        g18_object_faults_leave_one_copy_of_a_batch,
    ]
    acknowledges_blobs AcknowledgesBlobs [
        a01_object_faults_leave_blobs_whole_or_absent,
        g04_any_commands_show_what_the_reference_shows,
        g08_a_forced_grant_fences_the_holder,
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
        g08_a_token_that_never_was_is_refused,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
        g08_fencing_stale_put_is_refused,
        g13_a_missing_session_is_not_found,
        g17_a_deleted_life_is_refused_by_the_next,
        g17_what_is_under_way_stays_in_its_life,
    ]
    believes_before_put BelievesBeforePut [
        g02_an_operation_given_up_among_requests_is_whole_or_absent,
    ]
    saves_by_memory SavesByMemory [
        g11_object_faults_put_no_snapshot_ahead,
    ]
    probes_no_conditions ProbesNoConditions [
        g05_a_store_that_ignores_conditions_is_refused,
    ]
    probes_no_lists ProbesNoLists [
        g06_a_store_whose_lists_lag_is_refused,
    ]
}
