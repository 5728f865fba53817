//! The conformance suite of sessionlog: any backend, tested with about ten lines of its author's
//! code and none in the backend.
#![doc = include_str!("../README.md")]

// The tutorial names the crate as its readers do.
extern crate self as sessionlog_conformance;

mod artefact;
mod bench;
mod breach;
mod damage;
mod dump;
mod errors;
mod files;
mod kill;
mod known;
mod law;
mod laws;
mod macros;
mod make;
mod model;
#[cfg(feature = "objects")]
pub mod objects;
mod options;
mod patience;
mod place;
mod power;
mod race;
mod report;
mod run;
mod stack;
mod subject;
mod talk;
mod tests;
mod told;
mod trace;
mod under_way;

pub use kill::child::child;
pub use law::{Law, Level};
pub use laws::laws;
pub use options::{Budget, ChildCommand, Options, UnknownName};
pub use place::Place;
pub use report::{Outcome, Report, Verdict};
pub use run::{run, run_each, run_some};
pub use subject::{Capability, Medium, Subject};
#[doc(hidden)]
pub use tests::{test_law, test_matrix};
