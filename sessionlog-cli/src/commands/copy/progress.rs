//! How far a copy is, for who waits for it.

use std::collections::HashMap;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sessionlog::{Copied, SessionId, Store};

use crate::context::Context;

/// A bar over the events of all sessions on standard error; nothing where that is no terminal.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    /// Events of each session that is still to come.
    expected: HashMap<SessionId, u64>,
    /// Events of the sessions before the present one.
    before: u64,
}

impl Progress {
    pub(super) fn new(cx: &Context<'_, '_>) -> Self {
        let shown = cx.terminal().err && !cx.json();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = "{bar:30} {human_pos}/{human_len} events {per_sec} {eta}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            expected: HashMap::new(),
            before: 0,
        }
    }

    /// This session is to be copied. One that can't be read has no length.
    pub(super) async fn expect(&mut self, from: &Store, id: &SessionId) {
        if let Some(bar) = &self.bar
            && let Ok((_, head)) = from.backend().head(id).await
        {
            self.expected.insert(id.clone(), head.tail.get());
            bar.inc_length(head.tail.get());
        }
    }

    /// So much of the present session is copied.
    pub(super) fn at(&self, copied: &Copied) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.before + copied.already + copied.events);
        }
    }

    /// A session is done.
    pub(super) fn done(&mut self, id: &SessionId) {
        if let Some(bar) = &self.bar {
            self.before += self.expected.remove(id).unwrap_or(0);
            bar.set_position(self.before);
        }
    }

    /// Writes beside the bar.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
