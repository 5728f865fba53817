//! A session's log as it lies there, whole or not.

use std::fs::{self, File};
use std::io::ErrorKind as Io;

use bytes::Bytes;
use sessionlog_core::{Head, Incarnation, Result, SessionId, SessionRef};

use crate::dir::{EVENTS, SessionDir};
use crate::header::{self, Header};
use crate::salvage::{self, Met};
use crate::tail::{self, End};
use crate::torn::{Rest, classify};
use sessionlog_local::files::{failed, open_read, read_range, wide};

/// A log that may be damaged.
pub(crate) struct Inspected {
    /// The life that it is, or will be once its first line is mended.
    pub(crate) session: SessionRef,
    /// What is wrong with the first line.
    pub(crate) header: Option<String>,
    /// The file; `None` if it is missing or no plain file.
    pub(crate) file: Option<File>,
    /// Where the lines of events begin, and where they end.
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// The bytes behind them, if they are a torn tail.
    pub(crate) torn: Option<Bytes>,
    /// The end of the log while it was empty, and whether that can be trusted.
    genesis: Head,
    trusted: bool,
    /// Whose checksums these are, if not the session's.
    written_for: SessionId,
}

impl Inspected {
    /// Looks at the log of a session.
    ///
    /// # Errors
    /// `Unsupported` for a newer format; `Unavailable`.
    pub(crate) fn new(dir: &SessionDir, id: &SessionId) -> Result<Self> {
        let path = dir.join(EVENTS);
        let missing = |what: &str| {
            let session = SessionRef::fresh(id.clone());
            Self {
                genesis: Head::genesis(id, session.incarnation),
                session,
                header: Some(what.to_owned()),
                file: None,
                from: 0,
                until: 0,
                torn: None,
                trusted: false,
                written_for: id.clone(),
            }
        };
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => {}
            Ok(_) => return Ok(missing("the log is not a plain file")),
            Err(e) if e.kind() == Io::NotFound => return Ok(missing("the log is missing")),
            Err(e) => return Err(failed("look at", &path)(e)),
        }
        let unread = || failed("read", &path);
        let file = open_read(&path).map_err(unread())?;
        let size = file.metadata().map_err(unread())?.len();
        let bytes = read_range(&file, 0, wide(header::MAX_LEN)).map_err(unread())?;
        let read = Header::read(&bytes)?;
        let (what, session, found, from) = match read {
            Some((header, len)) if header.session.id == *id => {
                (None, header.session.clone(), Some(header.session), len)
            }
            Some((header, len)) => {
                let what = format!("it names another session, {}", header.session.id);
                let fresh = SessionRef::fresh(id.clone());
                (Some(what), fresh, Some(header.session), len)
            }
            None => {
                let newline = memchr::memchr(b'\n', &bytes);
                let line = bytes.get(..newline.unwrap_or(bytes.len()));
                let line = line.unwrap_or_default();
                let is_event = line.starts_with(b"{\"seq\":");
                let len = newline.filter(|_| !is_event).map_or(0, |at| at + 1);
                let found = Header::salvage(line).filter(|s| s.id == *id);
                let session = found.clone();
                let session = session.unwrap_or_else(|| SessionRef::fresh(id.clone()));
                let what = if size == 0 {
                    "the log has no bytes, not even its first line"
                } else {
                    "the first line of the log is damaged"
                };
                (Some(what.to_owned()), session, found, len)
            }
        };
        let from = wide(from);
        let trusted = what.is_none();
        let source = found.as_ref().unwrap_or(&session);
        let genesis = Head::genesis(&source.id, source.incarnation);
        let mut inspected = Self {
            written_for: source.id.clone(),
            genesis,
            session,
            header: what,
            from,
            until: size,
            torn: None,
            trusted,
            file: None,
        };
        inspected.find_end(&file, size).map_err(unread())?;
        inspected.file = Some(file);
        Ok(inspected)
    }

    /// Sets aside what lies behind the last whole commit, if it is space or a torn tail.
    fn find_end(&mut self, file: &File, size: u64) -> std::io::Result<()> {
        let begin = End {
            offset: self.from,
            head: self.genesis,
        };
        let last = tail::find(file, size, begin, &self.written_for)?;
        let end = last.map(|last| last.end);
        if let Some(end) = end.filter(|end| tail::fits(size - end.offset)) {
            let rest = Bytes::from(read_range(file, end.offset, size)?);
            match classify(&rest, end.offset, end.head, &self.written_for) {
                Rest::Empty => self.until = end.offset,
                Rest::Torn => {
                    self.until = end.offset;
                    self.torn = Some(rest);
                }
                Rest::Damaged { .. } => self.until = tail::without_filler(file, self.from, size)?,
            }
        }
        Ok(())
    }

    /// A first line that names an incarnation which its events don't belong to is not believed.
    pub(crate) fn distrust(&mut self) {
        self.session.incarnation = Incarnation::generate();
    }

    /// Whether the first event, if there is one, proves the incarnation.
    pub(crate) fn proves_incarnation(&self) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let first = read_range(file, self.from, self.until.min(self.from + (64 << 20)));
        let Ok(bytes) = first.map(Bytes::from) else {
            return false;
        };
        let Some(len) = memchr::memchr(b'\n', &bytes) else {
            return false;
        };
        let line = crate::format::scan(&bytes, 0..len, &mut sessionlog_core::Kinds::default());
        let mut head = self.genesis;
        line.is_some_and(|line| head.verify(&self.written_for, &line.event).is_ok())
    }

    /// Walks over everything from the first event to the end.
    pub(crate) fn walk<E: From<std::io::Error>>(
        &self,
        each: impl FnMut(Met) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match &self.file {
            Some(file) => salvage::walk(
                file,
                self.from..self.until,
                &self.written_for,
                (self.genesis, self.trusted),
                each,
            ),
            None => Ok(()),
        }
    }
}
