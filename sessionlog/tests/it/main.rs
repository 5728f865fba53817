//! The facade and the rules of the workspace.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "these are tests: what is unexpected is to end them"
)]

// Tests over all backends need all features. `cargo test --workspace` has them on: the program
// enables each, and Cargo builds a package once with the features of all who use it. By itself it
// is `cargo test -p sessionlog --all-features`.
#[cfg(all(
    feature = "jsonl",
    feature = "redb",
    feature = "sqlite",
    target_os = "linux"
))]
mod blobs;
#[cfg(all(feature = "jsonl", feature = "redb", feature = "sqlite"))]
mod ring;
mod tidy;
mod url;
#[cfg(all(feature = "jsonl", feature = "redb", feature = "sqlite"))]
mod variety;
