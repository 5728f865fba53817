//! A recorder and what it gives.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{Fault, Op, Tree};

/// Records every change below one folder, with contents, and delivers faults.
///
/// - **What**: what [`Watch`](crate::Watch) counts, with the same meaning of "below", of this
///   process only. Several recorders can be open at once, on different folders or on the same.
/// - **Order**: calls below the root are carried out one at a time, so an op's place in the
///   record is the place of its effect. Signals wait while one is recorded.
/// - **Start**: what the folder holds when the recorder is made counts as durable.
/// - **Complete**: [`finish`](Recorder::finish) checks that nothing was missed.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if sessionlog_crashfs::armed().is_err() { return Ok(()); }
/// use sessionlog_crashfs::{Op, Recorder};
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let recorder = Recorder::new(folder.path())?;
/// let mut file = std::fs::File::create(folder.path().join("log"))?;
/// file.write_all(b"one\n")?;
/// file.sync_data()?;
/// let acknowledged = recorder.mark();
///
/// let record = recorder.finish()?;
/// assert!(matches!(
///     record.ops.as_slice(),
///     [Op::Create { .. }, Op::Write { at: 0, .. }, Op::Flush { ok: true, .. }]
/// ));
/// assert_eq!(acknowledged, 3);
/// # Ok(())
/// # }
/// ```
pub struct Recorder {
    root: PathBuf,
}

/// What happened below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// What the folder held when recording began; taken as durable.
    pub start: Tree,
    /// What was done to it, in order.
    pub ops: Vec<Op>,
}

/// Why a record doesn't tell everything. Nothing can be concluded from it.
#[derive(Debug)]
pub struct Incomplete {
    reason: String,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record is not complete: {}", self.reason)
    }
}

impl std::error::Error for Incomplete {}

impl Recorder {
    /// Begins to record below the folder `root`, which must exist.
    ///
    /// # Errors
    ///
    /// - Those of [`Watch::new`](crate::Watch::new), and of reading the folder.
    /// - [`Unsupported`](io::ErrorKind::Unsupported) also for something below the root that is
    ///   no file, folder or symbolic link.
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy) also if the process has a writable
    ///   shared mapping of a file below the root.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Recorder> {
        let root = std::fs::canonicalize(root)?;
        let _ = Recorder { root };
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the recorder itself is on its way",
        ))
    }

    /// The recorded folder, absolute and without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many ops are recorded so far: everything that this thread did before is among the
    /// first `mark` of [`Record::ops`]. Take it when something is acknowledged.
    #[must_use]
    pub fn mark(&self) -> usize {
        0
    }

    /// Sets the fault that is to be delivered, in the place of one set before, and begins to
    /// count its calls and its hits anew.
    pub fn inject(&self, fault: Fault) {
        let _ = fault;
    }

    /// How often the fault was delivered since [`inject`](Recorder::inject).
    #[must_use]
    pub fn hits(&self) -> u64 {
        0
    }

    /// Takes the fault away. [`hits`](Recorder::hits) stays.
    pub fn heal(&self) {}

    /// Ends the recording, and checks that it is complete: the start with every op applied
    /// must be what the folder holds now, in names, types, lengths and every byte.
    ///
    /// # Errors
    ///
    /// [`Incomplete`] with the first reason: something changed without being seen (the
    /// [crate docs](crate) list the ways), a change that can't be recorded, no room left for
    /// the record, or a folder that can't be read.
    pub fn finish(self) -> Result<Record, Incomplete> {
        Err(Incomplete {
            reason: "the recorder itself is on its way".into(),
        })
    }
}
