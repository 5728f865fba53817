//! The least that a power loss leaves.

use crate::{FileId, Op, Record, Tree};

impl Record {
    /// What is left of the folder if the power goes behind the first `upto` ops and takes all that it may:
    /// bytes that no flush of their file has proved since they were written, and names that no flush of
    /// their folder has. What was written before a flush that failed is gone, whatever is flushed later.
    ///
    /// It is one of the many folders that a power loss can leave, and the first that a test of one promise
    /// should look at. Costs a copy of each file that was written to.
    #[must_use]
    pub fn least(&self, upto: usize) -> Tree {
        let mut left = self.start.clone();
        let (mut bytes, mut names): (Vec<&Op>, Vec<(FileId, &Op)>) = (Vec::new(), Vec::new());
        for op in self.ops.iter().take(upto) {
            match op {
                Op::Flush { file, ok, .. } => {
                    let of_file = |op: &mut &Op| changes(op) == Some(*file);
                    let flushed = bytes.extract_if(.., of_file).filter(|_| *ok);
                    flushed.for_each(|op| left.apply_data(op));
                }
                Op::FlushFolder { dir, ok: true } => {
                    let of_folder = |(of, _): &mut (FileId, &Op)| of == dir;
                    let flushed = names.extract_if(.., of_folder);
                    flushed.for_each(|(_, op)| left.apply_names(op));
                }
                Op::FlushAll { ok } => {
                    let flushed = bytes.drain(..).filter(|_| *ok);
                    flushed.for_each(|op| left.apply_data(op));
                    if *ok {
                        names.drain(..).for_each(|(_, op)| left.apply_names(op));
                    }
                }
                Op::Create { place, .. } | Op::Mkdir { place, .. } | Op::Symlink { place, .. } => {
                    left.apply_data(op);
                    names.push((place.dir, op));
                }
                Op::Link { place, .. }
                | Op::Unlink { place, .. }
                | Op::Rmdir { place, .. }
                | Op::Rename { to: place, .. } => names.push((place.dir, op)),
                op if changes(op).is_some() => bytes.push(op),
                _ => {}
            }
        }
        left
    }
}

/// The file of which an op changes bytes.
fn changes(op: &Op) -> Option<FileId> {
    match op {
        Op::Write { file, .. } | Op::Truncate { file, .. } | Op::Allocate { file, .. } => {
            Some(*file)
        }
        _ => None,
    }
}
