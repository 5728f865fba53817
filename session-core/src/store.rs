//! A handle on a backend.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::projection::name_of;
use crate::{
    Backend, Card, Error, ErrorKind, Finding, Head, Projected, Projection, Repair, Result, SeqNum,
    Session, SessionId, SessionRef, Snapshot,
};

/// Sessions whose ends a list asks for at once.
const ENDS: usize = 256;
/// Sessions that a list looks at at once.
const AT_ONCE: usize = 16;

/// All sessions of one storage.
///
/// Cloning is cheap; clones share the backend.
///
/// ```
/// use sessionlog_core::{Kind, LeaseRequest, Memory, NewEvent, Owner, Store};
///
/// # pollster::block_on(async {
/// let store = Store::new(Memory::new());
/// let session = store.create("s1".parse()?).await?;
///
/// let writer = session.acquire(LeaseRequest::new(Owner::new("docs")?)).await?;
/// let hello = NewEvent::json(Kind::from_static("message"), r#"{"role":"user"}"#)?;
/// writer.append_one(hello).await?;
/// writer.release().await?;
///
/// let mut events = session.read(sessionlog_core::SeqNum::all());
/// while let Some(event) = events.next().await {
///     println!("{}", event?.data);
/// }
/// # Ok::<(), sessionlog_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
}

/// A session in a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The name.
    pub id: SessionId,
    /// Its card; an error if the session is there but can't be read.
    pub card: Result<Card>,
}

impl Listed {
    /// A session as it is listed.
    pub const fn new(id: SessionId, card: Result<Card>) -> Self {
        Self { id, card }
    }
}

impl<B: Backend> From<B> for Store {
    fn from(backend: B) -> Self {
        Self::new(backend)
    }
}

impl Store {
    /// A store on a backend.
    pub fn new(backend: impl Backend) -> Self {
        Self {
            backend: Arc::new(backend),
        }
    }

    /// A store on a backend that is shared with others.
    pub fn shared(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// The backend, for what only implementers need.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Makes an empty session.
    ///
    /// # Errors
    /// `Conflict` if the id is in use; `Unavailable`.
    pub async fn create(&self, id: SessionId) -> Result<Session> {
        let at = SessionRef::fresh(id);
        self.backend.create(&at).await?;
        Ok(Session::new(self.backend.clone(), at))
    }

    /// Opens a session that is there.
    ///
    /// # Errors
    /// `NotFound` if there is none of that name; `Corrupt` if it is there and can't be read.
    pub async fn open(&self, id: &SessionId) -> Result<Session> {
        let (at, _) = self.backend.head(id).await?;
        Ok(Session::new(self.backend.clone(), at))
    }

    /// Opens a session and replays it in one go: what [`open`](Self::open) and
    /// [`Session::project`] do, with one look at the storage for both.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Session::read`].
    pub async fn project<P: Projection>(&self, id: &SessionId) -> Result<(Session, Projected<P>)> {
        let (at, head) = self.backend.head(id).await?;
        let session = Session::new(self.backend.clone(), at);
        let newest = session.newest::<P>(head.tail).await?;
        let projected = session.replay(head, SeqNum::MAX, newest).await?;
        Ok((session, projected))
    }

    /// Opens a session, or makes it if there is none of that name. One that is there but can't be
    /// read is an error, never a new session.
    ///
    /// # Errors
    /// `Corrupt`, `Unavailable`.
    pub async fn open_or_create(&self, id: SessionId) -> Result<Session> {
        match self.open(&id).await {
            Err(error) if error.is_not_found() => match self.create(id.clone()).await {
                // Another process was faster.
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {
                    self.open(&id).await
                }
                created => created,
            },
            opened => opened,
        }
    }

    /// The names of all sessions, sorted.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn ids(&self) -> Result<Vec<SessionId>> {
        let mut ids: Vec<_> = self.backend.sessions().try_collect().await?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// All sessions with their cards, the newest first.
    ///
    /// One scan over the cards, and of each log only its end, 16 at a time; a log is read only where
    /// its card is missing or behind, and then only behind the card. Writes nothing.
    ///
    /// # Errors
    /// `Unavailable` if the store can't be listed; what is wrong with one session is told in its
    /// place.
    pub async fn cards(&self) -> Result<Vec<Listed>> {
        let mut saved: HashMap<SessionId, Snapshot> = self
            .backend
            .scan(&name_of::<Card>()?, Card::VERSION)
            .try_collect()
            .await?;
        let mut all = Vec::new();
        let mut ids = self.backend.sessions().chunks(ENDS);
        while let Some(some) = ids.next().await {
            let some = some.into_iter().collect::<Result<Vec<_>>>()?;
            let heads = self.backend.heads(&some).await;
            let cards = some.into_iter().zip(heads).map(|(id, head)| {
                let (store, saved) = (self.clone(), saved.remove(&id));
                async move {
                    let card = match head {
                        Ok((at, head)) => store.card(at, head, saved).await,
                        Err(error) => Err(error),
                    };
                    listed(id, card)
                }
            });
            let cards = stream::iter(cards).buffer_unordered(AT_ONCE);
            all.extend(cards.filter_map(ready).collect::<Vec<_>>().await);
        }
        all.sort_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.id.cmp(&b.id)));
        Ok(all)
    }

    /// The `most` sessions that were made last, with their cards, the newest first.
    ///
    /// Where the storage has an index of them, no other session is looked at, and 16 of them at
    /// once; elsewhere it costs as much as [`cards`](Self::cards), and goes by when a card says that
    /// its session was created.
    ///
    /// # Errors
    /// As [`cards`](Self::cards).
    pub async fn newest(&self, most: usize) -> Result<Vec<Listed>> {
        let Some(ids) = self.backend.newest(most).await? else {
            let mut all = self.cards().await?;
            all.sort_by_key(|listed| Reverse(listed.card.as_ref().ok().and_then(|c| c.created)));
            all.truncate(most);
            return Ok(all);
        };
        let cards = stream::iter(ids).map(|id| {
            let store = self.clone();
            async move {
                let card = store.project::<Card>(&id).await;
                listed(id, card.map(|(_, projected)| projected.state))
            }
        });
        let cards = cards.buffered(AT_ONCE).filter_map(ready);
        Ok(cards.collect().await)
    }

    async fn card(&self, at: SessionRef, head: Head, saved: Option<Snapshot>) -> Result<Card> {
        let session = Session::new(self.backend.clone(), at);
        let projected = session.replay::<Card>(head, SeqNum::MAX, saved).await?;
        Ok(projected.state)
    }

    /// Deletes a session with everything that belongs to it, unless somebody drives it.
    ///
    /// # Errors
    /// `LeaseHeld`, `NotFound`, `Unavailable`; `Corrupt` if it can't be read: then
    /// [`delete_damaged`](Self::delete_damaged) deletes it.
    pub async fn delete(&self, id: &SessionId) -> Result<()> {
        let (at, _) = self.backend.head(id).await?;
        self.backend.delete(&at, None).await
    }

    /// Deletes a session that may be damaged: one that can't be read is repaired first, as far as its
    /// storage can, so that what is deleted is known to be that session and nothing else.
    ///
    /// # Errors
    /// As [`delete`](Self::delete) and [`repair`](Self::repair); `Corrupt` if the repair does not help.
    pub async fn delete_damaged(&self, id: &SessionId) -> Result<()> {
        match self.delete(id).await {
            Err(error) if error.is_corrupt() => {}
            outcome => return outcome,
        }
        self.repair(id, true).await?;
        self.delete(id).await
    }

    /// Everything that is wrong with a stored session, readable or not. Writes nothing.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        self.backend.verify(id).await
    }

    /// Mends a stored session, readable or not; with `apply` false it only says what it would do.
    ///
    /// # Errors
    /// `LeaseHeld`, `NotFound`, `Unsupported`, `Unavailable`.
    pub async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.backend.repair(id, apply).await
    }

    /// What lies in the storage but belongs to no session.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn strays(&self) -> Result<Vec<Finding>> {
        self.backend.strays().await
    }

    /// The one session whose name starts with `prefix`.
    ///
    /// # Errors
    /// `NotFound` if there is none, `InvalidInput` with some of them if there are several, or if
    /// `prefix` is empty: a name that was forgotten means no session, even if there is only one.
    pub async fn find(&self, prefix: &str) -> Result<SessionId> {
        if prefix.is_empty() {
            return Err(Error::invalid("the name of the session is empty, give one"));
        }
        let mut ids = self.backend.sessions();
        let mut found = Vec::new();
        while let Some(id) = ids.next().await {
            let id = id?;
            if id.as_str() == prefix {
                return Ok(id);
            }
            if id.as_str().starts_with(prefix) {
                found.push(id);
            }
        }
        found.sort_unstable();
        match found.as_slice() {
            [id] => Ok(id.clone()),
            [] => Err(Error::not_found(format!(
                "no session has this name or prefix: {prefix}"
            ))),
            several => {
                let some: Vec<_> = several.iter().take(5).map(SessionId::as_str).collect();
                Err(Error::invalid(format!(
                    "{} sessions start with {prefix:?}, give more of the name: {}",
                    several.len(),
                    some.join(", ")
                )))
            }
        }
    }
}

/// The session as it is listed, unless it is gone meanwhile.
fn listed(id: SessionId, card: Result<Card>) -> Option<Listed> {
    let gone = matches!(&card, Err(error) if error.is_not_found());
    (!gone).then_some(Listed { id, card })
}

fn newest(listed: &Listed) -> Option<crate::Timestamp> {
    listed.card.as_ref().ok().and_then(|card| card.updated)
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}
