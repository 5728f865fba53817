//! A small object log: each head of a session is an object with a number that is created once, and
//! holds everything that was done to the session.
//!
//! A writer sits down by a fence: it lists, reads the newest head, creates a fence behind it and
//! lists again. From then on the next number is its own until somebody else has taken it. Old heads
//! are deleted; fences never are, since a number that is free again could be taken by somebody who
//! was asleep.
//!
//! It is as correct as it can be in few lines, and has a [`Flaw`] to break it by.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a log of tests that can't go on fails its test"
)]

mod backend;
mod heads;
mod log;
mod seat;

pub(crate) use log::{Flaw, HeadLog};
