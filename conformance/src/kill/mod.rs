//! L3: another process, killed at any of its file calls, or whenever.

pub(crate) mod child;
mod explore;
mod laws;
pub(crate) mod oracle;
mod parent;
mod processes;
mod turn;
pub(crate) mod work;

pub(crate) use child::{Told, tell};
pub(crate) use explore::happened;
pub(crate) use laws::{LAWS, group_is_whole};
pub(crate) use parent::{Ended, Process};
pub(crate) use processes::LAWS as PROCESS_LAWS;
pub(crate) use turn::{LAWS as TURN_LAWS, resumes};
