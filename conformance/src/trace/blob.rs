//! Calls on blobs.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use sessionlog_core::{BlobId, BlobInfo, BlobStore, FencingToken, Pieces, Result, SessionRef};

use super::{Traced, done, life, under};

#[async_trait]
impl BlobStore for Traced {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let result = self.inner.put(session, content, token).await;
        let call = format!("put {}{}", life(session), under(token));
        self.note(&call, &result, |info| {
            format!("{} of {} bytes", name(info.id), info.len)
        });
        result
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let Range { start, end } = range;
        self.call(&format!(
            "get {} {} {start}..{end}",
            life(session),
            name(id)
        ));
        self.inner.get(session, id, range)
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        self.call(&format!("list {}", life(session)));
        self.inner.list(session)
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let result = self.inner.remove(session, id, token).await;
        let call = format!("remove {} {}{}", life(session), name(id), under(token));
        self.note(&call, &result, done);
        result
    }
}

fn name(id: BlobId) -> String {
    let text = id.to_string();
    text.get(..8).unwrap_or_default().to_owned()
}
