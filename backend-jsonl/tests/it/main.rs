//! The JSONL backend, by class of what can happen to it.

mod basics;
mod util;
