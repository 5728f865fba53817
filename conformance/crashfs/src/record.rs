//! A recorder and what it gives.

use std::{fmt, io, path::Path, sync::atomic::Ordering::Acquire};

use crate::{Fault, Op, Tree, Watch, interpose::tape, tape::Faults, tree::Start};

/// Records every change below one folder, with contents, and delivers faults.
///
/// - **What**: what [`Watch`] counts, with the same meaning of "below", of this
///   process only. Several recorders can be open at once, on different folders or on the same.
/// - **Order**: calls below the root are carried out one at a time, so an op's place in the
///   record is the place of its effect. Signals wait while one is recorded.
/// - **Start**: what the folder holds when the recorder is made counts as durable.
/// - **Complete**: [`finish`](Recorder::finish) checks that nothing was missed.
///
/// ```
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
    watch: Watch,
    start: Start,
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
    /// How much memory a record can take, in bytes: the data that was written, and about 120
    /// bytes and the names for each op. It is reserved as address space; only what is used
    /// becomes memory.
    pub const ROOM: usize = 4 << 30;

    /// Begins to record below the folder `root`, which must exist.
    ///
    /// # Errors
    ///
    /// - Those of [`Watch::new`], and of reading the folder.
    /// - [`Unsupported`](io::ErrorKind::Unsupported) also for something below the root that is
    ///   no file, folder or symbolic link.
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy) also if the process has a writable
    ///   shared mapping of a file below the root.
    /// - [`OutOfMemory`](io::ErrorKind::OutOfMemory) if the room can't be reserved.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Recorder> {
        Recorder::with_room(root, Recorder::ROOM)
    }

    /// As [`Recorder::new`], with room for a record of `room` bytes. One that needs more is
    /// [`Incomplete`].
    ///
    /// # Errors
    ///
    /// Those of [`Recorder::new`].
    pub fn with_room(root: impl AsRef<Path>, room: usize) -> io::Result<Recorder> {
        let watch = Watch::new(root)?;
        let start = tape::begin(&watch, room)?;
        Ok(Recorder { watch, start })
    }

    /// The recorded folder, absolute and without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.watch.root()
    }

    /// How many ops are recorded so far: everything that this thread did before is among the
    /// first `mark` of [`Record::ops`]. Take it when something is acknowledged.
    #[must_use]
    pub fn mark(&self) -> usize {
        self.watch.slot.tape.ops.load(Acquire)
    }

    /// Sets the fault that is to be delivered, in the place of those set before, and begins to
    /// count its calls and the hits anew.
    pub fn inject(&self, fault: Fault) {
        tape::inject(&self.watch, |faults| faults.set(fault));
    }

    /// Sets a second fault, which strikes only behind the one that was
    /// [injected](Recorder::inject): its calls are counted from the first one's first hit, and the
    /// next that it can strike is number 1. So what a program does about a failed call fails as well.
    pub fn inject_then(&self, fault: Fault) {
        tape::inject(&self.watch, |faults| faults.set_second(fault));
    }

    /// How often faults were delivered since [`inject`](Recorder::inject).
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.watch.slot.tape.faults.hits()
    }

    /// Takes the faults away. [`hits`](Recorder::hits) stays.
    pub fn heal(&self) {
        tape::inject(&self.watch, Faults::heal);
    }

    /// Ends the recording, and checks that it is complete: the start with every op applied
    /// must be what the folder holds now, in names, types, lengths and every byte.
    ///
    /// # Errors
    ///
    /// [`Incomplete`] with the first reason: something changed without being seen (the
    /// [crate docs](crate) list the ways), a change that can't be recorded, no room left for
    /// the record, or a folder that can't be read.
    pub fn finish(mut self) -> Result<Record, Incomplete> {
        let start = std::mem::take(&mut self.start);
        let (start, ops) =
            tape::finish(&self.watch, start).map_err(|reason| Incomplete { reason })?;
        Ok(Record { start, ops })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        tape::end(&self.watch);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("root", &self.root())
            .field("ops", &self.mark())
            .finish_non_exhaustive()
    }
}
