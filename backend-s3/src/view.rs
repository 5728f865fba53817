//! What a handle knows of a session, and how it looks again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sessionlog_core::{Error, Place, Result, SessionRef};

use crate::head::{Decoded, Held, Sort, Stamp, State, decode};
use crate::key::{Named, Part};
use crate::moment::Moment;
use crate::objects::Listed;
use crate::run::Step;
use crate::seat::{Seat, lock};

/// How often a list is tried whose newest head is gone before it is read.
const TRIES: u32 = 6;

/// The newest head that a handle has seen.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) state: State,
    pub(crate) held: OnceLock<Held>,
    /// This handle wrote it: who takes over leaves a fence in the next slot.
    own: bool,
    /// The session's marker is in the index.
    listed: bool,
    /// When it was the newest head for certain.
    pub(crate) seen: Moment,
}

impl View {
    pub(crate) fn new(state: State, held: Option<Held>, own: bool) -> Self {
        let slot = OnceLock::new();
        if state.tail.len == 0 {
            drop(slot.set(Held::default()));
        } else if let Some(held) = held {
            drop(slot.set(held));
        }
        Self {
            // Nothing is written behind a creation that is not finished.
            listed: state.marked || state.sort != Sort::Create,
            state,
            held: slot,
            own,
            seen: Moment::now(),
        }
    }

    /// The same, of a session whose marker was seen.
    pub(crate) fn listed(self) -> Self {
        Self {
            listed: true,
            ..self
        }
    }

    /// The same, known since another view was.
    pub(crate) fn since(self, other: &Self) -> Self {
        self.seen_at(other.seen)
    }

    /// The same, known since then.
    pub(crate) fn seen_at(self, seen: Moment) -> Self {
        Self { seen, ..self }
    }

    /// Whether the head is that of a creation which may not be finished.
    pub(crate) fn is_begun(&self) -> bool {
        !self.listed
    }

    /// For how long it has been known.
    pub(crate) fn stood_still(&self) -> Duration {
        self.seen.elapsed()
    }

    /// # Errors
    /// `NotFound` unless this is the life that is meant.
    pub(crate) fn is(&self, session: &SessionRef) -> Result<()> {
        let same = self.state.lives() && self.state.incarnation == session.incarnation;
        if same { Ok(()) } else { Err(session.gone()) }
    }
}

impl Seat {
    /// Whether nobody can have written behind a head without a fence in the next slot.
    pub(crate) fn owns(&self, view: &View) -> bool {
        view.own && self.is_young(view.seen)
    }

    /// Whether what was known then may be believed still.
    pub(crate) fn is_young(&self, seen: Moment) -> bool {
        seen.elapsed() < self.env.objects.options.believed()
    }

    /// What was seen last.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        lock(&self.view).clone()
    }

    /// Takes note of what was seen, unless something else was since `before`. Of a creation that
    /// may not be finished nothing is noted, so that who uses it looks again.
    pub(crate) fn adopt(&self, before: Option<&Arc<View>>, now: &Arc<View>) {
        if now.is_begun() {
            return;
        }
        let mut view = lock(&self.view);
        let unchanged = match (&*view, before) {
            (Some(view), Some(before)) => Arc::ptr_eq(view, before),
            (None, None) => true,
            _ => false,
        };
        if unchanged {
            *view = Some(Arc::clone(now));
        }
    }

    /// Takes note of what this handle wrote.
    pub(crate) fn wrote(&self, now: &Arc<View>) {
        *lock(&self.view) = (!now.is_begun()).then(|| Arc::clone(now));
        self.sent.store(false, Ordering::Release);
        self.bell.notify(usize::MAX);
    }

    /// Forgets what was seen.
    pub(crate) fn forget(&self) {
        *lock(&self.view) = None;
        self.sent.store(false, Ordering::Release);
    }

    /// The newest head, as it is now. Cost: 1 GET where this handle writes; else, and while a write
    /// of its own is under way, 1 LIST and 1 GET, or 1 LIST if nothing changed.
    pub(crate) async fn fresh(&self) -> Result<Arc<View>> {
        match self.fresh_begun().await? {
            view if view.is_begun() => Err(self.missing()),
            view => Ok(view),
        }
    }

    /// As [`Self::fresh`], also if the session's creation is not finished.
    pub(crate) async fn fresh_begun(&self) -> Result<Arc<View>> {
        // Before the view: what is sent behind it from now on is no answer that is due.
        let sent = self.sent.load(Ordering::Acquire);
        let before = self.view();
        if let Some(view) = before.as_ref().filter(|view| self.owns(view) && !sent)
            && self.peek(view.state.slot + 1).await?.is_none()
        {
            return Ok(Arc::clone(view));
        }
        let (view, _) = self.load_begun().await?;
        Ok(view)
    }

    /// The newest head, and the slots that are there, newest first. Cost: 1 LIST, and 1 GET unless
    /// that head is known; 1 more where nothing was written behind the session's creation.
    ///
    /// # Errors
    /// `NotFound` if there is none, also if its creation is not finished.
    pub(crate) async fn load(&self) -> Result<(Arc<View>, Vec<u64>)> {
        match self.load_begun().await? {
            (view, _) if view.is_begun() => Err(self.missing()),
            loaded => Ok(loaded),
        }
    }

    /// As [`Self::load`], also if the session's creation is not finished.
    pub(crate) async fn load_begun(&self) -> Result<(Arc<View>, Vec<u64>)> {
        let mut tries = 0;
        loop {
            tries += 1;
            let before = self.view();
            let looked = Moment::now();
            let heads = self.heads().await?;
            let slots: Vec<_> = heads.iter().map(|(slot, _)| *slot).collect();
            let Some((newest, listed)) = heads.into_iter().next() else {
                self.adopt_nothing(before.as_ref());
                return Err(self.missing());
            };
            let known = before
                .as_ref()
                .filter(|v| v.state.slot == newest && self.is_young(v.seen));
            if let Some(view) = known {
                return Ok((Arc::clone(view), slots));
            }
            // A head may be collected between the two requests, if others append meanwhile.
            if let Some(Decoded { state, held }) = self.peek_listed(newest, &listed).await? {
                let view = View::new(state, held, false).seen_at(looked);
                let view = self.looked_up(view).await?;
                self.adopt(before.as_ref(), &view);
                return Ok((view, slots));
            }
            if tries == TRIES {
                let place = Place::file(self.head_name(newest)).with_session(&self.id);
                return Err(Error::corrupt(
                    place,
                    "the newest head is listed, but not there",
                ));
            }
            self.env.objects.pause(tries).await;
        }
    }

    /// Looks whether a creation is finished: then the marker is in the index.
    async fn looked_up(&self, view: View) -> Result<Arc<View>> {
        let listed = view.is_begun() && self.is_marked(&view.state).await?;
        Ok(Arc::new(if listed { view.listed() } else { view }))
    }

    fn adopt_nothing(&self, before: Option<&Arc<View>>) {
        let mut view = lock(&self.view);
        if let (Some(now), Some(before)) = (&*view, before)
            && Arc::ptr_eq(now, before)
        {
            *view = None;
        }
    }

    pub(crate) fn missing(&self) -> Error {
        Error::not_found(format!("there is no such session: {}", self.id))
    }

    /// The slots that are there, newest first. Cost: 1 LIST for each 1,000 heads.
    pub(crate) async fn slots(&self) -> Result<Vec<u64>> {
        let heads = self.heads().await?;
        Ok(heads.into_iter().map(|(slot, _)| slot).collect())
    }

    /// The heads that are there, newest first. Cost: 1 LIST for each 1,000.
    async fn heads(&self) -> Result<Vec<(u64, Listed)>> {
        let keys = &self.env.keys;
        let listed = self.env.objects.list(Some(&keys.heads(&self.dir))).await?;
        let slot = |listed: Listed| match keys.named(&listed.key) {
            Some(Named::Of(_, Part::Head(slot))) => Some((slot, listed)),
            _ => None,
        };
        let mut heads: Vec<_> = listed.into_iter().filter_map(slot).collect();
        heads.sort_unstable_by_key(|(slot, _)| std::cmp::Reverse(*slot));
        Ok(heads)
    }

    /// The head that was listed as the newest; `None` if it is gone. Cost: 1 GET, and 1 LIST where
    /// the store does not tell whether it is the one that was listed.
    ///
    /// Its slot may have been collected since, and used once more by somebody who takes over from a
    /// head before it, and does not know yet that this comes too late. Then there are newer ones.
    async fn peek_listed(&self, slot: u64, listed: &Listed) -> Result<Option<Decoded>> {
        let Some((bytes, is_sure)) = self.env.objects.get_listed(listed).await? else {
            return Ok(None);
        };
        if !is_sure && self.slots().await?.first() != Some(&slot) {
            return Ok(None);
        }
        self.decode(&bytes, slot).map(Some)
    }

    /// The head in a slot; `None` if there is none. Cost: 1 GET.
    pub(crate) async fn peek(&self, slot: u64) -> Result<Option<Decoded>> {
        let key = self.env.keys.head(&self.dir, slot);
        match self.env.objects.get(&key).await? {
            Some(bytes) => self.decode(&bytes, slot).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(&self, bytes: &bytes::Bytes, slot: u64) -> Result<Decoded> {
        decode(bytes, &self.head_name(slot), &self.dir, slot)
    }

    pub(crate) fn head_name(&self, slot: u64) -> String {
        let key = self.env.keys.head(&self.dir, slot);
        self.env.keys.relative(&key).to_owned()
    }

    /// The events that are in no chunk; `None` if the head that holds them is gone, or another is
    /// in its place, which came too late: then there is a newer one, or it is lost. Cost: 1 GET if
    /// the newest head is a fence, else nothing.
    pub(crate) async fn held(&self, view: &View) -> Result<Option<Held>> {
        if let Some(held) = view.held.get() {
            return Ok(Some(held.clone()));
        }
        let tail = view.state.tail;
        let Some(Decoded { state, held }) = self.peek(tail.slot).await? else {
            return Ok(None);
        };
        if state.tail != tail || state.incarnation != view.state.incarnation {
            return Ok(None);
        }
        let held = held.unwrap_or_default();
        drop(view.held.set(held.clone()));
        Ok(Some(held))
    }

    /// As [`Self::held`], to write behind it. `Again` if there is a newer head. Cost: 1 LIST and 1
    /// GET more where they are gone.
    ///
    /// # Errors
    /// `Corrupt` if they are lost.
    pub(crate) async fn held_for_write(&self, view: &View) -> Result<Step<Held>> {
        if let Some(held) = self.held(view).await? {
            return Ok(Step::Done(held));
        }
        let (now, _) = self.load().await?;
        if now.state.slot == view.state.slot {
            Err(self.lost(view))
        } else {
            Ok(Step::Again)
        }
    }

    /// What an error comes to that was met behind a head. `Again` if something was damaged or
    /// missing and there is a newer head: others have merged chunks. Cost: nothing, or as
    /// [`Self::fresh`].
    pub(crate) async fn overtaken<T>(&self, view: &View, error: Error) -> Result<Step<T>> {
        if error.is_corrupt() && self.fresh().await?.state.stamp != view.state.stamp {
            return Ok(Step::Again);
        }
        Err(error)
    }

    /// The error for a head that holds events and is not there.
    pub(crate) fn lost(&self, view: &View) -> Error {
        let place = Place::file(self.head_name(view.state.tail.slot));
        let place = place
            .with_session(&self.id)
            .with_seq(view.state.tail.base.tail);
        Error::corrupt(
            place,
            "the head that holds the last events is not there, or is another",
        )
    }

    /// A name for the next write.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            writer: self.env.writer,
            commit: *sessionlog_core::EventId::generate().as_bytes(),
        }
    }
}
