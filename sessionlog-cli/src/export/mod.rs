//! Sessions, given out.

mod original;

pub use original::{Exported, original, sidecar, sidecars};
