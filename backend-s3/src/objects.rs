//! Requests: each with a deadline, each failure with what could not be done.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_timer::Delay;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, PutMode, PutOptions};
use sessionlog_core::{Error, ErrorKind, Result};

use crate::codec::{random, wide};
use crate::options::Options;
use crate::site::folder::Durably;
use crate::site::told::told;

/// An object as a list shows it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) key: Path,
    pub(crate) len: u64,
    pub(crate) modified: SystemTime,
    /// Which object of this key it is, where the store tells.
    pub(crate) tag: Option<Tag>,
}

/// What tells objects of one key from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag(Box<str>);

impl Tag {
    /// Some stores put quotes around it in one answer and none in another.
    fn of(meta: &ObjectMeta) -> Option<Self> {
        let tag = meta.e_tag.as_deref()?;
        Some(Self(tag.trim_start_matches("W/").trim_matches('"').into()))
    }
}

/// The objects of a store.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) options: Options,
}

/// How often a request is sent before it is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tries {
    One,
    /// As often as options say.
    Many,
}

/// What the store said to a put that was to make an object.
#[derive(Debug)]
pub(crate) enum Answer {
    Made,
    /// There is one, or there was a race: not even that it is another's is certain.
    Taken,
    /// Nothing was made, and nothing will be.
    Refused(Error),
    /// It may have been made, or may be yet.
    Unknown(Error),
}

impl Objects {
    /// Puts an object that must not be there yet: one request.
    pub(crate) async fn create(&self, key: &Path, bytes: &Bytes) -> Answer {
        use object_store::Error as E;
        let options = PutOptions::from(PutMode::Create);
        let put = self.store.put_opts(key, bytes.clone().into(), options);
        match self.within(bytes.len(), put).await {
            Some(Ok(_)) => Answer::Made,
            Some(Err(E::AlreadyExists { .. } | E::Precondition { .. } | E::NotModified { .. })) => {
                Answer::Taken
            }
            Some(Err(error)) => match Tried::of("write", key, error) {
                Tried { error, last: true } => Answer::Refused(error),
                Tried { error, .. } => Answer::Unknown(error),
            },
            None => Answer::Unknown(late("write", key)),
        }
    }

    /// Puts an object whose name nobody else has, or whose last writer wins.
    ///
    /// # Errors
    /// `Indeterminate` if it may be there all the same.
    pub(crate) async fn put(&self, key: &Path, bytes: &Bytes) -> Result<()> {
        self.put_for(key, bytes, Tries::Many).await
    }

    /// As [`Self::put`], with so many tries.
    pub(crate) async fn put_for(&self, key: &Path, bytes: &Bytes, tries: Tries) -> Result<()> {
        let put = || async {
            let options = PutOptions::from(PutMode::Overwrite);
            let put = self.store.put_opts(key, bytes.clone().into(), options);
            self.answer("write", key, self.within(bytes.len(), put).await)
        };
        let put = match tries {
            Tries::One => put().await.map_err(|tried| unsettled(tried.error)),
            Tries::Many => self.changes(put).await,
        };
        put.map(drop)
    }

    /// Puts an object unless there is one, as long as it is `fresh`; gives what is there if that is
    /// another's, or one's own of an earlier try. Cost: 1 PUT, and 1 GET if there is one.
    pub(crate) async fn put_once(
        &self,
        key: &Path,
        bytes: &Bytes,
        fresh: impl Fn() -> bool,
    ) -> Result<Option<Bytes>> {
        let mut tries = 0;
        let begun = Instant::now();
        loop {
            tries += 1;
            let error = match self.create(key, bytes).await {
                Answer::Made => return Ok(None),
                Answer::Refused(error) => return Err(error),
                Answer::Unknown(error) => error,
                Answer::Taken => match self.get(key).await? {
                    Some(there) => return Ok(Some(there)),
                    None => absurd(key),
                },
            };
            if self.is_enough(tries, begun) || !fresh() {
                return Err(error);
            }
            self.pause(tries).await;
        }
    }

    /// The bytes of an object; `None` if there is none.
    pub(crate) async fn get(&self, key: &Path) -> Result<Option<Bytes>> {
        Ok(self.read(key, None).await?.map(|(bytes, _)| bytes))
    }

    /// The bytes of an object that was listed, and whether it is that one for certain: the key may
    /// have been deleted since, and used once more.
    pub(crate) async fn get_listed(&self, listed: &Listed) -> Result<Option<(Bytes, bool)>> {
        let got = self.read(&listed.key, None).await?;
        Ok(got.map(|(bytes, tag)| (bytes, tag.is_some() && tag == listed.tag)))
    }

    /// Some bytes of an object; `None` if there is none. The range must lie within it.
    pub(crate) async fn get_range(&self, key: &Path, range: Range<u64>) -> Result<Option<Bytes>> {
        Ok(self.read(key, Some(range)).await?.map(|(bytes, _)| bytes))
    }

    async fn read(
        &self,
        key: &Path,
        range: Option<Range<u64>>,
    ) -> Result<Option<(Bytes, Option<Tag>)>> {
        let read = || async {
            let options = GetOptions {
                range: range.clone().map(GetRange::Bounded),
                ..GetOptions::default()
            };
            let got = async {
                let got = self.store.get_opts(key, options).await?;
                let tag = Tag::of(&got.meta);
                Ok((got.bytes().await?, tag))
            };
            match self.within(64 << 20, got).await {
                Some(Err(error)) => absent("read", key, error).map(|()| None),
                answer => self.answer("read", key, answer).map(Some),
            }
        };
        self.again(read).await
    }

    /// The length of an object; `None` if there is none.
    pub(crate) async fn len(&self, key: &Path) -> Result<Option<u64>> {
        self.again(|| async {
            let options = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            match self.within(0, self.store.get_opts(key, options)).await {
                Some(Err(error)) => absent("read", key, error).map(|()| None),
                answer => self
                    .answer("read", key, answer)
                    .map(|got| Some(got.meta.size)),
            }
        })
        .await
    }

    /// Sees to it that an object stays which somebody else put: one that is read is durable, but in a folder.
    pub(crate) async fn prove(&self, key: &Path) -> Result<()> {
        self.again(|| async {
            let mut options = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            options.extensions.insert(Durably);
            match self.within(0, self.store.get_opts(key, options)).await {
                Some(Err(error)) => absent("read", key, error),
                answer => self.answer("read", key, answer).map(drop),
            }
        })
        .await
    }

    /// Deletes objects; those that are not there are no error. One request for a thousand, where
    /// the store can.
    ///
    /// # Errors
    /// `Indeterminate` if some may be gone.
    pub(crate) async fn delete(&self, keys: Vec<Path>) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let first = keys.first().cloned().unwrap_or_default();
        self.changes(|| async {
            let keys = stream::iter(keys.clone().into_iter().map(Ok)).boxed();
            let all = self.store.delete_stream(keys).map(|gone| match gone {
                Err(object_store::Error::NotFound { .. }) | Ok(_) => Ok(()),
                Err(error) => Err(error),
            });
            let all = all.try_collect::<Vec<()>>();
            self.answer("delete", &first, self.within(64 << 20, all).await)
        })
        .await
        .map(drop)
    }

    /// Awaits a request, for as long as one may take that moves so many bytes.
    pub(crate) async fn within<T>(
        &self,
        len: usize,
        request: impl Future<Output = T>,
    ) -> Option<T> {
        let more = Duration::from_millis(wide(len) >> 10);
        let late = Delay::new(self.options.request_timeout + more);
        // The deadline first: what was left alone for long is not sent now.
        match select(late, Box::pin(request)).await {
            Either::Left(_) => None,
            Either::Right((answer, _)) => Some(answer),
        }
    }

    pub(crate) fn answer<T>(
        &self,
        what: &str,
        key: &Path,
        answer: Option<object_store::Result<T>>,
    ) -> std::result::Result<T, Tried> {
        match answer {
            Some(Ok(done)) => Ok(done),
            Some(Err(error)) => Err(Tried::of(what, key, error)),
            None => Err(Tried {
                last: false,
                error: late(what, key),
            }),
        }
    }

    /// Sends a request again, a few times, if it can do no harm.
    pub(crate) async fn again<T, F>(&self, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, Tried>>,
    {
        self.tried(request).await.map_err(|(_, error)| error)
    }

    /// As [`Self::again`], a request that changes something.
    async fn changes<T, F>(&self, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, Tried>>,
    {
        let tried = self.tried(request).await;
        tried.map_err(|(open, error)| if open { unsettled(error) } else { error })
    }

    /// With an error, whether one of the tries may have been done.
    async fn tried<T, F>(&self, request: impl Fn() -> F) -> std::result::Result<T, (bool, Error)>
    where
        F: Future<Output = std::result::Result<T, Tried>>,
    {
        let mut tries = 0;
        let begun = Instant::now();
        loop {
            tries += 1;
            match request().await {
                Ok(done) => return Ok(done),
                Err(tried) if tried.last => return Err((tries > 1, tried.error)),
                Err(tried) if self.is_enough(tries, begun) => return Err((true, tried.error)),
                Err(_) => self.pause(tries).await,
            }
        }
    }

    /// Whether a request was tried often or long enough.
    pub(crate) fn is_enough(&self, tries: u32, begun: Instant) -> bool {
        tries >= self.options.tries || begun.elapsed() >= self.options.deadline
    }

    /// Waits before another try: longer each time, and never as long as somebody else.
    pub(crate) async fn pause(&self, tries: u32) {
        let most = self.options.pause.saturating_mul(1 << tries.min(10));
        let most = most.min(self.options.longest_pause);
        if most.is_zero() {
            return;
        }
        let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(2);
        Delay::new(Duration::from_micros(micros / 2 + random() % (micros / 2))).await;
    }
}

pub(crate) struct Tried {
    pub(crate) error: Error,
    pub(crate) last: bool,
}

impl Tried {
    fn of(what: &str, key: &Path, source: object_store::Error) -> Self {
        let last = is_final(&source);
        let error = failed(what, key, source);
        let last = last
            || matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            );
        Self { error, last }
    }
}

/// That an object is not there is an answer. That the bucket is not there is an error.
fn absent(what: &str, key: &Path, source: object_store::Error) -> std::result::Result<(), Tried> {
    let tried = Tried::of(what, key, source);
    if tried.error.is_not_found() {
        Ok(())
    } else {
        Err(tried)
    }
}

impl From<ObjectMeta> for Listed {
    fn from(meta: ObjectMeta) -> Self {
        Self {
            tag: Tag::of(&meta),
            key: meta.location,
            len: meta.size,
            modified: meta.last_modified.into(),
        }
    }
}

/// Whether the store refused a request for good: it changed nothing, and the same again would be
/// refused again.
fn is_final(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(
        error,
        E::NotFound { .. }
            | E::InvalidPath { .. }
            | E::NotSupported { .. }
            | E::NotImplemented { .. }
            | E::PermissionDenied { .. }
            | E::Unauthenticated { .. }
            | E::UnknownConfigurationKey { .. }
    )
}

fn failed(what: &str, key: &Path, source: object_store::Error) -> Error {
    told(source, &format!("{what} the object {key}"))
}

/// The error for a change of which the store did not say what became.
pub(crate) fn unsettled(error: Error) -> Error {
    Error::indeterminate(
        "the store did not say whether the write was done, look before repeating it",
    )
    .with_source(error)
}

/// The error for a change that shows nowhere, done or not: nothing was done.
pub(crate) fn unseen(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Indeterminate => {
            Error::unavailable("the store did not take a write, nothing was done: try again later")
                .with_source(error)
        }
        _ => error,
    }
}

/// The error for an object that is refused as taken, and is not there.
pub(crate) fn absurd(key: &Path) -> Error {
    Error::unavailable(format!(
        "the store calls the object taken that is not there, try again: {key}"
    ))
}

fn late(what: &str, key: &Path) -> Error {
    Error::unavailable(format!(
        "the store did not answer in time, it could not {what} the object {key}"
    ))
}
