//! From a URL to an object store that is fit to hold sessions.

mod clear;
#[cfg(feature = "_cloud")]
mod clouds;
pub(crate) mod folder;
pub(crate) mod guard;
mod location;
mod open;
pub(crate) mod probe;
#[cfg(feature = "s3")]
mod profile;
#[cfg(feature = "_cloud")]
mod runtime;
mod settings;
pub(crate) mod told;

pub use folder::Folder;
pub use location::Location;
