//! A database that was not closed, read without changing it: what redb has to mend before it reads
//! is mended in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use sessionlog_local::files::{narrow, read_at, wide};

const BLOCK: u64 = 4096;

/// A file that is never written: writes stay in memory.
#[derive(Debug)]
pub(crate) struct Overlay {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How long the storage is by now.
    len: u64,
    /// How much of it still comes from the file.
    below: u64,
    blocks: HashMap<u64, Vec<u8>>,
}

impl Overlay {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self {
            file,
            state: Mutex::new(State {
                len,
                below: len,
                blocks: HashMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, state: &State, block: u64, into: &mut [u8]) -> io::Result<()> {
        let start = block * BLOCK;
        let len = narrow(state.below.saturating_sub(start).min(BLOCK))?;
        let read = match into.get_mut(..len) {
            Some(from_file) => read_at(&self.file, from_file, start)?,
            None => 0,
        };
        into.get_mut(read..).unwrap_or_default().fill(0);
        Ok(())
    }
}

/// The pieces of `offset..offset + len` by block: block, offset within it, length.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset.saturating_add(wide(len));
    (offset / BLOCK..end.div_ceil(BLOCK)).filter_map(move |block| {
        let start = offset.max(block * BLOCK);
        let stop = end.min((block + 1) * BLOCK);
        Some((
            block,
            usize::try_from(start - block * BLOCK).ok()?,
            usize::try_from(stop.checked_sub(start)?).ok()?,
        ))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset.saturating_add(wide(out.len())) > state.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if state.blocks.is_empty() && offset.saturating_add(wide(out.len())) <= state.below {
            return match read_at(&self.file, out, offset)? {
                read if read == out.len() => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let mut rest = out;
        let mut whole = vec![0; 4096];
        for (block, at, len) in pieces(offset, rest.len()) {
            let (piece, behind) = std::mem::take(&mut rest)
                .split_at_mut_checked(len)
                .ok_or(io::ErrorKind::InvalidInput)?;
            rest = behind;
            let from = match state.blocks.get(&block) {
                Some(written) => written,
                None => {
                    self.fill(&state, block, &mut whole)?;
                    &whole
                }
            };
            piece.copy_from_slice(from.get(at..at + len).ok_or(io::ErrorKind::InvalidInput)?);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.blocks.retain(|block, _| block * BLOCK < len);
        if let Some(last) = state.blocks.get_mut(&(len / BLOCK)) {
            let kept = narrow(len % BLOCK)?;
            last.get_mut(kept..).unwrap_or_default().fill(0);
        }
        state.len = len;
        state.below = state.below.min(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let mut rest = data;
        for (block, at, len) in pieces(offset, data.len()) {
            let (piece, behind) = rest
                .split_at_checked(len)
                .ok_or(io::ErrorKind::InvalidInput)?;
            rest = behind;
            if !state.blocks.contains_key(&block) {
                let mut whole = vec![0; 4096];
                self.fill(&state, block, &mut whole)?;
                state.blocks.insert(block, whole);
            }
            let written = state.blocks.get_mut(&block);
            let slot = written.and_then(|w| w.get_mut(at..at + len));
            slot.ok_or(io::ErrorKind::InvalidInput)?
                .copy_from_slice(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_was_written_and_leaves_the_file_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let before: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &before).unwrap();
        let overlay = Overlay::new(File::open(&path).unwrap()).unwrap();
        let mut model = before.clone();
        for (offset, len) in [(0, 10), (4090, 12), (8192, 9000), (39_990, 10)] {
            overlay.write(offset, &vec![7; len]).unwrap();
            let at = usize::try_from(offset).unwrap();
            model[at..at + len].fill(7);
        }
        let mut read = vec![0; model.len()];
        overlay.read(0, &mut read).unwrap();
        assert_eq!(read, model);
        overlay.set_len(20_001).unwrap();
        overlay.set_len(50_000).unwrap();
        model.truncate(20_001);
        model.resize(50_000, 0);
        let mut read = vec![1; 40_001];
        overlay.read(9_999, &mut read).unwrap();
        assert_eq!(read, model[9_999..]);
        assert!(overlay.read(49_999, &mut [0; 2]).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn what_nobody_wrote_is_read_from_the_file_and_is_zero_behind_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"0123456789").unwrap();
        let overlay = Overlay::new(File::open(&path).unwrap()).unwrap();
        let read = |at, len| {
            let mut out = vec![1; len];
            overlay.read(at, &mut out).map(|()| out)
        };
        assert_eq!(overlay.len().unwrap(), 10);
        assert_eq!(read(2, 8).unwrap(), b"23456789");
        assert!(read(3, 8).is_err());
        overlay.set_len(4).unwrap();
        overlay.set_len(8).unwrap();
        assert_eq!(overlay.len().unwrap(), 8);
        assert_eq!(read(0, 8).unwrap(), b"0123\0\0\0\0");
        assert_eq!(read(0, 4).unwrap(), b"0123");
        // Somebody cuts the file.
        std::fs::write(&path, b"01").unwrap();
        assert!(read(0, 4).is_err());
    }
}
