//! What a watch has counted.

/// Calls counted below one root, by kind.
///
/// Every numbered call that succeeded is in exactly one of the fields from
/// [`creates`](Counts::creates) to [`system_flushes`](Counts::system_flushes);
/// one that returned an error is in [`failed`](Counts::failed) and nowhere
/// else. So [`Counts::calls`] is the number of calls that
/// [`Watch::stop_at`](crate::Watch::stop_at) counts by, less those that are
/// still running.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # if sessionlog_crashfs::armed().is_err() { return Ok(()); }
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let watch = sessionlog_crashfs::Watch::new(folder.path())?;
/// let mut file = std::fs::File::create(folder.path().join("log"))?;
///
/// let before = watch.counts();
/// file.write_all(b"one commit\n")?;
/// file.sync_data()?;
/// let commit = watch.counts().since(&before);
///
/// assert_eq!((commit.writes, commit.bytes_written, commit.flushes()), (1, 11, 1));
/// assert_eq!(commit.calls(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Files that came into being: `O_CREAT` on a name that was not there, and `O_TMPFILE`.
    pub creates: u64,
    /// Write calls, whatever their size: `write`, `pwrite`, `writev`, `pwritev`, `pwritev2`.
    pub writes: u64,
    /// Bytes that those write calls took, as the kernel answered.
    pub bytes_written: u64,
    /// Changes of a file's size: `ftruncate`, `truncate`, and `O_TRUNC` on a file that was there.
    pub truncates: u64,
    /// `fallocate` and `posix_fallocate`, in every mode.
    pub allocations: u64,
    /// Renames with their old or new name below the root.
    pub renames: u64,
    /// New names for something else: hard links and symbolic links.
    pub links: u64,
    /// Removed names of files.
    pub unlinks: u64,
    /// New folders.
    pub mkdirs: u64,
    /// Removed folders.
    pub rmdirs: u64,
    /// `fsync` of a file.
    pub fsyncs: u64,
    /// `fdatasync` of a file.
    pub fdatasyncs: u64,
    /// `fsync` or `fdatasync` of a folder, the root included.
    pub folder_flushes: u64,
    /// `msync` of a mapped file.
    pub map_flushes: u64,
    /// `sync_file_range`, which promises nothing about a power loss.
    pub range_flushes: u64,
    /// `sync` by anybody in the process, and `syncfs` on a file below the root.
    pub system_flushes: u64,
    /// Numbered calls that returned an error.
    pub failed: u64,
    /// Writable shared mappings that were made (not numbered). Stores through
    /// them are no calls: with one of these, `writes` is not the whole story.
    pub shared_maps: u64,
    /// Calls whose place could not be found out, most often because the
    /// process had no file descriptor left (not numbered). Not zero: not measured.
    pub unresolved: u64,
}

impl Counts {
    /// Flushes of a file's contents: `fsync`, `fdatasync` and `msync`.
    /// Flushes of folders are in [`folder_flushes`](Counts::folder_flushes).
    #[must_use]
    pub fn flushes(&self) -> u64 {
        self.fsyncs + self.fdatasyncs + self.map_flushes
    }

    /// All numbered calls that have returned, failed ones too.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.flushes()
            + self.creates
            + self.writes
            + self.truncates
            + self.allocations
            + self.renames
            + self.links
            + self.unlinks
            + self.mkdirs
            + self.rmdirs
            + self.folder_flushes
            + self.range_flushes
            + self.system_flushes
            + self.failed
    }

    /// What was counted after `earlier`, a snapshot of the same watch.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            creates: self.creates.saturating_sub(earlier.creates),
            writes: self.writes.saturating_sub(earlier.writes),
            bytes_written: self.bytes_written.saturating_sub(earlier.bytes_written),
            truncates: self.truncates.saturating_sub(earlier.truncates),
            allocations: self.allocations.saturating_sub(earlier.allocations),
            renames: self.renames.saturating_sub(earlier.renames),
            links: self.links.saturating_sub(earlier.links),
            unlinks: self.unlinks.saturating_sub(earlier.unlinks),
            mkdirs: self.mkdirs.saturating_sub(earlier.mkdirs),
            rmdirs: self.rmdirs.saturating_sub(earlier.rmdirs),
            fsyncs: self.fsyncs.saturating_sub(earlier.fsyncs),
            fdatasyncs: self.fdatasyncs.saturating_sub(earlier.fdatasyncs),
            folder_flushes: self.folder_flushes.saturating_sub(earlier.folder_flushes),
            map_flushes: self.map_flushes.saturating_sub(earlier.map_flushes),
            range_flushes: self.range_flushes.saturating_sub(earlier.range_flushes),
            system_flushes: self.system_flushes.saturating_sub(earlier.system_flushes),
            failed: self.failed.saturating_sub(earlier.failed),
            shared_maps: self.shared_maps.saturating_sub(earlier.shared_maps),
            unresolved: self.unresolved.saturating_sub(earlier.unresolved),
        }
    }
}
