//! Every call is counted where it belongs, and a stop comes where it was asked for.

// Elsewhere there is nothing to count: `system` checks that it says so.
mod system;

#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod raw_calls;
#[cfg(target_os = "linux")]
mod refusals;
#[cfg(target_os = "linux")]
mod scope;
#[cfg(target_os = "linux")]
mod std_calls;
#[cfg(target_os = "linux")]
mod tempfiles;
#[cfg(target_os = "linux")]
mod threads;
