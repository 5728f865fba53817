//! The lines of a file, in bounded memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Take};
use std::path::Path;

use sessionlog::{BlobHasher, BlobId, Result};

use super::io_error;

/// A line longer than this is not held in memory: it becomes a blob beside the log. It is so much
/// smaller than the largest event, 16 MiB, that its neutral fields fit beside it.
pub(crate) const LONGEST: usize = 15 << 20;

/// Reads a file line by line, up to the length that it had when it was opened.
pub(crate) struct Lines {
    input: BufReader<Take<File>>,
    longest: usize,
    number: u64,
    offset: u64,
    total: u64,
    hasher: BlobHasher,
}

/// A line, without its newline.
#[derive(Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Where in the file it begins.
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) content: Content,
    /// Whether a newline stands behind it.
    pub(crate) terminated: bool,
}

#[derive(Debug)]
pub(crate) enum Content {
    Held(Vec<u8>),
    /// Too long to be held: the name that its content has as a blob.
    Large(BlobId),
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::with_longest(path, LONGEST)
    }

    /// A reader that holds lines up to `longest` bytes.
    pub(crate) fn with_longest(path: &Path, longest: usize) -> Result<Self> {
        let open = || {
            let file = File::open(path)?;
            let total = file.metadata()?.len();
            std::io::Result::Ok((file, total))
        };
        let (file, total) = open().map_err(|e| io_error("the file can't be opened", path, e))?;
        Ok(Self {
            input: BufReader::with_capacity(256 << 10, file.take(total)),
            longest,
            number: 0,
            offset: 0,
            total,
            hasher: BlobHasher::default(),
        })
    }

    /// The length of the file.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that were read as lines so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Lines so far.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The SHA-256 of all bytes so far.
    pub(crate) fn sum(&self) -> BlobId {
        self.hasher.clone().finish()
    }

    pub(crate) fn next(&mut self) -> std::io::Result<Option<Line>> {
        let start = self.offset;
        let mut held = Vec::new();
        let mut large: Option<BlobHasher> = None;
        let mut len = 0_u64;
        let mut terminated = false;
        while !terminated {
            let chunk = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let (piece, used) = match memchr::memchr(b'\n', chunk) {
                Some(at) => (chunk.get(..at).unwrap_or_default(), at + 1),
                None => (chunk, chunk.len()),
            };
            terminated = used > piece.len();
            len += piece.len() as u64;
            self.offset += used as u64;
            self.hasher.update(chunk.get(..used).unwrap_or_default());
            if let Some(hasher) = &mut large {
                hasher.update(piece);
            } else {
                held.extend_from_slice(piece);
                if held.len() > self.longest {
                    let mut hasher = BlobHasher::default();
                    hasher.update(&held);
                    held = Vec::new();
                    large = Some(hasher);
                }
            }
            self.input.consume(used);
        }
        if len == 0 && !terminated {
            return Ok(None);
        }
        self.number += 1;
        let content = match large {
            Some(hasher) => Content::Large(hasher.finish()),
            None => Content::Held(held),
        };
        Ok(Some(Line {
            number: self.number,
            start,
            len,
            content,
            terminated,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], longest: usize) -> Vec<Line> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let mut lines = Lines::with_longest(file.path(), longest).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(line);
        }
        assert_eq!(lines.offset(), lines.total());
        assert_eq!(lines.sum(), BlobId::of(bytes));
        all
    }

    #[test]
    fn a_line_ends_at_its_newline_or_at_the_end_of_the_file() {
        assert!(lines(b"", 9).is_empty());
        let all = lines(b"a\n\n\r\nbc", 9);
        let told: Vec<_> = all.iter().map(|l| (l.start, l.len, l.terminated)).collect();
        assert_eq!(
            told,
            [(0, 1, true), (2, 0, true), (3, 1, true), (5, 2, false)]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_not_held() {
        let long = vec![b'x'; 700_000];
        let all = lines(&[b"a\n", &long[..], b"\nb"].concat(), 1000);
        assert!(matches!(all[1].content, Content::Large(id) if id == BlobId::of(&long)));
        assert_eq!((all[1].start, all[1].len), (2, 700_000));
        assert!(matches!(&all[2].content, Content::Held(b) if b == b"b"));
    }
}
