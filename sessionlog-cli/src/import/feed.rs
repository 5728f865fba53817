//! A file as the events that it becomes.

use std::path::Path;

use sessionlog::transcript::{Source, kinds};
use sessionlog::{Data, EventId, Kind, NewEvent, Result, Timestamp};

use super::clock::Clock;
use super::dialect::{Dialect, Mapped};
use super::lines::{Content, Line, Lines};
use super::parts::{self, Part};
use super::payload::{Kept, payload};
use super::{Format, io_error};

/// Reads a file and maps it, a line at a time.
pub(crate) struct Feed<'a> {
    path: &'a Path,
    lines: Lines,
    dialect: Box<dyn Dialect>,
    format: Format,
    clock: Clock,
    terminated: bool,
}

/// A line and its events, at least one.
#[derive(Debug)]
pub(crate) struct Fed {
    pub(crate) line: Line,
    pub(crate) drafts: Vec<Draft>,
}

/// An event that has no place in a log yet.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) at: Timestamp,
    pub(crate) data: Data,
    pub(crate) clock: Clock,
    /// Its length on the line, in bytes.
    pub(crate) len: usize,
    /// Why it is no record.
    pub(crate) damage: Option<String>,
    /// Its type, if the format is not known to have it.
    pub(crate) unknown: Option<String>,
}

impl Draft {
    /// The event at a position of a log.
    pub(crate) fn event(self, position: u64) -> NewEvent {
        NewEvent {
            id: self.id(position),
            at: self.at,
            kind: self.kind,
            data: self.data,
        }
    }

    fn id(&self, position: u64) -> EventId {
        self.clock.id(position, self.data.as_bytes())
    }
}

impl<'a> Feed<'a> {
    pub(crate) fn new(
        path: &'a Path,
        format: Format,
        dialect: Box<dyn Dialect>,
        clock: Clock,
    ) -> Result<Self> {
        Ok(Self {
            path,
            lines: Lines::open(path)?,
            dialect,
            format,
            clock,
            terminated: true,
        })
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<Fed>> {
        let next = self.lines.next();
        let line = next.map_err(|e| io_error("the file can't be read", self.path, e))?;
        let Some(line) = line else {
            return Ok(None);
        };
        self.terminated = line.terminated;
        let drafts = match &line.content {
            Content::Held(bytes) => self.held(&line, bytes)?,
            Content::Large(id) => {
                let kept = Kept::Blob {
                    id: *id,
                    len: line.len,
                };
                let mapped = Mapped::record(Some("large".to_owned()));
                let source = self.source(&line, 0, true, &mapped);
                vec![self.draft(mapped, &source, kept, 0)?]
            }
        };
        Ok(Some(Fed { line, drafts }))
    }

    fn held(&mut self, line: &Line, bytes: &[u8]) -> Result<Vec<Draft>> {
        let format = self.format;
        let parts = parts::split(bytes, line.number == 1, &|fields| format.recognizes(fields));
        let last = parts.len().saturating_sub(1);
        let mut drafts = Vec::with_capacity(parts.len());
        for (at, part) in parts.into_iter().enumerate() {
            let place = (u32::try_from(at).unwrap_or(u32::MAX), at == last);
            drafts.push(self.part(line, place, part)?);
        }
        Ok(drafts)
    }

    fn part(&mut self, line: &Line, (at, last): (u32, bool), part: Part<'_>) -> Result<Draft> {
        let len = part.len();
        match part {
            Part::Blank(text) => {
                let mapped = Mapped::record(Some("blank".to_owned()));
                let source = self.source(line, at, last, &mapped);
                self.draft(mapped, &source, Kept::Text(text), len)
            }
            Part::Record {
                before,
                text,
                fields,
                behind,
            } => {
                let mapped = self.dialect.map(line.number, &fields);
                let mut source = self.source(line, at, last, &mapped);
                if !before.is_empty() || !behind.is_empty() {
                    source.pad = Some((before.to_owned(), behind.to_owned()));
                }
                self.draft(mapped, &source, Kept::Record(text), len)
            }
            Part::Damaged { bytes, reason } => {
                let told = serde_json::json!({ "reason": reason });
                let mapped = Mapped::record(None).means(kinds::IMPORT_DAMAGED, &told);
                let source = self.source(line, at, last, &mapped);
                let draft = self.draft(mapped, &source, Kept::bytes(bytes), len)?;
                Ok(Draft {
                    damage: Some(reason),
                    ..draft
                })
            }
        }
    }

    fn source(&self, line: &Line, part: u32, last: bool, mapped: &Mapped) -> Source {
        Source {
            format: self.format.name().to_owned(),
            line: line.number,
            part,
            kind: mapped.name.clone(),
            id: mapped.id.clone(),
            parent: mapped.parent.clone(),
            logical_parent: mapped.logical_parent.clone(),
            unterminated: last && !line.terminated,
            ..Source::default()
        }
    }

    fn draft(
        &mut self,
        mapped: Mapped,
        source: &Source,
        kept: Kept<'_>,
        len: usize,
    ) -> Result<Draft> {
        let at = self.clock.next(mapped.at);
        let unknown = mapped
            .unknown
            .then(|| mapped.name.unwrap_or_else(|| "?".to_owned()));
        Ok(Draft {
            kind: mapped.kind,
            at,
            data: payload(&mapped.neutral, source, kept)?,
            clock: self.clock,
            len,
            damage: None,
            unknown,
        })
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether the last line ended with a newline.
    pub(crate) fn terminated(&self) -> bool {
        self.terminated
    }
}
