//! L8: object stores that lose, delay, repeat and spoil requests.
//!
//! [`Faulty`] does so as it is told, [`Counted`] counts requests and [`Slow`] delays answers, each
//! around any [`ObjectStore`](object_store::ObjectStore). The laws of L8 run on every subject of
//! [`Medium::ObjectStore`](crate::Medium::ObjectStore); the wrappers are as good for tests and
//! benchmarks of your own.
//!
//! ```
//! use std::sync::Arc;
//! use object_store::ObjectStore;
//! use sessionlog_conformance::{Medium, Place, Subject};
//! use sessionlog_core::Result;
//! # use sessionlog_core::Memory as MyBackend;
//! # trait Open { async fn open(_: Arc<dyn ObjectStore>, _: &str, _: Tries) -> Result<MyBackend> {
//! #     Ok(MyBackend::new())
//! # } }
//! # impl Open for MyBackend {}
//! # struct Tries(u32);
//!
//! struct Mine;
//!
//! impl Subject for Mine {
//!     type Backend = MyBackend;
//!     const MEDIUM: Medium = Medium::ObjectStore;
//!
//!     async fn open(place: &Place) -> Result<MyBackend> {
//!         let store: Arc<dyn ObjectStore> = place.objects();
//!         MyBackend::open(store, place.name(), Tries(3)).await
//!     }
//! }
//! # let place = Mine::open;
//! # let _ = place;
//! ```
//!
//! Open it so that what is dangerous happens often: few tries and no pause between them, small
//! thresholds for whatever is merged, sealed or collected. A deadline for requests must be long: in
//! worlds of several writers a request waits for its turn, by no clock.

mod acts;
mod blobs;
mod cloud;
mod conductor;
mod dropped;
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

pub(crate) use blobs::*;
pub(crate) use dropped::*;
pub(crate) use explore::Script;
pub(crate) use outage::*;
pub use request::{Fault, Op, Request};
pub use stage::Stage;
pub(crate) use unfit::*;
pub(crate) use works::*;
pub(crate) use worlds::*;
pub use wrapped::{Watch, Wrapped};
pub use wrappers::{Counted, Counter, Counts, Faulty, Latency, Slow, Verdicts};
