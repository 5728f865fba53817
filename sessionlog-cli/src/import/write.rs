//! The second half of an import: what is new goes into the session.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use sessionlog::transcript::kinds;
use sessionlog::{BlobId, Error, Kind, NewEvent, Pieces, Result, Timestamp, Writer};

use super::clock::Clock;
use super::feed::{Draft, Fed, Feed};
use super::io_error;
use super::lines::{Content, Line};
use super::outcome::{Damage, Outcome};

/// A batch is appended when it has so many events,
const EVENTS: usize = 1000;
/// or so many bytes.
const BYTES: usize = 4 << 20;
/// A lease that runs out is renewed for this long, three times in that time.
const LEASE: Duration = Duration::from_secs(30);

/// Collects events and appends them a batch at a time; without a writer it only counts them.
pub(crate) struct Write<'a> {
    writer: Option<&'a Writer>,
    path: &'a Path,
    events: Vec<NewEvent>,
    bytes: usize,
    position: u64,
    renewed: Instant,
}

/// The payload of `import.started`.
#[derive(Serialize)]
pub(crate) struct Started<'a> {
    pub(crate) format: &'a str,
    pub(crate) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<&'a str>,
}

/// The payload of `import.finished`.
#[derive(Serialize)]
struct Finished<'a> {
    format: &'a str,
    lines: u64,
    events: u64,
    bytes: u64,
    sha256: BlobId,
    final_newline: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: &'a BTreeMap<&'static str, BlobId>,
    new_events: u64,
    damaged_lines: u64,
}

impl<'a> Write<'a> {
    pub(crate) fn new(writer: Option<&'a Writer>, path: &'a Path) -> Self {
        Self {
            writer,
            path,
            events: Vec::new(),
            bytes: 0,
            position: writer.map_or(0, |writer| writer.tail_at_grant().get()),
            renewed: Instant::now(),
        }
    }

    /// Notes that the import begins.
    pub(crate) fn started(&mut self, clock: Clock, started: &Started<'_>) -> Result<()> {
        self.note(kinds::IMPORT_STARTED, clock, started)
    }

    /// Adds a line, but for its first `skip` events.
    pub(crate) async fn line(
        &mut self,
        fed: Fed,
        skip: usize,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Fed { line, drafts } = fed;
        if let Content::Large(id) = &line.content {
            outcome.large_lines += 1;
            self.blob(*id, &line).await?;
        }
        let mut damaged = false;
        for draft in drafts.into_iter().skip(skip) {
            damaged |= draft.damage.is_some();
            note(&draft, line.number, outcome);
            self.draft(draft);
            outcome.new_events += 1;
        }
        outcome.damaged_lines += u64::from(damaged);
        self.flush_if_full().await
    }

    /// Adds an event.
    pub(crate) fn draft(&mut self, draft: Draft) {
        self.bytes += draft.data.len();
        self.position += 1;
        if self.writer.is_some() {
            self.events.push(draft.event(self.position - 1));
        }
    }

    /// Notes that all of the file is in the session, and appends what is left.
    pub(crate) async fn finish(
        &mut self,
        feed: &Feed<'_>,
        clock: Clock,
        files: &BTreeMap<&'static str, BlobId>,
        outcome: &Outcome,
    ) -> Result<()> {
        let lines = feed.lines();
        let finished = Finished {
            format: feed.format().name(),
            lines: lines.number(),
            events: outcome.known_events + outcome.new_events,
            bytes: lines.offset(),
            sha256: lines.sum(),
            final_newline: feed.terminated(),
            files,
            new_events: outcome.new_events,
            damaged_lines: outcome.damaged_lines,
        };
        self.note(kinds::IMPORT_FINISHED, clock, &finished)?;
        self.flush().await
    }

    /// An event that tells of the import: it has the time of this machine, and an id that keeps the
    /// order of the log's.
    fn note<T: Serialize>(&mut self, kind: Kind, clock: Clock, payload: &T) -> Result<()> {
        let event = NewEvent::value(kind, payload)?.with_time(Timestamp::now());
        let id = clock.id(self.position, event.data.as_bytes());
        self.bytes += event.data.len();
        self.position += 1;
        if self.writer.is_some() {
            self.events.push(event.with_id(id));
        }
        Ok(())
    }

    async fn flush_if_full(&mut self) -> Result<()> {
        if self.events.len() >= EVENTS || self.bytes >= BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let events = std::mem::take(&mut self.events);
        let Some(writer) = self.writer.filter(|_| !events.is_empty()) else {
            return Ok(());
        };
        if self.renewed.elapsed() > LEASE / 3 {
            writer.renew(LEASE).await?;
            self.renewed = Instant::now();
        }
        writer.append(events).await.map(drop)
    }

    /// Stores a line that is too large for an event; the event that names it comes after it.
    async fn blob(&mut self, id: BlobId, line: &Line) -> Result<()> {
        let Some(writer) = self.writer else {
            return Ok(());
        };
        let pieces = pieces(self.path.to_owned(), line.start, line.len);
        let stored = writer.put_blob_pieces(pieces).await?;
        if stored.id == id {
            Ok(())
        } else {
            Err(Error::unavailable(format!(
                "the file changed while it was read, import it again: {}",
                self.path.display()
            )))
        }
    }
}

/// A range of a file, a piece at a time.
fn pieces(path: PathBuf, start: u64, len: u64) -> Pieces {
    let open = move || -> std::io::Result<_> {
        let mut file = File::open(&path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file.take(len))
    };
    let mut input = None;
    let mut next = move || -> std::io::Result<Option<Bytes>> {
        let input = match &mut input {
            Some(input) => input,
            none => none.insert(open()?),
        };
        let mut piece = Vec::new();
        input.by_ref().take(1 << 20).read_to_end(&mut piece)?;
        Ok((!piece.is_empty()).then(|| piece.into()))
    };
    futures_util::stream::poll_fn(move |_| {
        let piece = next().map_err(|e| Error::unavailable("the file can't be read").with_source(e));
        std::task::Poll::Ready(piece.transpose())
    })
    .boxed()
}

fn note(draft: &Draft, line: u64, outcome: &mut Outcome) {
    if let Some(reason) = &draft.damage
        && outcome.damaged.len() < Outcome::DAMAGED
    {
        outcome.damaged.push(Damage {
            line,
            reason: reason.clone(),
            bytes: draft.len as u64,
        });
    }
    if let Some(name) = &draft.unknown {
        // A file of nothing but new types must not fill the memory.
        let known = outcome.unmapped.contains_key(name) || outcome.unmapped.len() < 100;
        let name = if known { name.as_str() } else { "…" };
        *outcome.unmapped.entry(name.to_owned()).or_default() += 1;
    }
}

/// The name of a file, for the event that says where a session is from.
pub(crate) fn file_name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The error of a file that can't be read.
pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Error {
    io_error("the file can't be read", path, error)
}
