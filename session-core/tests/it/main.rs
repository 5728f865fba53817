//! What users hold, on the memory backend: one binary, one module a topic.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that can't go on fails"
)]

mod cards;
mod chain;
mod copy;
mod damage;
mod driver;
mod follow;
mod ledger;
mod projection;
mod settle;
mod transcript_compact;
mod transcript_fork;
mod transcript_imported;
mod transcript_logs;
mod transcript_states;
mod transcript_valid;
mod transcript_wake;
mod wrapper;
