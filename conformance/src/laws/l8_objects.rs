//! L8: requests to an object store that are lost, late, repeated or spoiled.

use crate::Law;
#[cfg(not(feature = "objects"))]
use crate::bench::Bench;
#[cfg(not(feature = "objects"))]
use crate::breach::{End, Held};
use crate::law::law;

/// The table, and stand-ins for builds that have no object stores.
macro_rules! laws {
    ($($law:ident, $statement:literal $(, $need:ident)*;)*) => {
        #[cfg(feature = "objects")]
        use crate::objects::{$($law),*};

        $(
            #[cfg(not(feature = "objects"))]
            async fn $law(_: &Bench) -> Held {
                Err(End::NotMeasured("the feature `objects` is off".into()))
            }
        )*

        pub(super) const LAWS: &[Law] = &[
            $(law!(Objects, $law, $statement, Objects $(, $need)*)),*
        ];
    };
}

laws! {
    g18_object_faults_leave_one_copy_of_a_batch,
        "Whatever happens to requests, a batch that is sent again until it is acknowledged is there once, whole.";
    g08_object_faults_let_no_old_writer_in,
        "Whatever happens to requests, a writer that was replaced appends nothing more, and an acknowledged batch stays.",
        ForcedLeases;
    g04_object_faults_never_shorten_a_read,
        "Whatever happens to requests, a read gives what is there or says that it failed.";
    g11_object_faults_put_no_snapshot_ahead,
        "Whatever happens to requests, a snapshot is whole or absent, says no more than the log, and comes from no writer that was replaced.",
        ForcedLeases;
    g10_object_faults_free_no_later_holder,
        "Whatever happens to requests, a lease that is given back or renewed, however late, takes none from who holds it by then.",
        ForcedLeases;
    g17_object_faults_bring_nothing_back,
        "Whatever happens to requests, a deleted session stays deleted, and no content of it stays.",
        ForcedLeases;
    a01_object_faults_leave_blobs_whole_or_absent,
        "Whatever happens to requests, a blob is whole or absent, an acknowledged one is there, and one whose removal was acknowledged is not.",
        ForcedLeases;
    g02_an_operation_given_up_among_requests_is_whole_or_absent,
        "An operation whose future is dropped while a request of it is under way happens whole or not at all, and its handle goes on.",
        ForcedLeases;
    g08_writers_that_take_over_among_object_faults_lose_nothing,
        "Writers that take a session from each other while requests are spoiled lose no acknowledged batch and double none.",
        ForcedLeases;
    g17_a_delete_among_writers_and_object_faults_is_final,
        "A delete among writers whose requests are spoiled is final: nothing is acknowledged behind it.",
        ForcedLeases;
    g13_an_operation_ends_when_no_request_gets_through,
        "When no request gets through, every operation ends in `Unavailable` or `Indeterminate`, and works again afterwards.",
        ForcedLeases;
    g05_a_store_that_ignores_conditions_is_refused,
        "No session is stored in a store that ignores the conditions of puts.",
        RefusesUnfitStores;
    g06_a_store_whose_lists_lag_is_refused,
        "No session is stored in a store whose lists lag behind its puts.",
        RefusesUnfitStores;
}
