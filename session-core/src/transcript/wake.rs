//! Waking a session: the lease, the transcript, and what was interrupted.

use futures_util::future::join;

use super::{Agent, OpenCall, Pending, ProcessStarted, SnapshotPolicy, Transcript, TurnStarted};
use crate::verify::verified;
use crate::{
    Events, LeaseRequest, NewEvent, Projected, Projection, Result, SeqNum, Session, Writer,
};

/// A session that is driven: its writer, and its transcript as far as it is written.
///
/// ```
/// use sessionlog_core::{LeaseRequest, Memory, NewEvent, Owner, Store, transcript::kinds};
///
/// # pollster::block_on(async {
/// let store = Store::new(Memory::new());
/// let session = store.create("s1".parse()?).await?;
///
/// let mut woken = session.wake(LeaseRequest::new(Owner::new("docs")?)).await?;
/// let prompt = r#"{"role":"user","message":{"role":"user","content":"hi"}}"#;
/// woken.append(vec![NewEvent::json(kinds::MESSAGE, prompt)?]).await?;
/// assert_eq!(woken.transcript().conversation(None)?.items().len(), 1);
/// woken.release().await?;
/// # Ok::<(), sessionlog_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Woken {
    writer: Writer,
    projected: Projected<Transcript>,
    interrupted: Interrupted,
    policy: SnapshotPolicy,
    /// Whether the last append could not be read back.
    stale: bool,
}

/// What was going on when a session was last driven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// Calls of the main conversation that have no result: each may or may not have had an effect.
    pub calls: Vec<OpenCall>,
    /// Requests that nobody resolved.
    pub permissions: Vec<Pending>,
    /// Processes that no exit is known of, and where they were started.
    pub processes: Vec<(SeqNum, ProcessStarted)>,
    /// Turns that have no end, and where they began.
    pub turns: Vec<(SeqNum, TurnStarted)>,
    /// Sub-agents that have not ended.
    pub agents: Vec<Agent>,
    /// Whether the last reply broke off.
    pub cut: bool,
    /// Whether the main conversation waits for the model: its last word is a prompt or a result.
    pub unanswered: bool,
}

impl Interrupted {
    /// What a transcript says of it. The main conversation must be in memory.
    ///
    /// # Errors
    /// `Unavailable` if it is not: see [`Transcript::missing`].
    pub fn of(transcript: &Transcript) -> Result<Self> {
        let conversation = transcript.conversation(None)?;
        let processes = transcript.processes().running();
        let turns = transcript.turns().unfinished();
        Ok(Self {
            calls: conversation.open_calls().to_vec(),
            permissions: transcript.permissions().pending().to_vec(),
            processes: processes.map(|(seq, it)| (seq, it.clone())).collect(),
            turns: turns.map(|(seq, it)| (seq, it.clone())).collect(),
            agents: transcript.sub_agents().working().cloned().collect(),
            cut: conversation.is_cut(),
            unanswered: conversation.awaits_reply(),
        })
    }

    /// Whether nothing was interrupted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Session {
    /// Takes the lease, replays from the newest snapshot that is proven, and says what was
    /// interrupted. Nothing is appended: that is the caller's to decide.
    ///
    /// # Errors
    /// `LeaseHeld` that names the holder; `NotFound`, `Corrupt`, `Unavailable`.
    pub async fn wake(&self, request: LeaseRequest) -> Result<Woken> {
        // A snapshot is proven before it is believed: it may be read before the grant.
        let newest = self.newest::<Transcript>(SeqNum::MAX);
        let (writer, newest) = join(self.acquire(request), newest).await;
        let writer = writer?;
        let end = writer.end_at_grant();
        let mut projected = self.replay::<Transcript>(end, SeqNum::MAX, newest?).await?;
        self.load_until(end, &mut projected.state, None).await?;
        let interrupted = Interrupted::of(&projected.state)?;
        Ok(Woken {
            writer,
            projected,
            interrupted,
            policy: SnapshotPolicy::default(),
            stale: false,
        })
    }

    /// Folds in what was appended since: by whatever process.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn catch_up<P: Projection>(&self, projected: &mut Projected<P>) -> Result<()> {
        let head = projected.head;
        let range = head.tail..SeqNum::MAX;
        let (backend, at) = (self.backend.clone(), self.at.clone());
        let mut events = Events::new(verified(backend, at, range, Some(head)));
        while let Some(chunk) = events.next_chunk().await {
            let chunk = chunk?;
            chunk.iter().for_each(|event| projected.state.apply(event));
            projected.folded = projected.folded.saturating_add(chunk.len() as u64);
            projected.head = events.head().unwrap_or(projected.head);
        }
        Ok(())
    }
}

impl Woken {
    /// What was going on when the session was last driven.
    pub fn interrupted(&self) -> &Interrupted {
        &self.interrupted
    }

    /// The transcript, as far as this handle has seen the log.
    pub fn transcript(&self) -> &Transcript {
        &self.projected.state
    }

    /// The transcript with the verified end of the log that it reaches to.
    pub fn projected(&self) -> &Projected<Transcript> {
        &self.projected
    }

    /// The writer, for what is appended without a look at the transcript. What it appends is seen
    /// by the next [`append`](Self::append) or [`catch_up`](Self::catch_up).
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Appends a batch, folds it in, and takes a snapshot when one is due.
    ///
    /// If the batch is there but can't be read back, this is `Ok` all the same (G13): the transcript
    /// lags behind, [`is_current`](Self::is_current) says so, and the next append reads first.
    ///
    /// # Errors
    /// As [`Writer::append`] and, if the transcript lags behind, as [`catch_up`](Self::catch_up).
    pub async fn append(&mut self, events: Vec<NewEvent>) -> Result<std::ops::Range<SeqNum>> {
        if self.stale {
            self.catch_up().await?;
        }
        let range = self.writer.append(events).await?;
        self.stale = self.catch_up().await.is_err();
        Ok(range)
    }

    /// Whether the transcript has all that was appended through this handle.
    pub fn is_current(&self) -> bool {
        !self.stale
    }

    /// Folds in what was appended since, by this process or another, loads the main conversation if
    /// the head moved into a branch, and takes a snapshot when one is due.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub async fn catch_up(&mut self) -> Result<()> {
        let session = self.writer.session().clone();
        session.catch_up(&mut self.projected).await?;
        session.load(&mut self.projected.state, None).await?;
        self.stale = false;
        if self.policy.due(self.projected.state.behind()) {
            // A snapshot is a cache: that it could not be saved changes no result.
            drop(self.save(false).await);
        }
        Ok(())
    }

    /// Takes a snapshot now, unless nothing was appended since the last one.
    ///
    /// # Errors
    /// As [`Writer::save`].
    pub async fn snapshot(&mut self) -> Result<()> {
        self.save(true).await
    }

    async fn save(&mut self, always: bool) -> Result<()> {
        let behind = self.projected.state.behind();
        if behind == 0 {
            return Ok(());
        }
        let snapshot = Session::snapshot(&self.projected)?;
        let size = snapshot.state.len() as u64;
        if !self.policy.accepts(size, behind) && !always {
            return Ok(());
        }
        let session = self.writer.session();
        let token = Some(self.writer.token());
        session
            .backend()
            .save(session.at(), snapshot, token)
            .await?;
        self.projected.state.saved();
        Ok(())
    }

    /// Takes a snapshot if the log has grown by as much, and gives the lease back.
    ///
    /// # Errors
    /// `Unavailable`; the lease is let go all the same.
    pub async fn release(mut self) -> Result<()> {
        // A snapshot is a cache: that it could not be saved must not keep the lease.
        drop(self.save(false).await);
        self.writer.release().await
    }
}

impl Transcript {
    /// Bytes of payload that were folded in since the snapshot that this state is from.
    pub fn behind(&self) -> u64 {
        self.weight.behind()
    }

    pub(super) fn saved(&mut self) {
        self.weight.saved();
    }
}

impl From<Woken> for Writer {
    fn from(woken: Woken) -> Self {
        woken.writer
    }
}
