//! The file that a session was imported from, as it was.

use std::io::Write;

use futures_util::StreamExt;
use sessionlog::{Error, Result, Session};

use crate::import::stored::{Stored, StoredLines};

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Lines.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Writes the file that a session was imported from, byte for byte: what was damaged in it, its
/// blank lines, its kind of line ends and a missing last newline as well. Events that the session
/// got otherwise are not in it. Memory is bounded by the longest line that an event can hold.
///
/// # Errors
/// `InvalidInput` if the session was not imported; `Unavailable` with the operating system's error
/// as its source if `out` can't be written; the errors of the read.
pub async fn original(session: &Session, out: &mut dyn Write) -> Result<Exported> {
    let mut lines = StoredLines::of(session);
    let mut done = Exported::default();
    while let Some(line) = lines.next().await? {
        if done.lines > 0 {
            put(out, b"\n", &mut done)?;
        }
        for piece in &line.pieces {
            match piece {
                Stored::Bytes(bytes) => put(out, bytes, &mut done)?,
                Stored::Blob(id) => {
                    let mut pieces = session.blob(*id, 0..u64::MAX);
                    while let Some(piece) = pieces.next().await {
                        put(out, &piece?, &mut done)?;
                    }
                }
            }
        }
        done.lines += 1;
    }
    if lines.formats.is_empty() && done.lines == 0 {
        return Err(Error::invalid(format!(
            "the session was not imported, so there is no original of it; export its events: {}",
            session.id()
        )));
    }
    if done.lines > 0 && lines.final_newline {
        put(out, b"\n", &mut done)?;
    }
    Ok(done)
}

/// The names of the files beside the log that were imported with it.
///
/// # Errors
/// Those of the read.
pub async fn sidecars(session: &Session) -> Result<Vec<String>> {
    let mut lines = StoredLines::of(session);
    while lines.next().await?.is_some() {}
    Ok(lines.files.into_keys().collect())
}

/// Writes a file beside the log, as it was when it was last imported.
///
/// # Errors
/// `NotFound` if there is none of that name; else as [`original`].
pub async fn sidecar(session: &Session, name: &str, out: &mut dyn Write) -> Result<Exported> {
    let mut lines = StoredLines::of(session);
    while lines.next().await?.is_some() {}
    let Some(text) = lines.files.get(name) else {
        return Err(Error::not_found(format!(
            "no file of this name was imported with the session: {name:?}"
        )));
    };
    let mut done = Exported::default();
    put(out, text.as_bytes(), &mut done)?;
    Ok(done)
}

fn put(out: &mut dyn Write, bytes: &[u8], done: &mut Exported) -> Result<()> {
    out.write_all(bytes)
        .map_err(|e| Error::unavailable("the output can't be written").with_source(e))?;
    done.bytes += bytes.len() as u64;
    Ok(())
}
