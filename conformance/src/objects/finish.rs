//! The end of a run: everything late arrives, and what is left must be right.

use sessionlog_core::{Event, Liveness, SeqNum, SessionRef, Severity, Snapshot, Store};

use super::Fault;
use super::history::Life;
use super::play::{Play, marker};
use crate::bench::{Ask, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::make::{FOLD, event_id, request};

impl Play<'_> {
    /// Ends the run: no request is spoiled any more, and what is late arrives.
    pub(super) async fn calm(&self) {
        self.conductor.arm(false);
        self.cloud.settle().await;
        self.bench
            .sometimes("zombies applied", self.cloud.zombies());
        let lost = |fault: &Fault| matches!(fault, Fault::AnswerLost | Fault::OwnRetry);
        let faults = self.conductor.faults();
        let lost = faults.values().filter(|f| lost(f)).count();
        self.bench.sometimes("lost acknowledgements", lost as u64);
        self.bench
            .sometimes("spoiled requests", faults.len() as u64);
    }

    /// Checks what is left of session `s`.
    pub(super) async fn finish(&self) -> Held {
        self.calm().await;
        let store = self.anew().await?;
        let Some(life) = self.there(&store).await? else {
            return self.nothing_stays().await;
        };
        let session = self.session(life)?;
        let log = verified(&store, &session).await?;
        self.history().check(life, &log)?;
        let observed = self.observer.log(&session).await?;
        ensure!(
            observed == log,
            "a client that was open all the time reads {} events, a new one {}",
            observed.len(),
            log.len()
        );
        self.snapshots(&store, life, &log).await?;
        let found = store.verify(&session.id).await?;
        let damage = found.iter().find(|f| f.severity == Severity::Damage);
        ensure!(damage.is_none(), "verification found damage: {damage:?}");
        self.nothing_stays().await?;
        self.settles(&store, life).await?;
        self.goes_on(&store, life).await
    }

    /// Which life is there.
    async fn there(&self, store: &Handle) -> Held<Option<usize>> {
        let head = store.head(&crate::make::id("s")?).await;
        let mut ids = store.ids().await?;
        ids.retain(|id| id.as_str() == "s");
        let history = self.history();
        match head {
            Ok((session, _)) => {
                let life = history.lives.iter().position(|l| l.session == session);
                let life = life.ok_or_else(|| breach("a life is there that nobody created"))?;
                let is = |what: fn(&Life) -> bool| history.lives.get(life).is_some_and(what);
                ensure!(
                    !is(|l| l.dead.is_some()),
                    "a session is there after its delete had returned"
                );
                ensure!(
                    ids == [session.id] || (ids.is_empty() && !is(|l| l.listed)),
                    "the list has {ids:?} of a session that is there and was written to"
                );
                Ok(Some(life))
            }
            Err(error) if error.is_not_found() => {
                ensure_eq!(ids, vec![], "the sessions `s` of a store that has none");
                let lost = history
                    .lives
                    .iter()
                    .find(|l| l.created && l.dying.is_none());
                ensure!(
                    lost.is_none(),
                    "a session that was created is gone, and nobody asked for its delete"
                );
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whatever is found of snapshots was saved, under a token that was the newest, and says no more
    /// than the log does.
    async fn snapshots(&self, store: &Handle, life: usize, log: &[Event]) -> Held {
        let session = self.session(life)?;
        let mut bound = SeqNum::MAX;
        while let Some(found) = store.latest(&session, &FOLD, 1, bound).await? {
            self.snapshot_is_right(life, &found, log)?;
            if found.covers == SeqNum::ZERO {
                break;
            }
            bound = found.covers.minus(1);
        }
        Ok(())
    }

    fn snapshot_is_right(&self, life: usize, found: &Snapshot, log: &[Event]) -> Held {
        let history = self.history();
        let mut sent = history
            .saved
            .iter()
            .filter(|s| s.life == life && s.snapshot == *found);
        let covered = found.covers.get();
        ensure!(
            sent.clone().next().is_some(),
            "a snapshot that covers {covered} events, and that nobody saved"
        );
        let last = log.iter().find(|e| e.seq.plus(1) == found.covers);
        ensure!(
            found.covers == SeqNum::ZERO || last.is_some_and(|e| e.sum == found.log),
            "a snapshot covers {covered} events of a log that has {} or others",
            log.len()
        );
        let stale = |token: u64, asked: u64| {
            let grants = history.grants.iter().filter(|g| g.life == life);
            grants.clone().any(|g| g.token > token && g.acked < asked)
        };
        ensure!(
            sent.any(|s| !stale(s.token, s.asked)),
            "a snapshot is there that was sent with the token of a lease that had been replaced"
        );
        Ok(())
    }

    /// No object has content of a life whose delete returned; unless a request came late, or was
    /// spoiled while others wrote: a writer whose requests fail can't take back what it has put.
    async fn nothing_stays(&self) -> Held {
        let faults = self.conductor.faults();
        let crowded = self.at_once && !faults.is_empty();
        if crowded || faults.values().any(|f| matches!(f, Fault::Late(_))) {
            return Ok(());
        }
        let dead: Vec<_> = {
            let history = self.history();
            let dead = history
                .lives
                .iter()
                .enumerate()
                .filter(|(_, l)| l.dead.is_some());
            dead.map(|(n, _)| marker(n)).collect()
        };
        if dead.is_empty() {
            return Ok(());
        }
        for (key, content) in super::look::objects(&*self.raw).await? {
            for marker in &dead {
                let there = content
                    .windows(marker.len())
                    .any(|w| w == marker.as_bytes());
                ensure!(
                    !there,
                    "the object {key} has content of a session whose delete returned"
                );
            }
        }
        Ok(())
    }

    /// A batch of which nobody knows whether it is there can be sent again, and is there once then.
    async fn settles(&self, store: &Handle, life: usize) -> Held {
        let open: Vec<usize> = {
            let history = self.history();
            let batches = history.batches.iter().enumerate();
            let open = batches.filter(|(_, b)| b.life == life && b.perhaps && b.acked.is_none());
            open.map(|(n, _)| n).collect()
        };
        let session = self.session(life)?;
        for batch in open {
            let events = self.events(batch);
            let ids: Vec<_> = events.iter().map(|e| e.id).collect();
            let range = store.put_events(&session, events).await?;
            let log = store.log(&session).await?;
            let at: Vec<_> = log
                .iter()
                .filter(|e| ids.contains(&e.id))
                .map(|e| (e.seq, e.id))
                .collect();
            let expected: Vec<_> = (0..)
                .zip(&ids)
                .map(|(n, id)| (range.start.plus(n), *id))
                .collect();
            ensure_eq!(
                at,
                expected,
                "the events of a batch that was sent again at the end"
            );
        }
        Ok(())
    }

    /// The newest grant holds the lease, unless its holder gave it back.
    async fn is_held(&self, store: &Handle, life: usize) -> Held {
        let session = self.session(life)?;
        let newest = self.history().token(life);
        let Some(newest) = newest.filter(|n| !self.history().given_back.contains(&(life, *n)))
        else {
            return Ok(());
        };
        match store.holder(&session).await? {
            Liveness::Live(Some(holder)) => ensure!(
                holder.token.get() >= newest,
                "the lease is said to be held with token {}, and the newest is {newest}",
                holder.token
            ),
            Liveness::Idle => ensure!(
                false,
                "the lease with token {newest} is free, and its holder did not give it back"
            ),
            _ => {}
        }
        Ok(())
    }

    /// The next lease and the next append work.
    async fn goes_on(&self, store: &Handle, life: usize) -> Held {
        let session = self.session(life)?;
        let before = store.end(&session).await?;
        self.is_held(store, life).await?;
        let lease = store.acquire(&session, request("next")?.forced()).await?;
        let newest = self.history().token(life).unwrap_or(0);
        ensure!(
            lease.token.get() > newest,
            "the next grant has token {}, and one before it had {newest}",
            lease.token
        );
        let range = store
            .put_under(&session, vec![crate::make::event(9_000)], &lease)
            .await?;
        ensure_eq!(range.start, before.tail, "where the next append begins");
        let log = verified(store, &session).await?;
        ensure_eq!(
            log.last().map(|e| e.id),
            Some(event_id(9_000)),
            "the last event"
        );
        ensure_eq!(log.len() as u64, range.end.get(), "events in the log");
        let listed = store.ids().await?.contains(&session.id);
        ensure!(listed, "a session is not listed after an append to it");
        Ok(())
    }
}

/// A whole log, each checksum verified.
async fn verified(store: &Handle, session: &SessionRef) -> Held<Vec<Event>> {
    let opened = Store::shared(std::sync::Arc::clone(store))
        .open(&session.id)
        .await?;
    Ok(opened.read(SeqNum::all()).collect().await?)
}
