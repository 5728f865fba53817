//! Faults that only a conversation shows, and their twins.

use futures_util::TryStreamExt;
use sessionlog_core::{
    AppendCondition, Event, Kind, NewEvent, Result, SeqNum, SessionRef, Snapshot,
};

use super::memory::over_memory;
use super::{Faulty, twins};

twins! { "replay", over_memory;
    closes_calls_at_reopen ClosesCallsAtReopen [
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    drops_tool_results DropsToolResults [
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g19_a_fork_leaves_its_source_unchanged,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    fills_in_log_sums FillsInLogSums [
        g11_projections_and_versions_are_apart,
        g11_the_same_place_is_replaced,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshots_come_back_whole,
    ]
    head_hides HeadHides [
        g11_losing_every_snapshot_changes_no_result,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g19_no_event_hides_another,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    put_moves_blobs PutMovesBlobs [
        g04_any_commands_show_what_the_reference_shows,
        g14_sessions_do_not_touch_each_other,
        g16_an_open_read_blocks_no_writer,
        g17_a_deleted_session_is_gone,
        g19_a_fork_leaves_its_source_unchanged,
    ]
    rollback_truncates RollbackTruncates [
        g11_losing_every_snapshot_changes_no_result,
        g19_rollback_compaction_and_branches_only_append,
        g20_every_prefix_replays_to_a_valid_conversation,
    ]
    snapshots_are_ahead SnapshotsAreAhead [
        g02_a_dropped_operation_was_done_or_was_not,
        g04_any_commands_show_what_the_reference_shows,
        g08_a_grant_fences_a_snapshot_under_way,
        g11_a_scan_gives_the_latest_of_each_session,
        g11_losing_every_snapshot_changes_no_result,
        g11_projections_and_versions_are_apart,
        g11_the_last_two_snapshots_are_kept,
        g11_the_latest_at_or_before_is_given,
        g11_the_same_place_is_replaced,
        g12_a_resumed_conversation_equals_full_replay,
        g12_a_snapshot_of_something_else_is_not_believed,
        g12_snapshot_and_tail_equal_full_replay,
        g12_snapshots_come_back_whole,
    ]
    snapshots_are_shared SnapshotsAreShared [
        g02_a_dropped_operation_was_done_or_was_not,
        g14_sessions_do_not_touch_each_other,
        g17_a_deleted_session_is_gone,
        g17_the_name_can_be_used_again,
    ]
}

/// Whether a payload names calls, or results.
fn names(event: &NewEvent, what: &str) -> bool {
    event.kind == "message" && event.data.as_text().contains(what)
}

/// The answers of tools are taken for something that nobody needs again.
pub(super) fn without_results(mut events: Vec<NewEvent>) -> Vec<NewEvent> {
    events.retain(|event| !names(event, "\"results\":"));
    events
}

impl Faulty {
    async fn all(&self, session: &SessionRef) -> Result<Vec<Event>> {
        self.inner.read(session, SeqNum::all()).try_concat().await
    }

    /// A rollback takes its messages out of the log.
    pub(super) async fn truncated(&self, session: &SessionRef, events: &[NewEvent]) -> Result<()> {
        if events.iter().all(|event| event.kind != "rollback") {
            return Ok(());
        }
        let mut log = self.all(session).await?;
        log.pop();
        self.inner.delete(session, None).await?;
        self.inner.create(session).await?;
        let log = log.into_iter().map(Event::into_new).collect();
        self.inner
            .append(session, log, AppendCondition::NONE)
            .await?;
        Ok(())
    }

    /// Whoever opens a log whose last call is open writes an answer to its end.
    pub(super) async fn close_calls(&self, session: &SessionRef) -> Result<()> {
        let log = self.all(session).await?;
        let mut made: Vec<_> = log.into_iter().map(Event::into_new).collect();
        let answered = |event: &NewEvent| names(event, "\"results\":");
        let open = made.iter().rposition(|event| names(event, "\"calls\":"));
        let Some(open) = open.filter(|at| !made[*at..].iter().any(answered)) else {
            return Ok(());
        };
        let text = made.swap_remove(open).data.as_text().into_owned();
        let id = text
            .split("\"id\":\"")
            .nth(1)
            .and_then(|id| id.split('"').next());
        let id = id.unwrap_or_default();
        let answer = format!(r#"{{"role":"tool","results":[{{"id":"{id}"}}]}}"#);
        let answer = NewEvent::json(Kind::from_static("message"), answer)?;
        self.inner
            .append(session, vec![answer], AppendCondition::NONE)
            .await?;
        Ok(())
    }

    /// A snapshot under the place of the event before the one that it covers.
    pub(super) async fn one_ahead(
        &self,
        session: &SessionRef,
        snapshot: &mut Snapshot,
    ) -> Result<()> {
        let covers = snapshot.covers.minus(1);
        let before = self.inner.read(session, covers.minus(1)..covers);
        let before: Vec<Event> = before.try_concat().await?;
        if let Some(event) = before.first().filter(|_| covers > SeqNum::ZERO) {
            snapshot.covers = covers;
            snapshot.log = event.sum;
        }
        Ok(())
    }

    /// A snapshot with the checksum that the log has where it ends, whatever log it was made of.
    pub(super) async fn filled_in(
        &self,
        session: &SessionRef,
        mut snapshot: Snapshot,
    ) -> Result<Snapshot> {
        let last = snapshot.covers.minus(1)..snapshot.covers;
        let last: Vec<Event> = self.inner.read(session, last).try_concat().await?;
        if let Some(event) = last.first() {
            snapshot.log = event.sum;
        }
        Ok(snapshot)
    }
}
