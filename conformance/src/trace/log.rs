//! Calls on logs.

use std::ops::Range;

use async_trait::async_trait;
use sessionlog_core::{
    AppendCondition, Chunks, EventLog, FencingToken, Head, NewEvent, Result, SeqNum, SessionId,
    SessionIds, SessionRef,
};

use super::{Traced, batch, condition, done, life, under};

#[async_trait]
impl EventLog for Traced {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let result = self.inner.create(session).await;
        self.note(&format!("create {}", life(session)), &result, done);
        result
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let result = self.inner.head(id).await;
        self.note(&format!("head {id}"), &result, |(session, head)| {
            format!("{}, tail {}", life(session), head.tail)
        });
        result
    }

    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let heads = self.inner.heads(ids).await;
        let there = heads.iter().filter(|head| head.is_ok()).count();
        self.call(&format!("heads of {} -> {there} there", ids.len()));
        heads
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        with: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let call = format!(
            "append {} {}{}",
            life(session),
            batch(&events),
            condition(with)
        );
        let result = self.inner.append(session, events, with).await;
        self.note(&call, &result, |r| format!("{}..{}", r.start, r.end));
        result
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        self.call(&format!(
            "read {} {}..{}",
            life(session),
            range.start,
            range.end
        ));
        self.inner.read(session, range)
    }

    fn read_known(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let Range { start, end } = range;
        self.call(&format!("read known {} {start}..{end}", life(session)));
        self.inner.read_known(session, range)
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        let result = self.inner.changed(session, tail).await;
        self.note(&format!("changed {} {tail}", life(session)), &result, done);
        result
    }

    fn sessions(&self) -> SessionIds {
        self.call("sessions");
        self.inner.sessions()
    }

    async fn newest(&self, most: usize) -> Result<Option<Vec<SessionId>>> {
        let result = self.inner.newest(most).await;
        let call = format!("newest {most}");
        self.note(&call, &result, |ids| {
            format!("{:?}", ids.as_ref().map(Vec::len))
        });
        result
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let result = self.inner.delete(session, token).await;
        let call = format!("delete {}{}", life(session), under(token));
        self.note(&call, &result, done);
        result
    }
}
