//! The backend from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that can't go on fails"
)]

mod ahead;
mod begun;
mod blobs;
mod conformance;
mod deletion;
mod folder;
mod garbage;
mod gcs;
mod golden;
mod grants;
mod late;
mod location;
mod objects;
mod overtaken;
mod repair;
mod requests;
mod runtimes;
mod scale;
mod sealed;
mod servers;
mod storm;
mod stub;
mod vanished;
mod verified;
mod whole;
mod wrong_server;
