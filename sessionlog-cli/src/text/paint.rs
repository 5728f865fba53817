//! Colours, where they are wanted.

use std::fmt::{self, Display};

use anstyle::{AnsiColor, Style};

/// Paints words, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn new(on: bool) -> Self {
        Self(on)
    }

    /// What names something.
    pub(crate) fn strong<T: Display>(self, text: T) -> Painted<T> {
        self.with(Style::new().bold(), text)
    }

    /// What may be passed over.
    pub(crate) fn dim<T: Display>(self, text: T) -> Painted<T> {
        self.with(Style::new().dimmed(), text)
    }

    /// What went well.
    pub(crate) fn good<T: Display>(self, text: T) -> Painted<T> {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// What needs attention.
    pub(crate) fn warn<T: Display>(self, text: T) -> Painted<T> {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// What went wrong.
    pub(crate) fn bad<T: Display>(self, text: T) -> Painted<T> {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    /// A tool.
    pub(crate) fn tool<T: Display>(self, text: T) -> Painted<T> {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    fn with<T: Display>(self, style: Style, text: T) -> Painted<T> {
        Painted(self.0.then_some(style), text)
    }
}

/// Painted words.
pub(crate) struct Painted<T>(Option<Style>, T);

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(style) => write!(f, "{style}{}{style:#}", self.1),
            None => self.1.fmt(f),
        }
    }
}
