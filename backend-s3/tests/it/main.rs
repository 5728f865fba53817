//! The backend from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't go on fails"
)]

mod conformance;
mod location;
mod runtimes;
mod stub;
mod wrong_server;
