//! What the crate says about the system and the build.

use sessionlog_crashfs::{Watch, armed};

#[test]
fn linux_is_armed_and_elsewhere_it_says_why_not() {
    let armed = armed();
    if cfg!(all(
        target_os = "linux",
        target_env = "gnu",
        target_pointer_width = "64"
    )) {
        armed.unwrap();
    } else {
        let reason = armed.unwrap_err().to_string();
        assert!(reason.contains("not measured"), "{reason}");
        let error = Watch::new(std::env::temp_dir()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    }
}

#[test]
fn every_file_here_is_a_module() {
    let main = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            stem == "main" || main.contains(&format!("mod {stem};")),
            "{stem} is no module"
        );
    }
}
