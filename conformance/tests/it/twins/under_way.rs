//! Twins of the reference backend that are wrong about what is under way: what they check does not hold
//! any more when they act, or they stop in the middle.

use futures_util::TryStreamExt;
use sessionlog_core::{AppendCondition, BlobInfo, FencingToken, Liveness, Result, SessionRef};

use super::memory::over_memory;
use super::{Fault, Faulty, pause, twins};

impl Faulty {
    /// Whether a token is the newest now, if there is one, and the life is the present one.
    pub(super) async fn checked(&self, session: &SessionRef, token: Option<FencingToken>) -> bool {
        let condition = AppendCondition::new(None, token);
        let checked = self.inner.append(session, Vec::new(), condition).await;
        checked.is_ok()
    }

    /// What is done before a delete; the token that it is done under.
    pub(super) async fn before_delete(
        &self,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Result<Option<FencingToken>> {
        let idle = matches!(self.inner.holder(session).await, Ok(Liveness::Idle));
        match self.fault {
            Fault::DeleteChecksLeaseEarly if token.is_none() && idle => {
                pause().await;
                if let Ok(Liveness::Live(Some(holder))) = self.inner.holder(session).await {
                    return Ok(Some(holder.token));
                }
            }
            Fault::DeleteRemovesBlobsFirst
                if (token.is_some() || idle) && self.checked(session, token).await =>
            {
                let blobs: Vec<BlobInfo> = self.inner.list(session).try_collect().await?;
                for blob in blobs {
                    self.inner.remove(session, blob.id, None).await?;
                }
                pause().await;
            }
            Fault::CreateBringsBlobsBack => {
                let blobs: Vec<BlobInfo> = self.inner.list(session).try_collect().await?;
                let mut left = Vec::new();
                for blob in blobs {
                    let pieces = self.inner.get(session, blob.id, 0..u64::MAX);
                    left.push(pieces.try_collect::<Vec<_>>().await?.concat());
                }
                self.known().left.insert(session.clone(), left);
            }
            Fault::DeleteIgnoresExpiry => {}
            _ => self.free_lapsed(session),
        }
        Ok(token)
    }

    /// What the same life had before it was deleted.
    pub(super) async fn bring_back(&self, session: &SessionRef) -> Result<()> {
        let left = self.known().left.remove(session);
        for content in left.into_iter().flatten() {
            self.inner
                .put(session, super::blob::one(content), None)
                .await?;
        }
        Ok(())
    }
}

twins! { "under_way", over_memory;
    append_checks_life_early AppendChecksLifeEarly [
        g17_what_is_under_way_stays_in_its_life,
    ]
    append_checks_token_early AppendChecksTokenEarly [
        g08_a_grant_fences_an_append_under_way,
    ]
    save_checks_token_early SaveChecksTokenEarly [
        g08_a_grant_fences_a_snapshot_under_way,
    ]
    put_checks_life_early PutChecksLifeEarly [
        g17_what_is_under_way_stays_in_its_life,
    ]
    put_checks_token_early PutChecksTokenEarly [
        g08_a_grant_fences_a_put_under_way,
    ]
    opening_clears_puts OpeningClearsPuts [
        a01_an_open_beside_a_put_takes_nothing_of_it,
    ]
    delete_checks_lease_early DeleteChecksLeaseEarly [
        g17_a_delete_under_way_ends_no_lease,
    ]
    delete_removes_blobs_first DeleteRemovesBlobsFirst [
        g02_a_dropped_operation_was_done_or_was_not,
    ]
    acquire_marks_busy AcquireMarksBusy [
        g02_a_dropped_operation_was_done_or_was_not,
    ]
    create_brings_blobs_back CreateBringsBlobsBack [
        g17_the_name_can_be_used_again,
    ]
    beside_fence_of_own_grants BesideFenceOfOwnGrants [
        g08_a_grant_fences_a_put_under_way,
        g08_a_grant_on_another_handle_fences_the_holder,
    ]
    beside_fence_forgotten_at_reopen BesideFenceForgottenAtReopen [
        g08_fencing_outlives_a_reopen,
    ]
    beside_fence_only_while_held BesideFenceOnlyWhileHeld [
        g04_any_commands_show_what_the_reference_shows,
        g08_fencing_outlives_a_reopen,
        g08_fencing_outlives_the_lease,
    ]
    grant_tells_an_old_end GrantTellsAnOldEnd [
        g06_each_handle_sees_what_was_acknowledged,
        g11_losing_every_snapshot_changes_no_result,
    ]
    probe_tells_now ProbeTellsNow [
        g09_a_holder_is_told_with_the_time_of_its_grant,
    ]
    repairs_driven RepairsDriven [
        g15_a_repair_disturbs_no_driver,
    ]
}
