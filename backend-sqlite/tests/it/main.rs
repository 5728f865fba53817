//! The SQLite backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "these are tests: what is unexpected is to end them"
)]

mod conformance;
mod damage;
mod disk;
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod flushes;
mod golden;
mod pages;
mod processes;
mod repair;
mod statements;
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
