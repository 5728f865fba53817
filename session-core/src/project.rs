//! Replay of a session through a projection, from a snapshot where one is proven.

use futures_util::future::try_join;

use crate::projection::name_of;
use crate::{
    Card, Error, Events, FencingToken, Head, Projected, Projection, Result, SeqNum, Session,
    Snapshot,
};

impl Session {
    /// A projection of the whole log, from its newest snapshot where there is one.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn project<P: Projection>(&self) -> Result<Projected<P>> {
        self.project_until(SeqNum::MAX).await
    }

    /// A projection of the first `until` events.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn project_until<P: Projection>(&self, until: SeqNum) -> Result<Projected<P>> {
        let (log, newest) = try_join(self.head(), self.newest::<P>(until)).await?;
        self.replay(log, until, newest).await
    }

    /// The newest snapshot of a projection. The caller looks at the head in the same operation.
    pub(crate) async fn newest<P: Projection>(&self, until: SeqNum) -> Result<Option<Snapshot>> {
        let name = name_of::<P>()?;
        let found = self
            .backend
            .latest_known(&self.at, &name, P::VERSION, until);
        found.await
    }

    /// A projection of the first `until` events of the log that ends at `log`, which the caller has
    /// just looked at, from what was found to be its newest snapshot.
    pub(crate) async fn replay<P: Projection>(
        &self,
        log: Head,
        until: SeqNum,
        mut newest: Option<Snapshot>,
    ) -> Result<Projected<P>> {
        let end = until.min(log.tail);
        // The newest snapshot may belong to another life or be ahead of a log that was damaged;
        // the one before may not. Then the log alone is believed.
        for _ in 0..3 {
            let Some(snapshot) = newest.filter(|snapshot| snapshot.covers != SeqNum::ZERO) else {
                break;
            };
            if let Some(projected) = self.resume(&snapshot, log, end).await? {
                return Ok(projected);
            }
            newest = self.newest::<P>(end.min(snapshot.covers.minus(1))).await?;
        }
        let genesis = Head::genesis(&self.at.id, self.at.incarnation);
        let events = self.read_until(log, SeqNum::ZERO..end);
        fold(P::default(), genesis, events).await
    }

    /// Replay from a snapshot, if it is proven to belong to this log.
    async fn resume<P: Projection>(
        &self,
        snapshot: &Snapshot,
        log: Head,
        end: SeqNum,
    ) -> Result<Option<Projected<P>>> {
        let covers = snapshot.covers;
        if covers > end {
            return Ok(None);
        }
        let Ok(state) = serde_json::from_slice(&snapshot.state) else {
            return Ok(None);
        };
        if covers == log.tail {
            return Ok((snapshot.log == log.sum).then_some(Projected {
                state,
                head: log,
                folded: 0,
            }));
        }
        let mut events = self.read_until(log, covers.minus(1)..end);
        let before = events.next().await.transpose()?;
        match before.as_ref().map(Head::after) {
            Some(base) if base.sum == snapshot.log => Ok(Some(fold(state, base, events).await?)),
            _ => Ok(None),
        }
    }

    /// The snapshot of a projection, to be saved.
    pub(crate) fn snapshot<P: Projection>(projected: &Projected<P>) -> Result<Snapshot> {
        let state = serde_json::to_vec(&projected.state).map_err(|e| {
            Error::invalid("the projection's state can't be written as JSON").with_source(e)
        })?;
        Ok(Snapshot {
            projection: name_of::<P>()?,
            version: P::VERSION,
            covers: projected.head.tail,
            log: projected.head.sum,
            state: state.into(),
        })
    }

    /// Saves a snapshot of a projection, under the lease with this token or under none.
    pub(crate) async fn save<P: Projection>(
        &self,
        projected: &Projected<P>,
        token: Option<FencingToken>,
    ) -> Result<()> {
        if projected.head.tail == SeqNum::ZERO {
            return Ok(());
        }
        let snapshot = Self::snapshot(projected)?;
        self.backend.save(&self.at, snapshot, token).await
    }

    /// Brings the session's card up to date, without a lease: for programs that only append from
    /// outside. A driver's [`Writer`](crate::Writer) does it by itself.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unavailable`.
    pub async fn save_card(&self) -> Result<()> {
        self.save(&self.project::<Card>().await?, None).await
    }
}

/// Folds in the events behind `base`.
async fn fold<P: Projection>(mut state: P, base: Head, mut events: Events) -> Result<Projected<P>> {
    while let Some(chunk) = events.next_chunk().await {
        chunk?.iter().for_each(|event| state.apply(event));
    }
    let head = events.head().unwrap_or(base);
    Ok(Projected {
        state,
        head,
        folded: crate::span(&(base.tail..head.tail)),
    })
}
