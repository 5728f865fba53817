//! L4: power loss at every call, with every choice of what reached the disk.

mod again;
mod content;
mod failure;
mod history;
mod image;
mod killed;
mod laws;
mod mutate;
mod names;
mod random;
mod recorded;
mod search;
mod walk;
mod work;

#[cfg(test)]
mod tests;

pub(crate) use failure::Failure;
pub(crate) use history::{Call, History, Mark};
pub(crate) use laws::LAWS;
pub(crate) use names::Keeping;
pub(crate) use recorded::{finish, recorder};
pub(crate) use search::{IMAGES, Search};
pub(crate) use work::{Judge, Work};
