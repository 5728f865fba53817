//! Uploads in parts, each request of them with a fate of its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart};

use super::cloud::spoil;
use super::wrapped::{Watch, Wrapped};
use super::{Fault, Op};

/// An upload that is under way.
pub(super) struct Upload<W> {
    /// Gone once it was completed or aborted, also by a request that arrives late.
    inner: Option<Box<dyn MultipartUpload>>,
    wrapped: Wrapped<W>,
    key: Path,
    /// A part is missing, so that the upload can't be completed.
    torn: Arc<AtomicBool>,
}

impl<W> Upload<W> {
    pub(super) fn new(inner: Box<dyn MultipartUpload>, wrapped: Wrapped<W>, key: &Path) -> Self {
        Self {
            inner: Some(inner),
            wrapped,
            key: key.clone(),
            torn: Arc::default(),
        }
    }
}

impl<W> fmt::Debug for Upload<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({})", self.key)
    }
}

fn over() -> Error {
    Error::Generic {
        store: "Faulty",
        source: "404 No Such Upload".into(),
    }
}

#[async_trait]
impl<W: Watch> MultipartUpload for Upload<W> {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let sent = data.content_length() as u64;
        let part = self.inner.as_mut().map(|inner| inner.put_part(data));
        let (wrapped, key, torn) = (self.wrapped.clone(), self.key.clone(), self.torn.clone());
        Box::pin(async move {
            let (key, fault) = wrapped.ask(Op::Part, &key, sent, 1).await;
            let sent = match fault {
                Fault::Lost | Fault::Throttled => Err(spoil(fault, Op::Part, key)),
                _ => part.ok_or_else(over)?.await,
            };
            torn.fetch_or(sent.is_err(), Ordering::SeqCst);
            sent
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let (key, fault) = self.wrapped.ask(Op::Complete, &self.key, 0, 1).await;
        if matches!(fault, Fault::Lost | Fault::Throttled) {
            return Err(spoil(fault, Op::Complete, key));
        }
        let mut inner = self.inner.take().ok_or_else(over)?;
        if self.torn.load(Ordering::SeqCst) {
            return Err(Error::Generic {
                store: "Faulty",
                source: "400 Invalid Part".into(),
            });
        }
        if let Fault::Late(after) = fault {
            let late = Box::pin(async move { inner.complete().await.is_ok() });
            self.wrapped.cloud.later(after, late);
            return Err(spoil(fault, Op::Complete, key));
        }
        let done = inner.complete().await?;
        match fault {
            Fault::AnswerLost => Err(spoil(fault, Op::Complete, key)),
            _ => Ok(done),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        let (key, fault) = self.wrapped.ask(Op::Abort, &self.key, 0, 1).await;
        if matches!(fault, Fault::Lost | Fault::Throttled) {
            return Err(spoil(fault, Op::Abort, key));
        }
        self.inner.take().ok_or_else(over)?.abort().await
    }
}
