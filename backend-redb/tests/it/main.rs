//! The redb backend, by class of what can happen to it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "these are tests: what is unexpected is to end them"
)]

mod cases;
mod conformance;
mod damage;
mod golden;
mod pages;
mod processes;
mod upkeep;
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
