//! Repair of a damaged store, and writing on to it.

use std::sync::Arc;

use sessionlog_core::{Error, ErrorKind, Event, NewEvent, SessionId, Store};

use super::explore::{Context, HARMLESS, Happened};
use super::harm::What;
use super::judge::{damage, fitting};
use super::look::{Seen, read};
use super::tree::Tree;
use crate::Capability;
use crate::bench::{Ask, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::make::{events, request};

pub(super) const SALVAGED: &str = "repair salvaged";
pub(super) const APPENDED: &str = "an append took effect";
pub(super) const REFUSED: &str = "an append was refused";
pub(super) const GRANTED: &str = "a lease was granted";
pub(super) const UNGRANTED: &str = "a lease was refused";

fn same_event(stored: &NewEvent, found: &Event) -> bool {
    let found = found.clone().into_new();
    (stored.id, stored.at, &stored.kind, &stored.data)
        == (found.id, found.at, &found.kind, &found.data)
}

/// Every event that can be read before the repair can be read after it, and what is lost is said.
pub(super) async fn repaired(context: Arc<Context>) -> Held<Happened> {
    let mut happened = Vec::new();
    let Ok(handle) = context.open().await else {
        return Ok(happened);
    };
    let seen = Seen::of(&handle, context.now()).await;
    for (id, session) in &seen.sessions {
        let is_damaged = match &session.verified {
            Ok(found) => damage(found),
            Err(error) => !(error.is_not_found() && context.may_be_absent(id)),
        };
        if !is_damaged || !context.now().contains_key(id) {
            continue;
        }
        let before = Tree::of(&context.place)?;
        let would = handle.repair(id, false).await;
        let touched = before.changed(&Tree::of(&context.place)?);
        let touched: Vec<_> = touched
            .iter()
            .filter(|f| **f == context.harm.file)
            .collect();
        ensure!(
            touched.is_empty(),
            "a repair that only tells changes {touched:?}"
        );
        let did = match handle.repair(id, true).await {
            Ok(did) => did,
            Err(error) => {
                let honest = !matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::Internal | ErrorKind::InvalidInput
                );
                ensure!(honest, "the repair of {id}: {error} ({:?})", error.kind());
                continue;
            }
        };
        let would = would.map_err(|e| breach(format!("repair tells {e}, and then repairs")))?;
        // How much can be read behind damaged pages may show only when they are replaced.
        let known = would.steps.is_empty() || (would.events, would.lost) != (0, 0);
        ensure!(
            !known || (would.events, would.lost) == (did.events, did.lost),
            "a repair of {id} that only tells says {would:?}, the repair {did:?}"
        );
        let (after, ended) = read(&handle, id).await;
        ensure!(
            ended.is_ok(),
            "{id} can't be read after its repair: {ended:?}"
        );
        for (n, single) in session.singles.iter().enumerate() {
            for event in single.iter().flatten() {
                let kept = after
                    .get(n)
                    .is_some_and(|a| same_event(&event.clone().into_new(), a));
                ensure!(
                    kept,
                    "event {n} of {id} could be read, and was lost by its repair"
                );
            }
        }
        judged(&context, id, &after, did.events, did.lost)?;
        writes_on(&handle, id, &after).await?;
        happened.push(SALVAGED);
    }
    let touched = happened.contains(&SALVAGED);
    if !touched {
        happened.push(HARMLESS);
    }
    Ok(happened)
}

/// What stands in a log after a repair: what was there, at its position, or a word of its loss.
fn judged(context: &Context, id: &SessionId, after: &[Event], whole: u64, lost: u64) -> Held {
    let known = context.now().get(id).map_or(&[][..], |truth| &truth.events);
    let mut marks = 0;
    for (n, event) in after.iter().enumerate() {
        if event.kind == "repair.lost" {
            marks += 1;
            continue;
        }
        let right = known
            .get(n)
            .is_some_and(|k| same_event(&k.clone().into_new(), event));
        let right = right || context.truth_of_any(id, n, |k| same_event(k, event));
        ensure!(
            right,
            "event {n} of {id} is another after the repair: {event:?}"
        );
    }
    ensure_eq!(
        marks,
        lost,
        "events of {id} that are said to be lost, and marked so"
    );
    ensure_eq!(
        after.len() as u64 - marks,
        whole,
        "events of {id} that are said to be whole, and are"
    );
    Ok(())
}

impl Context {
    fn truth_of_any(&self, id: &SessionId, n: usize, is: impl Fn(&NewEvent) -> bool) -> bool {
        let stages = self.built.stages.iter().map(|stage| &stage.truths);
        let mut all = stages.chain([&self.built.other_truths]);
        if matches!(self.harm.what, What::OfFile { .. }) {
            // Repair may take the log that it finds for the session's, if it said so.
            let mut others = self.now().values().filter_map(|truth| truth.events.get(n));
            return others.any(|event| is(&event.clone().into_new()));
        }
        all.any(|truths| {
            let event = truths.get(id).and_then(|truth| truth.events.get(n));
            event.is_some_and(|event| is(&event.clone().into_new()))
        })
    }
}

/// The next append works, and a second repair has nothing to do.
async fn writes_on(handle: &Handle, id: &SessionId, after: &[Event]) -> Held {
    let session = Store::shared(handle.clone()).open(id).await?;
    let range = session.append(events(7_000..7_002)).await?;
    ensure_eq!(
        range.start.get(),
        after.len() as u64,
        "where an append behind a repair starts"
    );
    let (now, ended) = read(handle, id).await;
    ensure!(
        ended.is_ok(),
        "reading {id} behind a repair and an append: {ended:?}"
    );
    ensure_eq!(
        now.len(),
        after.len() + 2,
        "events behind a repair and an append"
    );
    match handle.repair(id, true).await {
        Ok(again) => {
            let (found, _) = read(handle, id).await;
            ensure_eq!(
                found,
                now,
                "the log after a second repair, which said {again:?}"
            );
        }
        Err(error) => ensure!(!error.is_not_found(), "a second repair: {error}"),
    }
    Ok(())
}

/// An append is refused, or stands behind everything that was there.
pub(super) async fn appended(context: Arc<Context>) -> Held<Happened> {
    let mut happened = Vec::new();
    let Ok(handle) = context.open().await else {
        return Ok(vec![REFUSED]);
    };
    for (id, truth) in context.now() {
        let before = handle.head(id).await;
        let life = before
            .as_ref()
            .map_or(truth.life.clone(), |(life, _)| life.clone());
        let batch = events(7_000..7_003);
        let put = handle.put_events(&life, batch.clone()).await;
        let range = match put {
            Ok(range) => range,
            Err(error) => {
                ensure!(
                    fitting::<()>(&Err(error.clone())),
                    "an append to {id}: {error} ({:?})",
                    error.kind()
                );
                happened.push(REFUSED);
                continue;
            }
        };
        happened.push(APPENDED);
        let shown = context.truth(&life)?;
        let start = usize::try_from(range.start.get()).unwrap_or(usize::MAX);
        let fits =
            start == shown.events.len() || life == truth.life && context.may_end(truth, start);
        ensure!(
            fits,
            "an append to {id} starts at {start}, its log had {} events",
            shown.events.len()
        );
        let (log, ended) = read(&handle, id).await;
        if ended.is_ok() {
            ensure_eq!(log.len(), start + 3, "events of {id} behind an append");
        }
        for (n, event) in log.iter().enumerate() {
            let stored = match n.checked_sub(start) {
                None => shown.events.get(n).cloned().map(Event::into_new),
                Some(n) => batch.get(n).cloned(),
            };
            let right = stored.is_some_and(|stored| same_event(&stored, event));
            ensure!(
                right,
                "event {n} of {id} behind an append is another: {event:?}"
            );
        }
    }
    Ok(happened)
}

/// A grant has a token that nobody ever had, or there is none.
pub(super) async fn leased(context: Arc<Context>) -> Held<Happened> {
    let mut happened = Vec::new();
    let Ok(handle) = context.open().await else {
        return Ok(vec![UNGRANTED]);
    };
    for (id, truth) in context.now() {
        let mut wanted = request("after damage")?;
        if context.subject.prompt_leases != Capability::Yes {
            wanted = wanted.forced();
        }
        let granted = handle.acquire(&truth.life, wanted).await;
        let lease = match granted {
            Ok(lease) => lease,
            Err(error) => {
                refused(id, &error)?;
                happened.push(UNGRANTED);
                continue;
            }
        };
        happened.push(GRANTED);
        let token = lease.token.get();
        let newest = context.oldest_token(id).unwrap_or(truth.token);
        // A grant can be lost with the end of the log, where both are in one file.
        let (shown, _) = read(&handle, id).await;
        let with_its_log = shown.len() < truth.events.len() && context.may_end(truth, shown.len());
        ensure!(
            token > newest || with_its_log,
            "{id} is granted with token {token}, one before had {newest}"
        );
        let put = handle
            .put_under(&truth.life, events(7_000..7_001), &lease)
            .await;
        ensure!(fitting(&put), "an append under the grant of {id}: {put:?}");
        drop(handle.release(&lease).await);
    }
    Ok(happened)
}

fn refused(id: &SessionId, error: &Error) -> Held {
    let honest = !matches!(
        error.kind(),
        ErrorKind::Internal | ErrorKind::Fenced { .. } | ErrorKind::Conflict { .. }
    );
    ensure!(honest, "a lease of {id}: {error} ({:?})", error.kind());
    Ok(())
}

impl Context {
    /// The newest token as a file of another time may have it: where a file is wholly as it was,
    /// nobody can tell that there was a larger one. What is another session's says so.
    fn oldest_token(&self, id: &SessionId) -> Option<u64> {
        let What::Older { stage } = &self.harm.what else {
            return None;
        };
        let truths = &self.built.stages.get(*stage)?.truths;
        Some(truths.get(id).map_or(0, |truth| truth.token))
    }
}
