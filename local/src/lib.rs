//! What session stores on a local disk share.
//!
//! - [`files`]: files and folders that are private to their owner whatever the umask, that are never
//!   reached through a symbolic link, and whose names are durable;
//! - [`lock`]: locks of the operating system, which end with the process that holds them, and can be
//!   looked at without being taken where the system allows it;
//! - [`look`]: what a file is, found out without a cost for who writes to it;
//! - [`anew`]: what a flush that failed may have lost, written once more;
//! - [`gaps`]: going over a tree of which parts can't be read.

pub mod anew;
pub mod files;
pub mod gaps;
pub mod lock;
pub mod look;
