//! The SQLite backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "these are tests: what is unexpected is to end them"
)]

mod conformance;
mod damage;
mod disk;
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod flushes;
mod golden;
mod pages;
mod processes;
mod repair;
mod statements;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod undone;
mod util;
