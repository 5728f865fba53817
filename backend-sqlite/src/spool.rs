//! Content on its way into the database: hashed, and kept in memory or, if it is large, in a file.

use std::fs::File;
use std::path::PathBuf;

use futures_util::StreamExt;
use sessionlog_core::{BlobHasher, BlobInfo, Pieces, Result};
use sessionlog_local::files::{create_new, failed, read_at, unique, wide, write_all_at};

use crate::schema::PIECE;
use crate::site::Site;

/// What stands behind the name of the database in the name of a spool file.
pub(crate) const SPOOL: &str = "-spool-";
/// Content up to this length is kept in memory.
const IN_MEMORY: usize = 1 << 20;

/// Content of a known name and length.
pub(crate) struct Spool {
    pub(crate) info: BlobInfo,
    held: Held,
}

enum Held {
    Memory(Vec<u8>),
    File(Spilled),
}

/// A private file beside the database. Where an open file can be without a name, it is.
struct Spilled {
    file: File,
    path: PathBuf,
}

impl Spilled {
    fn new(site: &Site) -> Result<Self> {
        let path = site.beside(&format!("{SPOOL}{}", unique()));
        let file = create_new(&path).map_err(failed("make", &path))?;
        if cfg!(unix) {
            std::fs::remove_file(&path).map_err(failed("remove the name of", &path))?;
        }
        Ok(Self { file, path })
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if !cfg!(unix) {
            // Best effort: what stays is reported among the strays.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

impl Spool {
    /// Takes all pieces.
    pub(crate) async fn fill(site: &Site, mut content: Pieces) -> Result<Self> {
        let mut hasher = BlobHasher::default();
        let mut len = 0;
        let mut memory = Vec::new();
        let mut spilled: Option<Spilled> = None;
        while let Some(piece) = content.next().await {
            let piece = piece?;
            hasher.update(&piece);
            if let Some(Spilled { file, path }) = &spilled {
                write_all_at(file, &piece, len).map_err(failed("write", path))?;
            } else {
                memory.extend_from_slice(&piece);
                if memory.len() > IN_MEMORY {
                    let file = Spilled::new(site)?;
                    let all = std::mem::take(&mut memory);
                    write_all_at(&file.file, &all, 0).map_err(failed("write", &file.path))?;
                    spilled = Some(file);
                }
            }
            len += wide(piece.len());
        }
        Ok(Self {
            info: BlobInfo::new(hasher.finish(), len),
            held: spilled.map_or(Held::Memory(memory), Held::File),
        })
    }

    /// Hands out the content, cut into pieces as they are stored.
    pub(crate) fn pieces(&self, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        match &self.held {
            Held::Memory(all) => {
                for (n, piece) in (0..).zip(all.chunks(PIECE)) {
                    each(n, piece)?;
                }
            }
            Held::File(Spilled { file, path }) => {
                let mut buffer = vec![0; PIECE];
                for n in 0..self.info.len.div_ceil(wide(PIECE)) {
                    let read = read_at(file, &mut buffer, n * wide(PIECE));
                    let read = read.map_err(failed("read", path))?;
                    each(n, buffer.get(..read).unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }
}
