//! The program as its users meet it: in process on a store in memory, and as a process on files.

mod append;
mod input;
mod ls;
mod rm;
mod show;
mod stats;
mod support;
mod tail;
mod verify;
mod wake;
