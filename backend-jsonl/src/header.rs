//! The first line of a log: which session, which life.

use std::path::Path;

use sessionlog_core::{Error, Incarnation, Result, SessionId, SessionRef, Sum, Timestamp};

use sessionlog_local::files::{failed, open_read, read_at};

/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 1;
/// How every header begins, of whatever format.
pub(crate) const START: [u8; 14] = *b"{\"sessionlog\":";
/// No header is longer.
pub(crate) const MAX_LEN: usize = 512;

/// What the first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) session: SessionRef,
    pub(crate) created: Timestamp,
}

impl Header {
    /// The line, with its newline.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let SessionRef { id, incarnation } = &self.session;
        let fields = format!(
            "{{\"sessionlog\":{FORMAT},\"session\":\"{id}\",\"incarnation\":\"{incarnation}\",\
             \"created\":\"{}\"",
            self.created
        );
        let sum = Sum::from_u64(0).then(fields.as_bytes());
        format!("{fields},\"sum\":\"{sum}\"}}\n").into_bytes()
    }

    /// Reads the first line of `bytes`: the header and its length.
    ///
    /// # Errors
    /// `Unsupported` for a newer format; `None` inside if it is no header.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>> {
        let Some(line) = memchr::memchr(b'\n', bytes).and_then(|end| bytes.get(..=end)) else {
            return Ok(None);
        };
        if let Some(format) = newer(line) {
            return Err(unsupported(format));
        }
        Ok(Self::decode(line)
            .filter(|header| header.encode() == line)
            .map(|header| (header, line.len())))
    }

    /// The fields of a line, whether or not its checksum holds.
    fn decode(line: &[u8]) -> Option<Self> {
        Some(Self {
            session: Self::salvage(line)?,
            created: Timestamp::from_text(field(line, "created")?.as_bytes())?,
        })
    }

    /// What a damaged first line says about its session, if that can still be read.
    pub(crate) fn salvage(line: &[u8]) -> Option<SessionRef> {
        Some(SessionRef {
            id: SessionId::new(field(line, "session")?).ok()?,
            incarnation: field(line, "incarnation")?.parse::<Incarnation>().ok()?,
        })
    }
}

/// The value of a field, by its name.
fn field<'a>(line: &'a [u8], name: &str) -> Option<&'a str> {
    let name = format!("\"{name}\":\"");
    let start = memchr::memmem::find(line, name.as_bytes())? + name.len();
    let behind = line.get(start..)?;
    let value = behind.get(..memchr::memchr(b'"', behind)?)?;
    std::str::from_utf8(value).ok()
}

/// The header of the log at a path.
///
/// # Errors
/// `Unsupported` for a newer format; `Unavailable` if the file can't be read.
pub(crate) fn of_file(path: &Path) -> Result<Option<Header>> {
    let mut line = vec![0; MAX_LEN];
    let len = open_read(path)
        .and_then(|file| read_at(&file, &mut line, 0))
        .map_err(failed("read", path))?;
    line.truncate(len);
    Ok(Header::read(&line)?.map(|(header, _)| header))
}

/// The format of a line that says that it is newer than this version.
fn newer(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(&START)?;
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let format: u64 = std::str::from_utf8(digits.get(..len)?).ok()?.parse().ok()?;
    (format > FORMAT).then_some(format)
}

/// The error for a format of the future.
pub(crate) fn unsupported(format: u64) -> Error {
    Error::unsupported(format!(
        "the store was written by a newer version, update this program: it has format {format}, \
         this version reads up to {FORMAT}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_every_changed_bit_is_found() {
        let header = Header {
            session: SessionRef::fresh(SessionId::new("Some-id").unwrap()),
            created: Timestamp::now(),
        };
        let line = header.encode();
        assert_eq!(Header::read(&line).unwrap(), Some((header, line.len())));
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                assert!(!matches!(Header::read(&changed), Ok(Some(_))), "{at} {bit}");
            }
        }
        assert!(line.len() < MAX_LEN);
        for cut in 0..line.len() {
            assert_eq!(Header::read(&line[..cut]).unwrap(), None);
        }
    }

    #[test]
    fn a_file_has_the_header_of_its_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let missing = of_file(&path).unwrap_err();
        assert_eq!(*missing.kind(), sessionlog_core::ErrorKind::Unavailable);
        let header = Header {
            session: SessionRef::fresh(SessionId::new("s").unwrap()),
            created: Timestamp::now(),
        };
        std::fs::write(&path, [&header.encode()[..], b"{}\n"].concat()).unwrap();
        assert_eq!(of_file(&path).unwrap(), Some(header));
        std::fs::write(&path, "{}\n").unwrap();
        assert_eq!(of_file(&path).unwrap(), None);
    }

    #[test]
    fn a_newer_format_is_named() {
        let error = Header::read(b"{\"sessionlog\":7,\"x\":1}\n").unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("format 7") && message.contains("up to 1"),
            "{message}"
        );
    }
}
