//! The program as its users meet it: in process on a store in memory, and as a process on files.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests stand outside of test functions"
)]

mod append;
mod audit;
#[cfg(all(feature = "jsonl", feature = "redb", feature = "sqlite"))]
mod backends;
#[cfg(all(feature = "jsonl", feature = "sqlite", feature = "hooks"))]
mod conformance;
#[cfg(all(feature = "jsonl", feature = "redb", feature = "sqlite"))]
mod copy;
#[cfg(feature = "jsonl")]
mod damage;
#[cfg(feature = "jsonl")]
mod demo;
#[cfg(feature = "jsonl")]
mod export;
#[cfg(feature = "jsonl")]
mod files;
mod fork;
mod import_again;
mod import_corpus;
mod import_damage;
mod import_scan;
mod import_support;
#[cfg(feature = "jsonl")]
mod importing;
mod input;
mod ls;
#[cfg(feature = "jsonl")]
mod manual;
#[cfg(feature = "jsonl")]
mod memory;
mod moves;
#[cfg(feature = "jsonl")]
mod pipes;
#[cfg(feature = "jsonl")]
mod places;
mod replay_corpus;
mod replay_moved;
mod replay_shapes;
mod rm;
mod show;
#[cfg(feature = "jsonl")]
mod show_damaged;
mod stats;
mod support;
mod tail;
mod verify;
mod wake;
