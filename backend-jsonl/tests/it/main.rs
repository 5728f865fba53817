//! The JSONL backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "these are tests: what is unexpected is to end them"
)]

mod basics;
mod beside;
mod changed;
mod conformance;
mod damage;
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod flushes;
mod full;
mod golden;
mod leases;
mod list;
mod processes;
mod refused;
mod repair;
mod torn;
mod util;

/// A file of tests that no `mod` names would never run.
#[test]
fn every_file_here_is_a_module() {
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        let named = main.contains(&format!("\nmod {module};"));
        assert!(named || name == "main.rs", "{name}");
    }
}
