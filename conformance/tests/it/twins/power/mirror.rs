//! A journal in a place, written with a fault.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sessionlog_core::Sum;

use super::super::files::private_file;
use crate::specimens::mirrored::Keep;

/// What is wrong with the writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// What is appended is not flushed.
    NoFlush,
    /// It is flushed before it is written.
    FlushBeforeWrite,
    /// New names are not flushed.
    NoFolderFlush,
    /// A line that reads as one is taken for one.
    NoChecksum,
    /// What comes next is written behind a torn end.
    NoTailRepair,
    /// Every flush is done twice, so that none is missed when it is taken out.
    FlushesTwice,
    /// A batch is written event by event.
    SplitsBatches,
    /// The journal is written anew in its own place.
    TruncatesInPlace,
    /// It is written anew in its own place once it has so many lines.
    TruncatesOnce,
    /// A grant is acknowledged whether or not it could be written.
    GrantErrorsIgnored,
    /// A flush that failed is tried again.
    FlushRetried,
    /// A flush of the first write that fails is said to have succeeded, and the next write makes it good.
    MendedLater,
    /// What could not be flushed is written once more, and the second flush is not looked at.
    CureBelieved,
    /// A write that failed is taken for one that did not.
    ErrorsIgnored,
    /// What an earlier process left is taken for durable, whatever flush fails.
    TrustsThePast,
    /// It is taken for durable once a flush succeeds.
    FlushesThePast,
}

/// The journal in the place.
pub(crate) struct Mirror {
    dir: PathBuf,
    file: File,
    /// What it holds.
    content: Vec<u8>,
    /// The last line, which an earlier life may have failed to flush: it is written once more.
    again: Vec<u8>,
    /// Whether the last write could not be flushed.
    late: bool,
    /// How often it grew.
    lines: u64,
    fault: Fault,
}

const NAME: &str = "journal";

/// Where this process wrote what it could not flush.
fn doubts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static DOUBTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    DOUBTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mirror {
    /// Opens the journal of a place, and repairs its end.
    pub(crate) fn open(dir: &Path, fault: Fault) -> std::io::Result<Box<dyn Keep>> {
        drop(fs::remove_file(dir.join("journal.new")));
        let mut file = private_file(&dir.join(NAME))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        let whole = match fault {
            Fault::NoChecksum => {
                content = readable(&content);
                content.len()
            }
            _ => whole(&content),
        };
        content.truncate(whole);
        if fault != Fault::NoTailRepair {
            file.set_len(whole as u64)?;
        }
        let again = match fault {
            Fault::NoTailRepair => Vec::new(),
            Fault::TrustsThePast | Fault::FlushesThePast if !doubts().contains(dir) => Vec::new(),
            _ => content
                .split_inclusive(|b| *b == b'\n')
                .next_back()
                .unwrap_or_default()
                .to_vec(),
        };
        let back = i64::try_from(again.len()).unwrap_or(0);
        file.seek(SeekFrom::End(-back))?;
        if fault != Fault::NoFlush {
            flush(&file, fault).inspect_err(|_| {
                if fault == Fault::FlushesThePast {
                    doubts().insert(dir.to_owned());
                }
            })?;
        }
        let mirror = Self {
            dir: dir.to_owned(),
            file,
            content,
            again,
            late: false,
            lines: 0,
            fault,
        };
        mirror.flush_folder()?;
        Ok(Box::new(mirror))
    }

    fn flush_folder(&self) -> std::io::Result<()> {
        match self.fault {
            Fault::NoFolderFlush => Ok(()),
            _ => flush(&File::open(&self.dir)?, self.fault),
        }
    }

    fn append(&mut self, more: &[u8]) -> std::io::Result<()> {
        let again = std::mem::take(&mut self.again);
        if !again.is_empty() {
            self.write(&again)?;
        }
        self.write(more)?;
        self.lines += 1;
        if self.fault == Fault::TruncatesOnce && self.lines == 64 {
            let content = [&self.content[..], more].concat();
            self.in_place(&content)?;
        }
        Ok(())
    }

    fn in_place(&mut self, content: &[u8]) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(content)?;
        self.again.clear();
        self.file.sync_all()
    }

    fn write(&mut self, more: &[u8]) -> std::io::Result<()> {
        match self.fault {
            Fault::NoFlush => self.file.write_all(more),
            Fault::FlushBeforeWrite => {
                self.file.sync_data()?;
                self.file.write_all(more)
            }
            Fault::FlushRetried => {
                self.file.write_all(more)?;
                self.file.sync_data().or_else(|_| self.file.sync_data())
            }
            Fault::MendedLater if self.content.is_empty() => {
                self.file.write_all(more)?;
                self.late = self.file.sync_data().is_err();
                Ok(())
            }
            Fault::CureBelieved => {
                let at = self.file.stream_position()?;
                self.file.write_all(more)?;
                if self.file.sync_data().is_err() {
                    self.file.seek(SeekFrom::Start(at))?;
                    self.file.write_all(more)?;
                    drop(self.file.sync_data());
                }
                Ok(())
            }
            Fault::GrantErrorsIgnored if String::from_utf8_lossy(more).contains("Grant") => {
                drop(
                    self.file
                        .write_all(more)
                        .and_then(|()| self.file.sync_data()),
                );
                Ok(())
            }
            Fault::ErrorsIgnored => {
                let written = self.file.write_all(more);
                drop(written.and_then(|()| self.file.sync_data()));
                Ok(())
            }
            _ => {
                self.file.write_all(more)?;
                flush(&self.file, self.fault).inspect_err(|_| {
                    doubts().insert(self.dir.clone());
                })
            }
        }
    }

    /// Whoever deletes writes the journal anew.
    fn anew(&mut self, content: &[u8]) -> std::io::Result<()> {
        if self.fault == Fault::TruncatesInPlace {
            return self.in_place(content);
        }
        let mut file = private_file(&self.dir.join("journal.new"))?;
        file.write_all(content)?;
        if self.fault != Fault::NoFlush {
            flush(&file, self.fault)?;
        }
        fs::rename(self.dir.join("journal.new"), self.dir.join(NAME))?;
        self.flush_folder()?;
        self.file = file;
        self.again.clear();
        Ok(())
    }
}

fn flush(file: &File, fault: Fault) -> std::io::Result<()> {
    if fault == Fault::FlushesTwice {
        file.sync_all()?;
    }
    file.sync_all()
}

impl Keep for Mirror {
    fn content(&self) -> &[u8] {
        &self.content
    }

    fn bring(&mut self, content: Vec<u8>) -> std::io::Result<()> {
        match content.strip_prefix(self.content.as_slice()) {
            Some([]) => {}
            Some(more) => self.append(more)?,
            None => self.anew(&content)?,
        }
        self.content = content;
        if std::mem::take(&mut self.late) {
            self.again.clone_from(&self.content);
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
}

/// The lines that read as lines, with the checksums that they would have: what was never written
/// reads as zeros, and passes for spaces.
fn readable(content: &[u8]) -> Vec<u8> {
    let (mut sum, mut out) = (Sum::from_u64(0), Vec::new());
    for line in content.split_inclusive(|b| *b == b'\n') {
        let Some(json) = line.get(17..).and_then(|json| json.strip_suffix(b"\n")) else {
            break;
        };
        let json: Vec<u8> = json
            .iter()
            .map(|b| if *b == 0 { b' ' } else { *b })
            .collect();
        if serde_json::from_slice::<serde_json::Value>(&json).is_err() {
            break;
        }
        sum = sum.then(&json);
        out.extend_from_slice(&sum.to_text());
        out.push(b' ');
        out.extend_from_slice(&json);
        out.push(b'\n');
    }
    out
}

/// How much of a journal is whole lines: the last one may be torn, and has no end then, or zeros that
/// were never written over.
fn whole(content: &[u8]) -> usize {
    let last = content.split_inclusive(|b| *b == b'\n').next_back();
    let torn = last.filter(|line| !line.ends_with(b"\n") || line.contains(&0));
    content.len() - torn.map_or(0, <[u8]>::len)
}
