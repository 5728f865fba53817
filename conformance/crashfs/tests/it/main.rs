//! Every call is counted where it belongs, and a stop comes where it was asked for.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test may fail as the test does"
)]

// Elsewhere there is nothing to count: `system` checks that it says so.
mod system;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod busy;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod children;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod faults;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod incomplete;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kill;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod maps;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod random;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod raw_calls;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod raw_records;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod records;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod refusals;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod scope;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod std_calls;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod stores;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tempfiles;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod trees;
