//! How a file stands to the session that it may have been imported into before.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sessionlog::{BlobHasher, Result, SeqNum, Session};

use super::feed::{Fed, Feed};
use super::io_error;
use super::lines::Content;
use super::stored::{Finished, Stored, StoredLine, StoredLines, finished};

/// What the comparison found.
#[derive(Debug)]
pub(crate) enum Relation {
    /// Everything that the file has is in the session.
    Same {
        /// Only its last newline is not.
        newline_added: bool,
    },
    /// The file ends before what was imported of it.
    Shorter,
    /// The file goes on behind what was imported.
    Longer {
        /// The first line that is not in the session as it is now; the feed stands behind it.
        first: Box<Fed>,
        /// How many of its events are in the session.
        skip: usize,
    },
    /// The session holds something else.
    Other {
        /// The line where they differ, and what the file has there.
        line: u64,
        content: Vec<u8>,
    },
}

/// The relation, and what was known before.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) relation: Relation,
    /// Events of the file that are in the session.
    pub(crate) events: u64,
    /// The file beside the log is not as it was, or was not there.
    pub(crate) sidecar_changed: bool,
    /// The end of the session that was compared with.
    pub(crate) tail: SeqNum,
}

impl Known {
    /// The relation to a session that is not there yet.
    pub(crate) fn nothing(feed: &mut Feed<'_>) -> Result<Self> {
        let relation = match feed.next()? {
            Some(first) => Relation::Longer {
                first: Box::new(first),
                skip: 0,
            },
            None => Relation::Same {
                newline_added: false,
            },
        };
        Ok(Self {
            relation,
            events: 0,
            sidecar_changed: true,
            tail: SeqNum::ZERO,
        })
    }
}

/// A file beside the log.
#[derive(Clone, Debug)]
pub(crate) struct Sidecar {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// Compares a file with a session, from the start of both; the feed must be fresh.
pub(crate) async fn relation(
    session: &Session,
    feed: &mut Feed<'_>,
    path: &Path,
    sidecar: Option<&Sidecar>,
    progress: &mut dyn FnMut(u64),
) -> Result<Known> {
    let tail = session.tail().await?;
    if let Some(known) = by_sum(session, feed, path, sidecar, tail).await? {
        return Ok(known);
    }
    let mut stored = StoredLines::of(session);
    let mut events = 0;
    let relation = loop {
        let line = stored.next().await?;
        if line.is_none() && !stored.formats.contains(feed.format().name()) && stored.seen > 0 {
            break other(feed.next()?);
        }
        let fed = feed.next()?;
        progress(feed.lines().offset());
        break match (fed, line) {
            (None, None) if !feed.terminated() && stored.final_newline => Relation::Shorter,
            (None, None) => Relation::Same {
                newline_added: feed.terminated() && !stored.final_newline,
            },
            (None, Some(_)) => Relation::Shorter,
            (Some(fed), None) => Relation::Longer {
                first: Box::new(fed),
                skip: 0,
            },
            (Some(fed), Some(line)) => match likeness(&line, &fed, feed.format().name()) {
                Likeness::Equal => {
                    events += fed.drafts.len() as u64;
                    continue;
                }
                Likeness::Cut => Relation::Shorter,
                Likeness::Begins(skip) => {
                    let is_last = stored.next().await?.is_none();
                    if is_last && line.unterminated && !stored.final_newline {
                        events += skip as u64;
                        Relation::Longer {
                            first: Box::new(fed),
                            skip,
                        }
                    } else {
                        other(Some(fed))
                    }
                }
                Likeness::Foreign => other(Some(fed)),
            },
        };
    };
    // What is beside the log is known once all of it was read.
    while !matches!(relation, Relation::Other { .. }) && stored.next().await?.is_some() {}
    let changed = |s: &Sidecar| stored.files.get(s.name) != Some(&s.text);
    Ok(Known {
        relation,
        events,
        sidecar_changed: sidecar.is_some_and(changed),
        tail,
    })
}

/// The short way: the last import left the sum of the file behind.
async fn by_sum(
    session: &Session,
    feed: &mut Feed<'_>,
    path: &Path,
    sidecar: Option<&Sidecar>,
    tail: SeqNum,
) -> Result<Option<Known>> {
    let Some(end) = finished(session).await? else {
        return Ok(None);
    };
    let usable = end.format == feed.format().name()
        && end.final_newline
        && end.bytes <= feed.lines().total();
    if !usable || !begins_with(path, &end)? {
        return Ok(None);
    }
    let mut events = 0;
    let grown = end.bytes < feed.lines().total();
    while grown && feed.lines().number() < end.lines {
        let Some(fed) = feed.next()? else {
            return Ok(None);
        };
        events += fed.drafts.len() as u64;
    }
    let relation = match grown.then(|| feed.next()).transpose()?.flatten() {
        Some(first) => Relation::Longer {
            first: Box::new(first),
            skip: 0,
        },
        None => {
            events = end.events;
            Relation::Same {
                newline_added: false,
            }
        }
    };
    let sum = |s: &Sidecar| sessionlog::BlobId::of(s.text.as_bytes());
    Ok(Some(Known {
        relation,
        events,
        sidecar_changed: sidecar.is_some_and(|s| end.files.get(s.name) != Some(&sum(s))),
        tail,
    }))
}

fn begins_with(path: &Path, end: &Finished) -> Result<bool> {
    let sum = || {
        let mut rest = File::open(path)?.take(end.bytes);
        let mut hasher = BlobHasher::default();
        let mut buffer = vec![0; 256 << 10];
        let mut total = 0_u64;
        loop {
            match rest.read(&mut buffer) {
                Ok(0) => return std::io::Result::Ok((total, hasher.finish())),
                Ok(n) => {
                    hasher.update(buffer.get(..n).unwrap_or_default());
                    total += n as u64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    };
    let (total, sum) = sum().map_err(|e| io_error("the file can't be read", path, e))?;
    Ok(total == end.bytes && Some(sum) == end.sha256)
}

fn other(fed: Option<Fed>) -> Relation {
    let (line, content) = match fed.map(|fed| (fed.line.number, fed.line.content)) {
        Some((line, Content::Held(bytes))) => (line, bytes),
        Some((line, Content::Large(id))) => (line, id.to_string().into_bytes()),
        None => (0, Vec::new()),
    };
    Relation::Other { line, content }
}

enum Likeness {
    Equal,
    /// The line of the file is cut: it ends within the stored one.
    Cut,
    /// So many events of the stored line, all of them, are the first of the file's.
    Begins(usize),
    Foreign,
}

fn likeness(stored: &StoredLine, fed: &Fed, format: &str) -> Likeness {
    if stored.format != format || stored.number != fed.line.number {
        return Likeness::Foreign;
    }
    let bytes = match (&fed.line.content, stored.pieces.as_slice()) {
        (Content::Large(id), [Stored::Blob(blob)]) if id == blob => return Likeness::Equal,
        (Content::Held(bytes), _) => bytes,
        _ => return Likeness::Begins(0),
    };
    let mut rest = bytes.as_slice();
    let mut cut = false;
    for piece in &stored.pieces {
        match piece {
            Stored::Bytes(piece) if !cut => match rest.strip_prefix(piece.as_slice()) {
                Some(behind) => rest = behind,
                None if piece.starts_with(rest) && !fed.line.terminated => cut = true,
                None => return Likeness::Begins(0),
            },
            Stored::Bytes(_) => {}
            Stored::Blob(_) => return Likeness::Begins(0),
        }
    }
    if cut {
        return Likeness::Cut;
    }
    if rest.is_empty() {
        return Likeness::Equal;
    }
    // Whole events, or the line is another one.
    let lens = stored.pieces.iter().map(|piece| match piece {
        Stored::Bytes(bytes) => bytes.len(),
        Stored::Blob(_) => usize::MAX,
    });
    let same = lens.zip(&fed.drafts).all(|(len, draft)| len == draft.len);
    if same && stored.pieces.len() < fed.drafts.len() {
        Likeness::Begins(stored.pieces.len())
    } else {
        Likeness::Begins(0)
    }
}
