//! The log.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    AppendCondition, Chunks, Error, EventLog, FencingToken, Head, NewEvent, Result, SeqNum,
    SessionId, SessionIds, SessionRef,
};

use crate::Bucket;
use crate::read::{Begin, read};
use crate::seat::{Done, What};

#[async_trait]
impl EventLog for Bucket {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.seat(&session.id).submit(session, What::Create).await?;
        Ok(())
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let seat = self.seat(id);
        let view = seat.fresh().await?;
        if !view.state.lives() {
            return Err(seat.missing());
        }
        let session = SessionRef {
            id: id.clone(),
            incarnation: view.state.incarnation,
        };
        Ok((session, view.state.end))
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let what = What::Append(events, condition);
        match self.seat(&session.id).submit(session, what).await? {
            Done::Appended(range) => Ok(range),
            _ => Err(Error::internal("an append without a range")),
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        read(self.seat(&session.id), session.clone(), range, Begin::Look)
    }

    fn read_known(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let seat = self.seat(&session.id);
        read(seat, session.clone(), range, Begin::Known)
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        self.seat(&session.id).changed(session, tail).await
    }

    fn sessions(&self) -> SessionIds {
        let bucket = self.clone();
        stream::once(async move { bucket.listed(usize::MAX).await })
            .flat_map(|all| match all {
                Ok(all) => stream::iter(all.into_iter().map(|s| Ok(s.id)).collect::<Vec<_>>()),
                Err(error) => stream::iter(vec![Err(error)]),
            })
            .boxed()
    }

    async fn newest(&self, most: usize) -> Result<Option<Vec<SessionId>>> {
        let sessions = self.listed(most).await?;
        Ok(Some(
            sessions.into_iter().map(|session| session.id).collect(),
        ))
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let what = What::Delete(token);
        self.seat(&session.id).submit(session, what).await?;
        Ok(())
    }
}
