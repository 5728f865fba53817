//! L2: random commands, on the backend and on the reference backend side by side.

mod command;
mod laws;
mod seen;
mod shrink;
mod strategy;
mod world;

pub(crate) use command::Command;
pub(crate) use laws::{LAWS, random_seed};
pub(crate) use shrink::fewest;
