//! Session logs in object storage.

mod blob;
mod bucket;
mod chunk;
mod claim;
mod codec;
mod commit;
mod delete;
mod follow;
mod head;
mod key;
mod lease;
mod list;
mod log;
mod marker;
mod objects;
mod options;
mod put;
mod read;
mod run;
mod seal;
mod seat;
mod site;
mod snapshot;
mod stored;
mod turn;
mod upkeep;
mod view;

pub use bucket::Bucket;
pub use options::Options;
pub use site::Location;
