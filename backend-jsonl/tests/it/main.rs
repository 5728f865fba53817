//! The JSONL backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "these are tests: what is unexpected is to end them"
)]

mod basics;
mod beside;
mod changed;
mod conformance;
mod damage;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod failed_flushes;
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod flushes;
mod full;
mod golden;
mod leases;
mod list;
mod processes;
mod refused;
mod repair;
mod torn;
mod util;
