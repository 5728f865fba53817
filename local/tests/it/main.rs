//! What every store on a local disk rests on.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests: what is unexpected is to end them"
)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod durable;
mod files;
mod locks;
