//! The lines of a file, out of the session that it was imported into.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sessionlog::transcript::{Source, kinds};
use sessionlog::{BlobId, Data, Error, Event, Events, Result, SeqNum, Session};

use super::payload::from_base64;

/// The imported lines of a session, in the order of the file.
///
/// A line that was torn when it was imported and was whole later stands in the log twice; the later
/// one counts.
pub(crate) struct StoredLines {
    events: Events,
    ahead: Option<Piece>,
    last: u64,
    /// Formats that were imported.
    pub(crate) formats: BTreeSet<String>,
    /// Files beside the log, as they were last.
    pub(crate) files: BTreeMap<String, String>,
    /// Whether the file ended with a newline, as far as was read.
    pub(crate) final_newline: bool,
    /// Events so far.
    pub(crate) seen: u64,
}

/// A line without its newline.
#[derive(Debug)]
pub(crate) struct StoredLine {
    pub(crate) number: u64,
    pub(crate) format: String,
    pub(crate) pieces: Vec<Stored>,
    /// The file ended here when it was imported.
    pub(crate) unterminated: bool,
}

/// The bytes of one event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Bytes(Vec<u8>),
    Blob(BlobId),
}

struct Piece {
    source: Source,
    content: Stored,
}

#[derive(Deserialize)]
struct Shape<'a> {
    source: Source,
    #[serde(default, borrow, deserialize_with = "present")]
    record: Option<&'a RawValue>,
    #[serde(default)]
    blob: Option<BlobId>,
    #[serde(default, borrow)]
    base64: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
}

/// A field that is there, also where it is `null`.
fn present<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What an `import.finished` says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Finished {
    pub(crate) format: String,
    pub(crate) lines: u64,
    /// Events that the file has become, all imports together.
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: Option<BlobId>,
    pub(crate) final_newline: bool,
    /// SHA-256 of the files beside it.
    pub(crate) files: BTreeMap<String, BlobId>,
}

impl StoredLines {
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            events: session.read(SeqNum::all()),
            ahead: None,
            last: 0,
            formats: BTreeSet::new(),
            files: BTreeMap::new(),
            final_newline: true,
            seen: 0,
        }
    }

    /// The next line; `None` behind the last.
    pub(crate) async fn next(&mut self) -> Result<Option<StoredLine>> {
        let Some(first) = self.piece().await? else {
            return Ok(None);
        };
        let number = first.source.line;
        if number <= self.last {
            return Err(Error::invalid(format!(
                "the imported lines of the session are not in the order of a file: line {number} \
                 behind line {}",
                self.last
            )));
        }
        self.last = number;
        let mut line = StoredLine {
            number,
            format: first.source.format.clone(),
            pieces: Vec::new(),
            unterminated: false,
        };
        let mut next = Some(first);
        while let Some(piece) = next.take() {
            if piece.source.line != number {
                self.ahead = Some(piece);
                break;
            }
            if piece.source.part == 0 {
                line.pieces.clear();
            }
            line.unterminated = piece.source.unterminated;
            self.final_newline = !line.unterminated;
            line.pieces.push(piece.content);
            next = self.piece().await?;
        }
        Ok(Some(line))
    }

    async fn piece(&mut self) -> Result<Option<Piece>> {
        if let Some(piece) = self.ahead.take() {
            return Ok(Some(piece));
        }
        while let Some(event) = self.events.next().await {
            let event = event?;
            self.seen += 1;
            if let Some(piece) = self.take(&event) {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    fn take(&mut self, event: &Event) -> Option<Piece> {
        if event.kind == kinds::IMPORT_STARTED || event.kind == kinds::IMPORT_FINISHED {
            let told: Finished = event.data.parse().ok()?;
            if event.kind == kinds::IMPORT_FINISHED {
                self.final_newline = told.final_newline;
            }
            self.formats.insert(told.format);
            return None;
        }
        let piece = piece(&event.data)?;
        match (&piece.source.file, piece.content) {
            (Some(name), Stored::Bytes(bytes)) => {
                if piece.source.part == 0 {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.files.insert(name.clone(), text);
                }
                None
            }
            (Some(_), Stored::Blob(_)) => None,
            (None, content) => Some(Piece {
                source: piece.source,
                content,
            }),
        }
    }
}

fn piece(data: &Data) -> Option<Piece> {
    let shape: Shape<'_> = data.view().ok()?;
    let content = if let Some(record) = shape.record {
        let (before, behind) = shape.source.pad.as_ref().map_or(("", ""), |(b, a)| (b, a));
        Stored::Bytes([before, record.get(), behind].concat().into_bytes())
    } else if let Some(blob) = shape.blob {
        Stored::Blob(blob)
    } else if let Some(base64) = shape.base64 {
        Stored::Bytes(from_base64(&base64)?)
    } else if let Some(text) = shape.text {
        Stored::Bytes(
            serde_json::from_str::<String>(text.get())
                .ok()?
                .into_bytes(),
        )
    } else if shape.source.file.is_some() {
        // What follows from a file beside the log has none of its bytes.
        Stored::Bytes(Vec::new())
    } else {
        return None;
    };
    Some(Piece {
        source: shape.source,
        content,
    })
}

/// The end of the last import, if nothing was imported after it.
pub(crate) async fn finished(session: &Session) -> Result<Option<Finished>> {
    let last = session.last(8).await?.collect().await?;
    for event in last.iter().rev() {
        if event.kind == kinds::IMPORT_FINISHED {
            return Ok(event.data.parse().ok());
        }
        if event.kind == kinds::IMPORT_STARTED || piece(&event.data).is_some() {
            break;
        }
    }
    Ok(None)
}
