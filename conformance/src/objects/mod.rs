//! L8: object stores that lose, delay, repeat and spoil requests.
//!
//! [`Faulty`] does so as it is told, [`Counted`] counts requests and [`Slow`] delays answers, each
//! around any [`ObjectStore`](object_store::ObjectStore). The laws of L8 run on every subject of
//! [`Medium::ObjectStore`](crate::Medium::ObjectStore); the wrappers are as good for tests and
//! benchmarks of your own.

mod cloud;
mod request;
mod upload;
mod wrapped;
mod wrappers;

pub use request::{Fault, Op, Request};
pub use wrapped::{Watch, Wrapped};
pub use wrappers::{Counted, Counter, Counts, Faulty, Latency, Slow, Verdicts};
