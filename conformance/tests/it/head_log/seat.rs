//! Who may write the next head, and the writing of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::lock::Mutex as AsyncMutex;
use futures_util::{FutureExt, TryStreamExt};
use sessionlog_core::*;

use super::heads::{Entry, HeadObject, Mark, Put, TRIES, slot_of, unavailable};
use super::log::{Flaw, HeadLog};
use crate::custom_backend::replay;

/// How often a contest for a number is taken up again.
const ROUNDS: usize = 8;

/// What the reference backend does, it does at once.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

/// A session as it was seen last.
pub(super) struct View {
    slot: u64,
    head: HeadObject,
    pub(super) memory: Memory,
    /// Leases live as long as they are here.
    leases: HashMap<u64, Lease>,
    /// The last heads that this writer wrote, its fence first. Without any it is not the writer.
    own: Vec<u64>,
}

impl View {
    fn of(slot: u64, mark: Mark, entries: Vec<Entry>) -> Self {
        let mut view = Self {
            slot,
            head: HeadObject {
                mark,
                entries: Vec::new(),
            },
            memory: Memory::new(),
            leases: HashMap::new(),
            own: Vec::new(),
        };
        for entry in entries {
            view.replay(entry.clone());
            view.head.entries.push(entry);
        }
        view
    }

    fn replay(&mut self, entry: Entry) {
        match entry {
            Entry::Line(line) => now(replay(&self.memory, line)),
            Entry::Grant((id, incarnation), owner) => {
                let session = SessionRef { id, incarnation };
                let request = LeaseRequest::new(owner).forced();
                self.grant(&session, request).ok();
            }
            Entry::Release(token) => self.release(token),
        }
    }

    /// Grants a lease, which lives on in this view.
    pub(super) fn grant(&mut self, of: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let lease = now(self.memory.acquire(of, request))?;
        let granted = Lease::new(of.clone(), lease.token, lease.owner.clone(), None, ());
        self.leases.insert(lease.token.get(), lease);
        Ok(granted)
    }

    pub(super) fn release(&mut self, token: u64) {
        self.leases.remove(&token);
    }

    pub(super) fn holds(&self, token: u64) -> bool {
        self.leases.contains_key(&token)
    }
}

/// How a session is found: by all that use it, one after the other.
pub(super) type Cell = Arc<AsyncMutex<Option<View>>>;

impl HeadLog {
    pub(super) fn session(&self, id: &SessionId) -> Cell {
        Arc::clone(self.sessions.lock().unwrap().entry(id.clone()).or_default())
    }

    fn mark(&self, fence: Option<u64>, deleted: bool) -> Mark {
        Mark {
            writer: self.writer.clone(),
            commit: self.commits.fetch_add(1, Ordering::Relaxed),
            deleted,
            fence,
        }
    }

    /// Sees the session as it is now. Whether there ever was one.
    pub(super) async fn look(&self, id: &SessionId, seen: &mut Option<View>) -> Result<bool> {
        for _ in 0..ROUNDS {
            let Some(newest) = self.newest(id).await? else {
                *seen = None;
                return Ok(false);
            };
            if seen.as_ref().is_some_and(|view| view.slot == newest) {
                return Ok(true);
            }
            let Some(mut head) = self.get(&self.key(id, newest)).await? else {
                continue;
            };
            if let Some(tail) = head.mark.fence {
                match self.get(&self.key(id, tail)).await? {
                    Some(behind) => head.entries = behind.entries,
                    // A deleted session has no tail, and an old fence has none any more.
                    None if head.mark.deleted => {}
                    None => continue,
                }
            }
            *seen = Some(View::of(newest, head.mark, head.entries));
            return Ok(true);
        }
        Err(Error::unavailable("heads were collected again and again"))
    }

    /// Becomes the writer of a session. Whether there is one.
    async fn sit(&self, id: &SessionId, seen: &mut Option<View>) -> Result<bool> {
        if seen.as_ref().is_some_and(|view| !view.own.is_empty()) {
            return Ok(true);
        }
        for _ in 0..ROUNDS {
            if !self.look(id, seen).await? {
                return Ok(false);
            }
            let Some(mut view) = seen.take() else {
                continue;
            };
            if self.flaw == Flaw::WritesNoFence {
                view.own.push(view.slot);
                *seen = Some(view);
                return Ok(true);
            }
            let tail = view.head.mark.fence.unwrap_or(view.slot);
            let fence = HeadObject {
                mark: self.mark(Some(tail), view.head.mark.deleted),
                entries: Vec::new(),
            };
            let slot = view.slot + 1;
            match self.put(id, slot, &fence).await {
                Put::Won => {}
                Put::Lost => continue,
                // It changes nothing that anybody could see.
                Put::Unknown | Put::Failed => return Err(Error::unavailable("no fence")),
            }
            // A number that was collected is free again: then somebody is further.
            if self.flaw == Flaw::ListsOnce || self.newest(id).await? == Some(slot) {
                view.slot = slot;
                view.head.mark = fence.mark;
                view.own = vec![slot];
                *seen = Some(view);
                return Ok(true);
            }
        }
        Err(Error::unavailable("others were faster again and again"))
    }

    /// Writes an entry if the session, as it is now, takes it. `None` if somebody else came first.
    pub(super) async fn once<T: Send>(
        &self,
        session: &SessionRef,
        entry: Entry,
        creates: bool,
        take: impl Fn(&mut View) -> Result<T> + Send + Sync,
    ) -> Result<Option<T>> {
        let cell = self.session(&session.id);
        let mut seen = cell.lock().await;
        if !self.sit(&session.id, &mut seen).await? {
            if !creates {
                return Err(session.gone());
            }
            *seen = Some(View::of(0, self.mark(None, true), Vec::new()));
        }
        let Some(mut view) = seen.take() else {
            return Ok(None);
        };
        let before = view.head.clone();
        let taken = match take(&mut view) {
            Ok(taken) => taken,
            // A refusal speaks of the log as it is, not as it was.
            Err(_)
                if self
                    .newest(&session.id)
                    .await?
                    .is_some_and(|n| n != view.slot) =>
            {
                return Ok(None);
            }
            Err(error) => {
                *seen = Some(view);
                return Err(error);
            }
        };
        view.head.mark = self.mark(None, false);
        view.head.entries.push(entry);
        let slot = view.slot + 1;
        if self.flaw == Flaw::BelievesBeforePut {
            let (mark, entries) = (view.head.mark.clone(), view.head.entries.clone());
            let mut believed = View::of(slot, mark, entries);
            believed.own = vec![slot];
            *seen = Some(believed);
        }
        let put = self.put(&session.id, slot, &view.head).await;
        *seen = None;
        match put {
            Put::Won => {}
            Put::Unknown if self.flaw == Flaw::AcknowledgesUnknown => {}
            Put::Lost => return Ok(None),
            Put::Failed => return Err(Error::unavailable("not written")),
            Put::Unknown => {
                if self.flaw == Flaw::ReusesSlots {
                    let mut old = View::of(view.slot, before.mark, before.entries);
                    old.own = view.own;
                    *seen = Some(old);
                }
                return Err(Error::indeterminate("nobody knows whether it was written"));
            }
        }
        view.slot = slot;
        view.own.push(slot);
        self.collect(&session.id, &mut view).await;
        *seen = Some(view);
        Ok(Some(taken))
    }

    /// As [`once`](Self::once), until nobody else comes first.
    pub(super) async fn commit<T: Send>(
        &self,
        session: &SessionRef,
        entry: Entry,
        creates: bool,
        take: impl Fn(&mut View) -> Result<T> + Send + Sync,
    ) -> Result<T> {
        for _ in 0..ROUNDS {
            let taken = self.once(session, entry.clone(), creates, &take).await?;
            if let Some(taken) = taken {
                return Ok(taken);
            }
        }
        Err(Error::unavailable("others were faster again and again"))
    }

    /// Deletes the writer's own old heads, but for its fence.
    async fn collect(&self, id: &SessionId, view: &mut View) {
        let kept = usize::from(self.flaw != Flaw::CollectsFences);
        if view.own.len() > kept + 3 {
            let end = view.own.len() - 2;
            let old: Vec<u64> = view.own.drain(kept..end).collect();
            let keys = old.iter().map(|slot| self.key(id, *slot)).collect();
            // What is left is garbage, and nothing else.
            self.remove(keys).await.ok();
        }
    }

    /// Deletes a session: a tombstone first, then everything but fences.
    pub(super) async fn bury(
        &self,
        session: &SessionRef,
        take: impl Fn(&View) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let id = &session.id;
        let cell = self.session(id);
        let mut seen = cell.lock().await;
        for _ in 0..ROUNDS {
            if !self.sit(id, &mut seen).await? {
                return Err(session.gone());
            }
            let Some(view) = seen.take() else { continue };
            if let Err(error) = take(&view) {
                if self.newest(id).await? != Some(view.slot) {
                    continue;
                }
                // An earlier delete may have been interrupted.
                let deleted = view.head.mark.deleted;
                let slot = view.slot;
                *seen = Some(view);
                if deleted {
                    self.clear(id, slot).await?;
                }
                return Err(error);
            }
            let stone = HeadObject {
                mark: self.mark(None, true),
                entries: Vec::new(),
            };
            let slot = view.slot + 1;
            match self.put(id, slot, &stone).await {
                Put::Won => return self.clear(id, slot).await,
                Put::Lost => {}
                Put::Failed => return Err(Error::unavailable("not deleted")),
                Put::Unknown => return Err(Error::indeterminate("perhaps deleted")),
            }
        }
        Err(Error::unavailable("others were faster again and again"))
    }

    async fn clear(&self, id: &SessionId, stone: u64) -> Result<()> {
        let mut listed = Err(Error::internal("no try"));
        for _ in 0..TRIES {
            let keys = self
                .store
                .list(Some(&self.folder(id)))
                .map_ok(|meta| meta.location);
            listed = keys.try_collect::<Vec<_>>().await.map_err(unavailable);
            if listed.is_ok() {
                break;
            }
        }
        let left = |_| Error::indeterminate("deleted, but what it had is left");
        let mut doomed = Vec::new();
        for key in listed.map_err(left)? {
            let kept = self.flaw != Flaw::DeletesFences
                && (slot_of(&key) >= stone
                    || self
                        .get(&key)
                        .await
                        .map_err(left)?
                        .is_some_and(|h| h.mark.fence.is_some()));
            if !kept {
                doomed.push(key);
            }
        }
        self.remove(doomed).await
    }
}
