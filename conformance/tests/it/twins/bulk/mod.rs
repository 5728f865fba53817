//! Twins of the reference backend whose fault shows only where there is much, or more than one: long
//! lists, long reads, large batches and blobs; two handles, waiters or projections.

mod beside;
mod log;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::TryStreamExt;
use sessionlog_conformance::{Capability, ChildCommand, Level, Medium, Options, Place, Subject};
use sessionlog_core::{Backend, BlobId, Kind, Memory, Result, SeqNum, SessionId, SessionRef};

use super::memory::LIMITS;
use super::{lock, must_fail_some, twins};
use crate::custom_backend::Mine;

/// What such a twin does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// A read at a position that is a multiple of 512 loses its first event, and a range of a blob that
    /// starts at a multiple of 65,536 its first byte.
    AlignedReadsLoseTheirStart,
    /// A read up to such a position loses its last event.
    AlignedReadsLoseTheirEnd,
    /// A batch of exactly as many bytes as are allowed is refused.
    BatchAtTheLimitIsRefused,
    /// What a read of a blob has seen is given when it was removed, or its session deleted.
    BlobsAreCached,
    /// Who waits is not told that another handle has deleted the session.
    DeafToOthersDeletes,
    /// What is behind a window is forgotten when the store is opened.
    ForgetsOldIdsAtReopen,
    /// Many heads come in the order of their names.
    HeadsAreSorted,
    /// A snapshot of another version is given to who has just looked.
    KnownLatestIgnoresVersions,
    /// A read by who has just looked misses the log's last event.
    KnownReadsAreBehind,
    /// Of a session the last two snapshots are kept, whatever their projection.
    KeepsTwoOfASession,
    /// Of those who wait on a handle, only the last is woken.
    LastWaiterAloneWakes,
    /// Nothing is too large for an append with a condition.
    LimitsPlainAppendsAlone,
    /// A list of sessions ends behind 100, one of blobs behind 64, a scan of snapshots behind 8.
    ListsEndEarly,
    /// A list of sessions skips each thousandth.
    ListsSkipThousandths,
    /// The newest sessions are those whose names are last.
    NewestByName,
    /// A read ends behind 4,096 events, or behind a mebibyte of payloads.
    ReadsEndEarly,
    /// While one handle reads no other can delete.
    ReadsLockOthersDeletes,
    /// More than 64 events are written in two steps.
    SplitsLargeBatches,
    /// Parts of a blob over a mebibyte come in another order.
    SwapsPartsOfLargeBlobs,
    /// What another thread is just appending is not known.
    ThreadsRepeatUnseen,
}

/// The reference backend with a fault.
#[derive(Clone)]
struct Bulk {
    inner: Arc<dyn Backend>,
    wrong: Wrong,
    number: usize,
    /// What all handles share.
    shared: Arc<Shared>,
    /// What one handle has for itself.
    own: Arc<Own>,
}

#[derive(Default)]
struct Shared {
    opened: AtomicUsize,
    /// Which handle has deleted a life.
    deleted: Mutex<HashMap<SessionRef, usize>>,
    /// What the open reads of each handle hold.
    reading: Mutex<HashMap<usize, Arc<()>>>,
    saved: Mutex<HashMap<SessionRef, Vec<(Kind, SeqNum)>>>,
    cached: Mutex<HashMap<(SessionRef, BlobId), Bytes>>,
}

#[derive(Default)]
struct Own {
    waiting: AtomicUsize,
    /// Where the logs ended when it was opened.
    tails: Mutex<HashMap<SessionRef, SeqNum>>,
}

/// Opens a twin at a place.
async fn open(place: &Place, wrong: Wrong) -> Result<Bulk> {
    let memory = || match wrong {
        Wrong::LimitsPlainAppendsAlone => Memory::new(),
        _ => Memory::with_limits(LIMITS),
    };
    let mut twin = place.keep(|| Bulk::over(memory(), wrong));
    twin.number = twin.shared.opened.fetch_add(1, SeqCst);
    twin.own = Arc::default();
    if wrong == Wrong::ForgetsOldIdsAtReopen {
        let ids: Vec<SessionId> = twin.inner.sessions().try_collect().await?;
        for id in ids {
            let (session, head) = twin.inner.head(&id).await?;
            lock(&twin.own.tails).insert(session, head.tail);
        }
    }
    Ok(twin)
}

impl Bulk {
    fn over(inner: impl Backend, wrong: Wrong) -> Self {
        Self {
            inner: Arc::new(inner),
            wrong,
            number: 0,
            shared: Arc::default(),
            own: Arc::default(),
        }
    }

    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == wrong
    }
}

/// Makes a subject of a fault.
macro_rules! over_memory {
    ($twin:ident, $wrong:ident) => {
        impl Subject for $twin {
            type Backend = Bulk;
            const MEDIUM: Medium = Medium::Memory;
            async fn open(place: &Place) -> Result<Bulk> {
                open(place, Wrong::$wrong).await
            }
            fn limits() -> sessionlog_core::Limits {
                LIMITS
            }
        }
    };
}

twins! { "bulk", over_memory;
    aligned_reads_lose_their_start AlignedReadsLoseTheirStart [
        a01_ranges_of_a_blob_are_cut_at_its_end,
        g04_a_long_log_is_read_whole,
    ]
    aligned_reads_lose_their_end AlignedReadsLoseTheirEnd [
        g04_a_long_log_is_read_whole,
    ]
    batch_at_the_limit_is_refused BatchAtTheLimitIsRefused [
        g13_too_large_batches_are_refused_with_figures,
    ]
    blobs_are_cached BlobsAreCached [
        a01_blobs_are_listed_and_removed,
        g02_a_dropped_operation_was_done_or_was_not,
        g17_a_deleted_session_is_gone,
        g17_the_name_can_be_used_again,
    ]
    deaf_to_others_deletes DeafToOthersDeletes [
        g06_a_follower_learns_of_another_handles_delete,
    ]
    forgets_old_ids_at_reopen ForgetsOldIdsAtReopen [
        g18_old_ids_are_found_behind_thousands_of_events,
    ]
    heads_are_sorted HeadsAreSorted [
        g04_shortcuts_give_what_plain_looks_give,
    ]
    known_latest_ignores_versions KnownLatestIgnoresVersions [
        g04_shortcuts_give_what_plain_looks_give,
    ]
    known_reads_are_behind KnownReadsAreBehind [
        g04_shortcuts_give_what_plain_looks_give,
        g06_a_follower_gets_each_event_once,
        g06_a_follower_wakes_up_for_another_handle,
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshot_and_tail_equal_full_replay,
        g15_every_slice_can_be_verified,
        g19_a_fork_leaves_its_source_unchanged,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    keeps_two_of_a_session KeepsTwoOfASession [
        g11_the_last_two_snapshots_are_kept,
    ]
    last_waiter_alone_wakes LastWaiterAloneWakes [
        g06_a_follower_gets_each_event_once,
    ]
    limits_plain_appends_alone LimitsPlainAppendsAlone [
        g13_too_large_batches_are_refused_with_figures,
        g13_too_large_events_are_refused_with_figures,
    ]
    lists_end_early ListsEndEarly [
        a01_blobs_are_listed_and_removed,
        g11_a_scan_gives_the_latest_of_each_session,
        g14_the_list_has_every_session_once,
    ]
    lists_skip_thousandths ListsSkipThousandths [
        g14_the_list_has_every_session_once,
    ]
    newest_by_name NewestByName [
        g14_the_newest_sessions_are_those_made_last,
    ]
    reads_end_early ReadsEndEarly [
        g04_a_long_log_is_read_whole,
        g04_payloads_of_any_length_come_back,
    ]
    reads_lock_others_deletes ReadsLockOthersDeletes [
        g16_an_open_read_blocks_no_writer,
    ]
    splits_large_batches SplitsLargeBatches [
        g02_a_dropped_append_leaves_all_or_nothing,
        g02_a_reader_sees_whole_batches,
        g13_a_refused_append_changes_nothing,
        g18_a_partial_repeat_is_refused,
    ]
    swaps_parts_of_large_blobs SwapsPartsOfLargeBlobs [
        a01_a_blob_is_named_by_its_content,
    ]
    threads_repeat_unseen ThreadsRepeatUnseen [
        g18_concurrent_repeats_yield_one_copy,
    ]
}

/// The laws that a large batch in two steps must fail where its writer is killed between them.
const KILLED: &[&str] = &["g03_killed_appends_leave_a_prefix"];

#[test]
fn killed_between_two_steps() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Bulk;
        const MEDIUM: Medium = Medium::Directory;
        const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
        const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
        async fn open(place: &Place) -> Result<Bulk> {
            let journal = Mine::open(place).await?;
            Ok(Bulk::over(journal, Wrong::SplitsLargeBatches))
        }
        fn limits() -> sessionlog_core::Limits {
            LIMITS
        }
    }
    if sessionlog_conformance::child::<Twin>() {
        return;
    }
    let child = ChildCommand::test("twins::bulk::killed_between_two_steps");
    let options = Options::smoke().with_child(child);
    must_fail_some::<Twin>(&options, KILLED, |law| law.level == Level::Kill);
}
