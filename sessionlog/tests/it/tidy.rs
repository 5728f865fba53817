//! The workspace keeps its shape: arrows, file sizes, forgotten tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// From each package, the packages of the workspace that it may depend on; then those it may
/// depend on for its tests alone.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("sessionlog-core", &[], &[]),
    ("sessionlog-crashfs", &[], &[]),
    ("sessionlog-testkit", &["sessionlog-core"], &[]),
    (
        "sessionlog-local",
        &["sessionlog-core"],
        &["sessionlog-crashfs"],
    ),
    (
        "sessionlog-conformance",
        &["sessionlog-core", "sessionlog-crashfs"],
        // Itself, with every feature; the stores of the README's matrix.
        &[
            "sessionlog-conformance",
            "sessionlog-backend-jsonl",
            "sessionlog-backend-redb",
            "sessionlog-backend-s3",
            "sessionlog-backend-sqlite",
        ],
    ),
    (
        "sessionlog-backend-jsonl",
        &["sessionlog-core", "sessionlog-local"],
        &[
            "sessionlog-conformance",
            "sessionlog-crashfs",
            "sessionlog-testkit",
        ],
    ),
    (
        "sessionlog-backend-sqlite",
        &["sessionlog-core", "sessionlog-local"],
        &[
            "sessionlog-conformance",
            "sessionlog-crashfs",
            "sessionlog-testkit",
        ],
    ),
    (
        "sessionlog-backend-redb",
        &["sessionlog-core", "sessionlog-local"],
        &[
            "sessionlog-conformance",
            "sessionlog-crashfs",
            "sessionlog-testkit",
        ],
    ),
    (
        "sessionlog-backend-s3",
        &["sessionlog-core"],
        // Itself, with every cloud.
        &[
            "sessionlog-conformance",
            "sessionlog-crashfs",
            "sessionlog-backend-s3",
            "sessionlog-testkit",
        ],
    ),
    (
        "sessionlog",
        &[
            "sessionlog-core",
            "sessionlog-backend-jsonl",
            "sessionlog-backend-redb",
            "sessionlog-backend-s3",
            "sessionlog-backend-sqlite",
        ],
        &[],
    ),
    // The one program with the suite: no library links it but for its tests.
    (
        "sessionlog-cli",
        &["sessionlog", "sessionlog-conformance"],
        &[],
    ),
];

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn no_crate_depends_on_one_that_it_may_not_know() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    let allowed: BTreeMap<&str, _> = ARROWS.iter().map(|(p, n, d)| (*p, (*n, *d))).collect();
    assert_eq!(
        ours,
        allowed.keys().copied().collect(),
        "a package has no row in ARROWS"
    );
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let (normal, dev) = allowed[name];
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let for_tests = dependency["kind"] == "dev";
            let known = normal.contains(&to) || (for_tests && dev.contains(&to));
            assert!(!ours.contains(to) || known, "{name} -> {to}");
        }
    }
}

fn sources() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(ROOT)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
                folders.push(entry.path());
            } else if kind.is_file() && name.ends_with(".rs") {
                files.push(entry.path());
            }
        }
    }
    files
}

#[test]
fn no_file_is_longer_than_a_person_reads_at_once() {
    let sources = sources();
    assert!(sources.len() > 50, "the workspace was not found");
    for file in sources {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines", file.display());
    }
}

#[test]
fn no_test_file_is_forgotten() {
    for file in sources() {
        let folder = file.parent().unwrap();
        let main = folder.join("main.rs");
        if folder.ends_with("tests/it") && file != main {
            let module = file.file_stem().unwrap().to_str().unwrap();
            let main = std::fs::read_to_string(main).unwrap();
            assert!(
                main.contains(&format!("mod {module};")),
                "{}",
                file.display()
            );
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_one_crate_that_needs_it() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let text = std::fs::read_to_string(manifest).unwrap();
        let inherits = text.contains("[lints]\nworkspace = true");
        let exempt = package["name"] == "sessionlog-crashfs";
        assert!(inherits != exempt, "{}", manifest.display());
    }
}

/// What a build of the facade with these features compiles, with the features of each.
fn compiled(features: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package=sessionlog",
            "--edges=normal",
        ])
        .args(["--no-default-features", "--features", features])
        .args(["--prefix=none", "--format={p} [{f}]"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nobody_compiles_a_cloud_that_they_do_not_use() {
    const CLOUDS: [(&str, &str); 3] = [("s3", "aws"), ("gcs", "gcp"), ("azure", "azure")];
    for local in ["", "jsonl,sqlite,redb"] {
        let tree = compiled(local);
        for name in ["object_store ", "tokio ", "reqwest "] {
            assert!(!tree.contains(name), "{name} in {local:?}");
        }
    }
    for (feature, wanted) in CLOUDS {
        let tree = compiled(feature);
        let store = tree.lines().find(|line| line.starts_with("object_store "));
        let (_, features) = store.unwrap().split_once(" [").unwrap();
        let features: Vec<_> = features.trim_end_matches(']').split(',').collect();
        for (_, cloud) in CLOUDS {
            assert_eq!(features.contains(&cloud), cloud == wanted, "{features:?}");
        }
        // TLS is rustls, so that no library of the system is needed.
        for name in ["openssl-sys", "native-tls"] {
            assert!(!tree.contains(name), "{name} in {feature}");
        }
    }
}
