//! Folds over events.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Kind};

/// A fold over the events of a session, with snapshots.
///
/// The state is written as JSON by serde. [`Session::project`](crate::Session::project) loads the
/// newest snapshot that is proven to belong to the log and folds in the rest; without any snapshot
/// it folds the whole log and gets the same (G11, G12).
///
/// ```
/// use sessionlog_core::*;
/// use serde::{Deserialize, Serialize};
///
/// /// How many events there are of each kind.
/// #[derive(Default, Serialize, Deserialize)]
/// struct Count(std::collections::BTreeMap<Kind, u64>);
///
/// impl Projection for Count {
///     const NAME: &'static str = "count";
///     const VERSION: u32 = 1;
///     fn apply(&mut self, event: &Event) {
///         *self.0.entry(event.kind.clone()).or_default() += 1;
///     }
/// }
/// ```
pub trait Projection: Default + Serialize + DeserializeOwned + Send + 'static {
    /// The name that snapshots are kept under: a [`Kind`].
    const NAME: &'static str;

    /// The version of the state's encoding and of the fold: a new one for every change of either,
    /// so that snapshots of the old one are not believed.
    const VERSION: u32;

    /// Folds in the next event. Payloads of other writers may not fit: pass over them, never fail.
    fn apply(&mut self, event: &Event);
}

/// A projection's state and how far it reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Projected<P> {
    /// The state.
    pub state: P,
    /// The verified end of the log that is folded in.
    pub head: crate::Head,
    /// Events that were read to get here: those behind the snapshot, or all.
    pub folded: u64,
}

pub(crate) fn name_of<P: Projection>() -> crate::Result<Kind> {
    Kind::new(P::NAME)
}
