//! L8: object stores that lose, delay, repeat and spoil requests.
//!
//! [`Faulty`] does so as it is told, [`Counted`] counts requests and [`Slow`] delays answers, each
//! around any [`ObjectStore`](object_store::ObjectStore). The laws of L8 run on every subject of
//! [`Medium::ObjectStore`](crate::Medium::ObjectStore); the wrappers are as good for tests and
//! benchmarks of your own.

mod cloud;
mod conductor;
mod explore;
mod finish;
mod history;
mod look;
mod outage;
mod play;
mod request;
mod stage;
mod unfit;
mod upload;
mod works;
mod worlds;
mod wrapped;
mod wrappers;

pub(crate) use explore::Script;
pub(crate) use outage::*;
pub use request::{Fault, Op, Request};
pub(crate) use unfit::*;
pub(crate) use works::*;
pub(crate) use worlds::*;
pub use wrapped::{Watch, Wrapped};
pub use wrappers::{Counted, Counter, Counts, Faulty, Latency, Slow, Verdicts};
