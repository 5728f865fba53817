//! Writing on to a damaged store: appends and grants.

use std::sync::Arc;

use sessionlog_core::{Error, ErrorKind, Event, FencingToken, Lease, SessionId};

use super::built::Truth;
use super::explore::{Context, Happened};
use super::harm::What;
use super::judge::fitting;
use super::look::read;
use super::mend::same_event;
use crate::Capability;
use crate::bench::{Ask, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::make::{events, request};

pub(super) const APPENDED: &str = "an append took effect";
pub(super) const REFUSED: &str = "an append was refused";
pub(super) const GRANTED: &str = "a lease was granted";
pub(super) const UNGRANTED: &str = "a lease was refused";

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
        let Some(lease) = context.granted(&handle, truth).await? else {
            happened.push(UNGRANTED);
            continue;
        };
        happened.push(GRANTED);
        let (shown, _) = read(&handle, id).await;
        context.grows(truth, lease.token, shown.len())?;
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
    /// A lease of a session, or none for a reason that damage may have.
    pub(super) async fn granted(&self, handle: &Handle, truth: &Truth) -> Held<Option<Lease>> {
        let mut wanted = request("after damage")?;
        if self.subject.prompt_leases != Capability::Yes {
            wanted = wanted.forced();
        }
        match handle.acquire(&truth.life, wanted).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) => refused(&truth.life.id, &error).map(|()| None),
        }
    }

    /// A breach unless a token is larger than all before it, in a session that shows so many events.
    pub(super) fn grows(&self, truth: &Truth, token: FencingToken, shown: usize) -> Held {
        let id = &truth.life.id;
        let newest = self.oldest_token(id).unwrap_or(truth.token);
        // A grant can be lost with the end of the log, where both are in one file.
        let with_its_log = shown < truth.events.len() && self.may_end(truth, shown);
        ensure!(
            token.get() > newest || with_its_log,
            "{id} is granted with token {token}, one before had {newest}"
        );
        Ok(())
    }

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
