//! How far an import is, for who waits for it.

use std::cell::Cell;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;

/// A bar on standard error; nothing where that is no terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes of the files before the present one.
    before: Cell<u64>,
}

impl Progress {
    pub(super) fn new(bytes: u64, cx: &Context<'_, '_>) -> Self {
        let shown = cx.terminal().err && !cx.json();
        let target = if shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        let style = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self {
            bar,
            before: Cell::new(0),
        }
    }

    /// So many bytes of the present file are done.
    pub(super) fn at(&self, bytes: u64) {
        self.bar
            .set_position(self.before.get().saturating_add(bytes));
    }

    /// A file is done.
    pub(super) fn done(&self, bytes: u64) {
        self.before.set(self.before.get().saturating_add(bytes));
        self.bar.set_position(self.before.get());
    }

    /// Writes beside the bar.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
