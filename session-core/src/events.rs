//! A stream of verified events.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_util::stream::{BoxStream, Stream, StreamExt};

use crate::{Event, Head, Result};

/// Chunks of events, each with the verified end of the log behind it.
pub(crate) type Verified = BoxStream<'static, Result<(Vec<Event>, Head)>>;

/// Verified events, in order; made by [`Session`](crate::Session).
///
/// It ends after an error. Use [`next`](Self::next) for one event at a time,
/// [`next_chunk`](Self::next_chunk) for as many as came at once, or the [`Stream`] that it is.
#[must_use = "nothing is read until it is asked for the next event"]
pub struct Events {
    chunks: Verified,
    ready: vec::IntoIter<Event>,
    head: Option<Head>,
}

impl Events {
    pub(crate) fn new(chunks: Verified) -> Self {
        Self {
            chunks,
            ready: Vec::new().into_iter(),
            head: None,
        }
    }

    /// The next event; `None` at the end of the range.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        StreamExt::next(self).await
    }

    /// The next events that came at once, at least one; `None` at the end of the range.
    pub async fn next_chunk(&mut self) -> Option<Result<Vec<Event>>> {
        if self.ready.len() > 0 {
            return Some(Ok(std::mem::take(&mut self.ready).collect()));
        }
        let chunk = self.chunks.next().await?;
        Some(chunk.map(|(events, head)| {
            self.head = Some(head);
            events
        }))
    }

    /// All events that are left, in memory at once: for ranges that are known to be short.
    ///
    /// # Errors
    /// The first error of the read.
    pub async fn collect(mut self) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        while let Some(chunk) = self.next_chunk().await {
            all.append(&mut chunk?);
        }
        Ok(all)
    }

    /// The verified end of what was read so far; `None` before the first chunk.
    pub fn head(&self) -> Option<Head> {
        self.head
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.next() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(self.chunks.poll_next_unpin(cx)) {
                Some(Ok((events, head))) => {
                    self.head = Some(head);
                    self.ready = events.into_iter();
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
