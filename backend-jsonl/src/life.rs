//! One life of a session, as one handle of the store knows it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use event_listener::Event as Bell;
use futures_util::lock::Mutex as AsyncMutex;
use sessionlog_core::{
    Combiner, Error, Event, Head, Kinds, Place, Result, SeqNum, SessionId, SessionRef,
};

use crate::commit::{Bench, Request};
use crate::dir::{APPEND_LOCK, EVENTS, SessionDir};
use crate::find::{self, Found};
use crate::format::{Envelope, scan};
use crate::header::{self, Header};
use crate::root::Root;
use crate::tail::{self, End};
use crate::torn::{Rest, classify, events_before};
use sessionlog_local::files::{Identity, failed, is_dir, open_read, read_at, read_range};
use sessionlog_local::lock::{Probe, probe_whole};
use sessionlog_local::look::Look;

/// A log that is open, and what is known of its end.
pub(crate) struct Life {
    pub(crate) session: SessionRef,
    pub(crate) dir: SessionDir,
    pub(crate) events: PathBuf,
    pub(crate) file: File,
    pub(crate) identity: Identity,
    /// The end of the log while it was empty.
    pub(crate) begin: End,
    /// How long the append lock is waited for.
    pub(crate) patience: Duration,
    known: Mutex<Option<Known>>,
    /// Odd while a commit of this handle is being written. Changes only while `known` is locked.
    commits: AtomicU64,
    /// Rung when the log may have grown.
    pub(crate) bell: Bell,
    /// What only one at a time may use.
    pub(crate) bench: AsyncMutex<Bench>,
    pub(crate) combiner: Combiner<Request, std::ops::Range<SeqNum>>,
}

/// The end of a log when the file had a certain length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) end: End,
    pub(crate) size: u64,
    /// Nothing but space written ahead lies behind the end.
    pub(crate) clean: bool,
}

/// What a closer look at the end of a log shows.
pub(crate) struct Survey {
    pub(crate) known: Known,
    pub(crate) rest: Rest,
    pub(crate) bytes: Bytes,
    /// Events between the former end and this one were not looked at.
    pub(crate) jumped: bool,
}

/// How far the log can have grown before its end is looked for from behind.
const NEAR: u64 = 4 << 20;

impl Life {
    /// Opens the session that has this id now; `None` if there is none.
    pub(crate) fn open(root: &Root, id: &SessionId, patience: Duration) -> Result<Option<Self>> {
        let dir = SessionDir::new(root.path(), id);
        match Look::at(dir.path()) {
            Ok(found) if found.is_dir => {}
            Ok(_) => {
                let what = "a file or a link stands where the folder of a session should be";
                return Err(Error::corrupt(Place::session(id), what));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed("look at", dir.path())(e)),
        }
        let events = dir.join(EVENTS);
        let file = match open_log(&events) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(damaged(id, "the log is not a plain file")),
            Err(e) if e.kind() == ErrorKind::NotFound && !is_dir(dir.path()) => return Ok(None),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(damaged(id, "the log of the session is missing"));
            }
            Err(e) => return Err(failed("open", &events)(e)),
        };
        let found = Look::of(&file).map_err(failed("look at", &events))?;
        let mut line = vec![0; header::MAX_LEN];
        let len = read_at(&file, &mut line, 0).map_err(failed("read", &events))?;
        line.truncate(len);
        let Some((header, len)) = Header::read(&line)? else {
            let what = if found.len == 0 {
                "the log has no bytes, not even its first line"
            } else {
                "the first line of the log is damaged"
            };
            return Err(damaged(id, what));
        };
        let session = header.session;
        if session.id != *id {
            let what = format!(
                "the folder holds the log of another session, {}",
                session.id
            );
            return Err(damaged(id, what));
        }
        let head = Head::genesis(&session.id, session.incarnation);
        let offset = sessionlog_local::files::wide(len);
        Ok(Some(Self {
            session,
            dir,
            events,
            file,
            identity: found.identity,
            begin: End { offset, head },
            patience,
            known: Mutex::new(None),
            commits: AtomicU64::new(0),
            bell: Bell::new(),
            bench: AsyncMutex::default(),
            combiner: Combiner::default(),
        }))
    }

    /// Whether this handle can be closed without a loss: nobody writes, and no write is in doubt.
    pub(crate) fn can_go(&self) -> bool {
        self.bench.try_lock().is_some_and(|bench| bench.can_go())
    }

    fn known_slot(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end as it was last seen.
    pub(crate) fn known(&self) -> Option<Known> {
        *self.known_slot()
    }

    /// Takes note of an end; one that lies further is kept.
    pub(crate) fn learn(&self, known: Known) {
        self.learn_at(known, None);
    }

    /// Takes note of an end, unless a commit of this handle began since `commits`: it might show
    /// what is not durable yet, or was taken back.
    fn learn_at(&self, known: Known, commits: Option<u64>) -> bool {
        let mut slot = self.known_slot();
        if commits.is_some_and(|n| n != self.commits.load(Ordering::SeqCst)) {
            return false;
        }
        let grew = slot.is_none_or(|old| known.end.offset > old.end.offset);
        if slot.is_none_or(|old| known.end.offset >= old.end.offset) {
            *slot = Some(known);
        }
        drop(slot);
        if grew {
            self.bell.notify(usize::MAX);
        }
        true
    }

    /// What lies behind this end is to be looked at again: a commit there may have been taken back.
    pub(crate) fn doubt(&self, before: Known) {
        let clean = false;
        *self.known_slot() = Some(Known { clean, ..before });
    }

    /// While the guard lives, readers of this handle stay before the commit that is written.
    pub(crate) fn busy(&self) -> Busy<'_> {
        let _slot = self.known_slot();
        self.commits.fetch_add(1, Ordering::SeqCst);
        Busy(self)
    }

    /// The end of the log now, and the damage behind it if there is some. Takes no lock.
    pub(crate) fn look(&self) -> Result<(End, Option<Error>)> {
        let mut before: Option<Survey> = None;
        for _ in 0..16 {
            let commits = self.commits.load(Ordering::SeqCst);
            // Before the length: what another thread learns behind it may lie further.
            let known = self.known();
            let size = self.size()?;
            if let Some(known) = known
                && (commits % 2 == 1 || self.unchanged(known, size)?)
            {
                return Ok((known.end, None));
            }
            let survey = match self.survey(known, size, |_| {}) {
                Err(_) if commits != self.commits.load(Ordering::SeqCst) => continue,
                survey => survey?,
            };
            if !self.learn_at(survey.known, Some(commits)) {
                continue;
            }
            let end = survey.known.end;
            let Rest::Damaged { at, what } = survey.rest else {
                return Ok((end, None));
            };
            // Perhaps a commit that is being written: a race is no damage.
            if self.is_being_written() {
                return Ok((end, None));
            }
            if before.is_some_and(|b| b.known.end == end && b.bytes == survey.bytes) {
                return Ok((end, Some(self.damage(end, &survey.bytes, at, what))));
            }
            before = Some(survey);
            std::thread::yield_now();
        }
        if let Some(known) = self.known() {
            return Ok((known.end, None));
        }
        Err(Error::unavailable(format!(
            "the log changes faster than it can be read: {}",
            self.session
        )))
    }

    fn is_being_written(&self) -> bool {
        open_read(&self.dir.join(APPEND_LOCK))
            .is_ok_and(|lock| matches!(probe_whole(&lock), Ok(Probe::Held)))
    }

    /// The length of the file.
    pub(crate) fn size(&self) -> Result<u64> {
        let found = Look::of(&self.file).map_err(failed("look at", &self.events))?;
        Ok(found.len)
    }

    /// Whether nothing was appended since an end was seen.
    pub(crate) fn unchanged(&self, known: Known, size: u64) -> Result<bool> {
        if !known.clean || size != known.size {
            return Ok(false);
        }
        if size == known.end.offset {
            return Ok(true);
        }
        let mut byte = [0];
        let read = read_at(&self.file, &mut byte, known.end.offset);
        Ok(read.map_err(failed("read", &self.events))? == 1 && byte == [b'\n'])
    }

    /// Goes on from an end of the log that is known, or looks for it from behind; `each` is given the
    /// events on the way.
    pub(crate) fn survey(
        &self,
        known: Option<Known>,
        size: u64,
        each: impl FnMut(&Event),
    ) -> Result<Survey> {
        let id = &self.session.id;
        let unread = || failed("read", &self.events);
        let known = known.map(|known| known.end);
        if let Some(end) = known.filter(|end| size < end.offset) {
            let what = format!(
                "the log was cut by somebody else while it was open: it had {} bytes, now {size}",
                end.offset
            );
            let place = self.place(end.head.tail).with_offset(size);
            return Err(Error::corrupt(place, what));
        }
        let near = known.filter(|end| size - end.offset <= NEAR);
        let mut end = match near {
            Some(end) => end,
            None => tail::find(&self.file, size, self.begin, id)
                .map_err(unread())?
                .map(|last| last.end)
                .ok_or_else(|| damaged(id, "there is no whole event near the end of the log"))?,
        };
        if !tail::fits(size - end.offset) {
            let place = self.place(end.head.tail).with_offset(end.offset);
            return Err(Error::corrupt(place, "what follows is no event"));
        }
        let mut bytes = Bytes::from(read_range(&self.file, end.offset, size).map_err(unread())?);
        if near.is_some() {
            let len = tail::walk(&bytes, &mut end.head, id, each);
            bytes = bytes.slice(len..);
            end.offset += sessionlog_local::files::wide(len);
        }
        let rest = classify(&bytes, end.offset, end.head, id);
        let clean = rest == Rest::Empty;
        Ok(Survey {
            known: Known { end, size, clean },
            rest,
            bytes,
            jumped: near.is_none(),
        })
    }

    /// Where an event is.
    pub(crate) fn place(&self, seq: SeqNum) -> Place {
        Place::file(self.dir.relative(EVENTS))
            .with_session(&self.session.id)
            .with_seq(seq)
    }

    /// The error for damage in the rest behind an end.
    pub(crate) fn damage(&self, end: End, rest: &[u8], at: usize, what: &str) -> Error {
        let seq = end.head.tail.plus(events_before(rest, at));
        let offset = end.offset + sessionlog_local::files::wide(at);
        Error::corrupt(self.place(seq).with_offset(offset), what)
    }

    /// Where the line of an event begins, somewhere before `end`.
    pub(crate) fn locate(&self, seq: SeqNum, end: End) -> Result<u64> {
        let (first, last) = (self.begin.offset, end.offset);
        if seq == SeqNum::ZERO {
            return Ok(first);
        }
        let share = |n: u64| u128::from(last - first) * u128::from(n);
        let guess = share(seq.get()) / u128::from(end.head.tail.get()).max(1);
        let guess = first.saturating_add(u64::try_from(guess).unwrap_or(0));
        let found = self.find(end, Some(guess), |envelope| Some(envelope.seq >= seq))?;
        match found.behind {
            Some(damaged) if found.seq != Some(seq) => Err(self.no_event(damaged)),
            _ => Ok(found.offset),
        }
    }

    /// Where the first line begins for which `reached` holds. A line on the way that is no event is an
    /// error: it may have been one for which it holds.
    pub(crate) fn first(
        &self,
        end: End,
        guess: Option<u64>,
        reached: impl Fn(&Envelope<'_>) -> Option<bool>,
    ) -> Result<u64> {
        let found = self.find(end, guess, reached)?;
        match found.damaged {
            Some(damaged) => Err(self.no_event(damaged)),
            None => Ok(found.offset),
        }
    }

    fn find(
        &self,
        end: End,
        guess: Option<u64>,
        reached: impl Fn(&Envelope<'_>) -> Option<bool>,
    ) -> Result<Found> {
        let lines = self.begin.offset..end.offset;
        find::first(&self.file, lines, guess, reached).map_err(failed("read", &self.events))
    }

    fn no_event(&self, offset: u64) -> Error {
        let place = Place::file(self.dir.relative(EVENTS)).with_session(&self.session.id);
        Error::corrupt(place.with_offset(offset), "the line is not an event")
    }

    /// Whether the log still has the event at the end that was known before.
    pub(crate) fn holds(&self, known: Known) -> Result<bool> {
        let Known { end, .. } = known;
        if end.head.tail == SeqNum::ZERO {
            return Ok(true);
        }
        let (now, _) = self.look()?;
        if now.head.tail < end.head.tail {
            return Ok(false);
        }
        let from = self.locate(end.head.tail.minus(1), now)?;
        let to = self.locate(end.head.tail, now)?;
        let bytes = read_range(&self.file, from, to).map_err(failed("read", &self.events))?;
        let bytes = Bytes::from(bytes);
        let line = scan(
            &bytes,
            0..bytes.len().saturating_sub(1),
            &mut Kinds::default(),
        );
        Ok(line.is_some_and(|line| Head::after(&line.event) == end.head))
    }
}

/// See [`Life::busy`].
pub(crate) struct Busy<'a>(&'a Life);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let _slot = self.0.known_slot();
        self.0.commits.fetch_add(1, Ordering::SeqCst);
    }
}

/// The log at a path, if it is a plain file.
fn open_log(path: &std::path::Path) -> std::io::Result<Option<File>> {
    if !Look::at(path)?.is_file {
        return Ok(None);
    }
    open_read(path).map(Some)
}

/// The error for a session whose log can't be opened.
pub(crate) fn damaged(id: &SessionId, what: impl Into<String>) -> Error {
    let file = format!("{}/{EVENTS}", crate::dir::folder(id));
    Error::corrupt(Place::file(file).with_session(id), what)
}
