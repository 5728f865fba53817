//! Replay of a session through a projection, from a snapshot where one is proven.

use crate::projection::name_of;
use crate::verify::verified;
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
        let tail = self.tail().await?;
        self.project_until(tail).await
    }

    /// A projection of the first `until` events.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn project_until<P: Projection>(&self, until: SeqNum) -> Result<Projected<P>> {
        let mut bound = until.min(self.tail().await?);
        let end = bound;
        // The newest snapshot may belong to another life or be ahead of a log that was damaged;
        // the one before may not. Then the log alone is believed.
        for _ in 0..3 {
            let name = name_of::<P>()?;
            let Some(snapshot) = self
                .backend
                .latest(&self.at, &name, P::VERSION, bound)
                .await?
            else {
                break;
            };
            if let Some(projected) = self.resume(&snapshot, end).await? {
                return Ok(projected);
            }
            if snapshot.covers == SeqNum::ZERO {
                break;
            }
            bound = snapshot.covers.minus(1);
        }
        self.fold(P::default(), None, end).await
    }

    /// Replay from a snapshot, if it is proven to belong to this log.
    async fn resume<P: Projection>(
        &self,
        snapshot: &Snapshot,
        end: SeqNum,
    ) -> Result<Option<Projected<P>>> {
        let covers = snapshot.covers;
        if covers == SeqNum::ZERO || covers > end {
            return Ok(None);
        }
        let Ok(state) = serde_json::from_slice(&snapshot.state) else {
            return Ok(None);
        };
        let base = self.read(covers.minus(1)..covers).collect().await?;
        match base.first().map(Head::after) {
            Some(base) if base.sum == snapshot.log => {
                Ok(Some(self.fold(state, Some(base), end).await?))
            }
            _ => Ok(None),
        }
    }

    async fn fold<P: Projection>(
        &self,
        mut state: P,
        base: Option<Head>,
        end: SeqNum,
    ) -> Result<Projected<P>> {
        let genesis = Head::genesis(&self.at.id, self.at.incarnation);
        let mut head = base.unwrap_or(genesis);
        let start = head.tail;
        let chunks = verified(
            self.backend.clone(),
            self.at.clone(),
            start..end,
            Some(head),
        );
        let mut events = Events::new(chunks);
        while let Some(chunk) = events.next_chunk().await {
            chunk?.iter().for_each(|event| state.apply(event));
        }
        head = events.head().unwrap_or(head);
        Ok(Projected {
            state,
            head,
            folded: crate::span(&(start..head.tail)),
        })
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
