//! The redb backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "these are tests: what is unexpected is to end them"
)]

mod cases;
mod conformance;
mod damage;
mod flushes;
mod golden;
mod pages;
mod processes;
mod undone;
mod upkeep;
mod util;
