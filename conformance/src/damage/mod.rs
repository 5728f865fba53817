//! L6: every file of a store, damaged: the right answer or an error.
//!
//! A store is built in stages, closed, and its folder kept after each; then it is opened again,
//! written on, and its folder copied while it is open, as a killed process leaves it. Each state is
//! one of these folders with one harm done to one file. It is opened and read through the verified
//! path on a thread of its own, and what is seen is judged against what was acknowledged.

mod built;
mod explore;
mod harm;
mod judge;
mod laws;
mod look;
mod mend;
mod plan;
mod tree;
mod verified;
mod write;

pub(crate) use explore::Harmed;
pub(crate) use laws::LAWS;
