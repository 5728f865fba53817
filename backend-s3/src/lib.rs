//! Session logs in object storage.

mod site;

pub use site::Location;
