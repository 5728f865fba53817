//! Events for people to read.

use std::io::{self, Write};

use sessionlog::Event;
use sessionlog::transcript::{Message, Role, kinds};

use crate::brief::brief;
use crate::items;
use crate::text::{Paint, block, line};

/// Writes events as a transcript: messages in full, everything else on one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    paint: Paint,
    width: usize,
}

/// A line about an event, where there is no terminal to say how wide it may be.
const WIDTH: usize = 120;

impl View {
    pub(crate) fn new(paint: Paint, width: Option<u16>) -> Self {
        let width = width.map_or(WIDTH, usize::from).max(40);
        Self { paint, width }
    }

    /// Writes one event.
    pub(crate) fn event(self, out: &mut dyn Write, event: &Event) -> io::Result<()> {
        if event.kind == kinds::MESSAGE
            && let Ok(message) = event.data.view::<Message<'_>>()
        {
            self.message(out, event, &message, "")
        } else {
            self.one_line(out, event)
        }
    }

    /// Writes a message with a word on what became of it.
    pub(crate) fn marked(self, out: &mut dyn Write, event: &Event, mark: &str) -> io::Result<()> {
        match event.data.view::<Message<'_>>() {
            Ok(message) => self.message(out, event, &message, mark),
            Err(_) => self.one_line(out, event),
        }
    }

    fn message(
        self,
        out: &mut dyn Write,
        event: &Event,
        message: &Message<'_>,
        mark: &str,
    ) -> io::Result<()> {
        self.heading(out, event, message, mark)?;
        let text = message.text();
        let text = block(text.trim_end());
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
        for call in &message.calls {
            let (name, id) = (line(&call.name), line(&call.id));
            writeln!(
                out,
                "{} {}",
                self.paint.tool(format_args!("→ {name}")),
                self.paint.dim(id)
            )?;
        }
        for result in &message.results {
            let id = line(&result.id);
            write!(out, "{} {}", self.paint.tool("←"), self.paint.dim(id))?;
            if result.error {
                write!(out, " {}", self.paint.bad("failed"))?;
            }
            writeln!(out)?;
        }
        if text.is_empty() && message.calls.is_empty() && message.results.is_empty() {
            writeln!(out, "{}", self.paint.dim(items::mark(message.native())))?;
        }
        writeln!(out)
    }

    fn heading(
        self,
        out: &mut dyn Write,
        event: &Event,
        message: &Message<'_>,
        mark: &str,
    ) -> io::Result<()> {
        let role = message.role.as_str();
        match message.role {
            Role::User => write!(out, "{}", self.paint.strong(self.paint.good(role)))?,
            Role::Assistant => write!(out, "{}", self.paint.strong(self.paint.tool(role)))?,
            _ => write!(out, "{}", self.paint.strong(role))?,
        }
        let mut about = String::new();
        for part in [message.agent.as_deref(), message.model.as_deref()]
            .into_iter()
            .flatten()
        {
            about.push_str(" · ");
            about.push_str(&line(part));
        }
        if message.injected {
            about.push_str(" · injected");
        }
        if !mark.is_empty() {
            about.push_str(" · ");
            about.push_str(mark);
        }
        let at = items::second(event.at);
        let about = format_args!("{about} · {at} · #{}", event.seq);
        writeln!(out, "{}", self.paint.dim(about))
    }

    /// `· #12 notice {"text":"cancelled"}`, cut to the width of the terminal.
    fn one_line(self, out: &mut dyn Write, event: &Event) -> io::Result<()> {
        let start = format!("· #{} {} ", event.seq, event.kind);
        let room = self.width.saturating_sub(start.chars().count() + 1);
        let brief = line(&brief(&event.data, room.max(10)));
        writeln!(out, "{}", self.paint.dim(format_args!("{start}{brief}")))
    }
}
