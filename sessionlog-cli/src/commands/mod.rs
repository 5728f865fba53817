//! The commands, one file each.

pub(crate) mod append;
pub(crate) mod audit;
pub(crate) mod branches;
pub(crate) mod completions;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod gc;
pub(crate) mod head;
pub(crate) mod import;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod repair;
pub(crate) mod rm;
pub(crate) mod rollback;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tail;
pub(crate) mod verify;
pub(crate) mod wake;
