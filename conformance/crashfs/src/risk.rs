//! What a power loss could take of a file's bytes.

use crate::{FileId, Op, Record};

/// A sector is written whole, with all that the system has of it.
const SECTOR: usize = 512;

/// What is known of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Durable,
    Written,
    /// Written before a flush that failed.
    Doubtful,
}

/// How many bytes of a file a power loss could take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Risk {
    /// Those written since the last flush of the file.
    pub unflushed: u64,
    /// Those from before a flush that failed: no later flush makes them durable until something is written
    /// to their sectors of 512 bytes again.
    pub doubtful: u64,
}

impl Record {
    /// How many bytes of a file a power loss behind the first `upto` ops could take. What it could take of
    /// the file's names is another matter. None of a file that isn't there.
    pub fn risk(&self, file: FileId, upto: usize) -> Risk {
        let start = self.start.files.get(&file).map_or(0, |bytes| bytes.len());
        let mut bytes = vec![Byte::Durable; start];
        for op in self.ops.iter().take(upto) {
            match op {
                Op::Write { file: of, at, data } if *of == file => {
                    put(&mut bytes, number(*at), data.len());
                }
                Op::Allocate {
                    file: of, at, len, ..
                } if *of == file => put(&mut bytes, number(*at), number(*len)),
                Op::Truncate { file: of, len } if *of == file => {
                    bytes.resize(number(*len), Byte::Written);
                }
                Op::Flush { file: of, ok, .. } if *of == file => flush(&mut bytes, *ok),
                Op::FlushAll { ok } => flush(&mut bytes, *ok),
                _ => {}
            }
        }
        let count = |what| bytes.iter().filter(|byte| **byte == what).count() as u64;
        Risk {
            unflushed: count(Byte::Written),
            doubtful: count(Byte::Doubtful),
        }
    }
}

fn put(bytes: &mut Vec<Byte>, at: usize, len: usize) {
    let end = at.saturating_add(len);
    bytes.resize(bytes.len().max(end), Byte::Written);
    let sectors = at / SECTOR * SECTOR..end.div_ceil(SECTOR).saturating_mul(SECTOR);
    let written = bytes.iter_mut().take(sectors.end).skip(sectors.start);
    written.for_each(|byte| *byte = Byte::Written);
}

fn flush(bytes: &mut [Byte], ok: bool) {
    let to = if ok { Byte::Durable } else { Byte::Doubtful };
    let written = bytes.iter_mut().filter(|byte| **byte == Byte::Written);
    written.for_each(|byte| *byte = to);
}

fn number(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, Tree};

    #[test]
    fn what_is_written_is_at_risk_until_it_is_flushed_and_behind_a_failed_flush_until_it_is_written_again()
     {
        let file = FileId(1);
        let write = |at, len: usize| Op::Write {
            file,
            at,
            data: vec![1; len].into(),
        };
        let flush = |ok| Op::Flush {
            file,
            data_only: true,
            ok,
        };
        let place = Place {
            dir: FileId::ROOT,
            name: std::sync::Arc::from(std::ffi::OsStr::new("f")),
        };
        let steps = [
            (Op::Create { file, place }, 0, 0),
            (write(0, 1000), 1000, 0),
            (flush(true), 0, 0),
            (write(1000, 100), 588, 0),
            (
                Op::Flush {
                    file: FileId(2),
                    data_only: false,
                    ok: true,
                },
                588,
                0,
            ),
            (flush(false), 0, 588),
            (flush(true), 0, 588),
            (write(1030, 1), 76, 512),
            (flush(true), 0, 512),
            (Op::Truncate { file, len: 900 }, 0, 388),
            (Op::FlushAll { ok: true }, 0, 388),
            (write(600, 1), 388, 0),
            (Op::FlushAll { ok: true }, 0, 0),
        ];
        let record = Record {
            start: Tree::new(),
            ops: steps.iter().map(|(op, ..)| op.clone()).collect(),
        };
        for (n, (op, unflushed, doubtful)) in steps.iter().enumerate() {
            let risk = record.risk(file, n + 1);
            let expected = (*unflushed, *doubtful);
            assert_eq!((risk.unflushed, risk.doubtful), expected, "{n}: {op:?}");
        }
    }
}
