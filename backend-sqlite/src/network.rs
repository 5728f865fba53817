//! File systems on which SQLite's write-ahead log does not work.

use std::path::Path;

use sessionlog_core::{Error, Result};

/// Refuses a folder on a network file system: its processes share no memory, and its locks and flushes
/// mean too little.
pub(crate) fn refuse(folder: &Path) -> Result<()> {
    match network(folder) {
        Some(name) => Err(Error::unsupported(format!(
            "SQLite's write-ahead log does not work on a network file system, which {} is ({name}): \
             use a local disk, or an object store",
            folder.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn network(folder: &Path) -> Option<&'static str> {
    name(nix::sys::statfs::statfs(folder).ok()?.filesystem_type())
}

#[cfg(not(target_os = "linux"))]
fn network(_folder: &Path) -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
fn name(kind: nix::sys::statfs::FsType) -> Option<&'static str> {
    use nix::sys::statfs::{
        AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, FsType, NCP_SUPER_MAGIC, NFS_SUPER_MAGIC,
        SMB_SUPER_MAGIC,
    };
    // From linux/magic.h and fs/smb, as far as libc has no names for them.
    let others = [
        (FsType(0xff53_4d42), "CIFS"),
        (FsType(0xfe53_4d42), "SMB2"),
        (FsType(0x00c3_6400), "CephFS"),
        (FsType(0x0102_1997), "9P"),
        (FsType(0x0bd0_0bd0), "Lustre"),
        (FsType(0x4750_4653), "GPFS"),
        (FsType(0x0131_11a8), "IBRIX"),
        (FsType(0x0116_1970), "GFS2"),
    ];
    let named = [
        (NFS_SUPER_MAGIC, "NFS"),
        (SMB_SUPER_MAGIC, "SMB"),
        (AFS_SUPER_MAGIC, "AFS"),
        (CODA_SUPER_MAGIC, "Coda"),
        (NCP_SUPER_MAGIC, "NCP"),
    ];
    let known = named.into_iter().chain(others);
    known.into_iter().find(|(k, _)| *k == kind).map(|(_, n)| n)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        use nix::sys::statfs::{EXT4_SUPER_MAGIC, FsType, NFS_SUPER_MAGIC};
        assert_eq!(name(NFS_SUPER_MAGIC), Some("NFS"));
        assert_eq!(name(FsType(0xfe53_4d42)), Some("SMB2"));
        assert_eq!(name(EXT4_SUPER_MAGIC), None);
        assert!(refuse(&std::env::temp_dir()).is_ok());
    }
}
