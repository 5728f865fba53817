//! A crate outside of the workspace, as somebody else would write it, built and run.
#![expect(
    clippy::unwrap_used,
    reason = "a crate that can't be built fails its test"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");
/// What makes an append durable.
const FLUSH: &str = ".and_then(|()| file.sync_data())";

/// What reads every byte is too slow without optimization.
const FAST: &[&str] = &["memchr", "serde_json", "sha2", "twox-hash", "xxhash-rust"];

/// The crate, with the backend of the tutorial.
struct Crate(PathBuf);

impl Crate {
    fn new(name: &str, change: impl Fn(&str) -> String) -> Self {
        let from = Path::new(HERE).join("tests/third-party");
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_dir_all(&to));
        for folder in ["src", "tests"] {
            fs::create_dir_all(to.join(folder)).unwrap();
        }
        let test = "tests/conformance.rs";
        fs::copy(from.join(test), to.join(test)).unwrap();
        let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
        // Cargo tells such crates apart by their names alone, in one target folder.
        let manifest = manifest
            .replace("name = \"third-party\"", &format!("name = \"{name}\""))
            .replace(
                "\"../../../session-core\"",
                &format!("\"{HERE}/../session-core\""),
            )
            .replace("\"../..\"", &format!("\"{HERE}\""));
        fs::write(to.join("Cargo.toml"), manifest).unwrap();
        // The versions of the workspace: nothing has to be fetched.
        fs::copy(Path::new(HERE).join("../Cargo.lock"), to.join("Cargo.lock")).unwrap();
        let backend =
            fs::read_to_string(Path::new(HERE).join("examples/custom_backend.rs")).unwrap();
        let (backend, _) = backend
            .split_once("/// The author's side of the suite.")
            .unwrap();
        let backend: String = backend
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("use sessionlog_conformance::"))
            .collect();
        let backend = change(&backend.replace("pub(crate)", "pub"));
        fs::write(to.join("src/lib.rs"), backend).unwrap();
        Self(to)
    }

    /// Runs its tests: whether they passed, and what they printed.
    fn test(&self, filter: &str) -> (bool, String) {
        self.test_with(filter, None)
    }

    /// The same, with a saved failure that is to be seen again.
    fn test_with(&self, filter: &str, replay: Option<&Path>) -> (bool, String) {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["test", "--offline", "--test", "conformance"])
            // Its features are not the workspace's, so all that it needs is built for it: as fast as it gets.
            .args(["--config", "profile.dev.debug=false"]);
        for package in FAST {
            let config = format!("profile.dev.package.{package}.opt-level=3");
            command.args(["--config", &config]);
        }
        command.env_remove("SESSIONLOG_CONFORMANCE_REPLAY");
        if let Some(replay) = replay {
            command.env("SESSIONLOG_CONFORMANCE_REPLAY", replay);
        }
        let output = command
            .args(["--", filter])
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", target)
            .env("SESSIONLOG_CONFORMANCE_BUDGET", "smoke")
            .output()
            .unwrap();
        let told = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&told).into_owned(),
        )
    }
}

#[test]
fn a_good_backend_is_green() {
    let (green, told) = Crate::new("third-party-good", str::to_owned).test("");
    assert!(green, "{told}");
    for test in ["g08_fencing_stale_append_is_refused", "zz_matrix"] {
        assert!(told.contains(&format!("test {test} ... ok")), "{told}");
    }
}

#[test]
fn a_broken_one_is_red_with_the_law_it_breaks() {
    const LAW: &str = "g03_an_append_is_flushed_before_it_is_acknowledged";
    let forgets = Crate::new("third-party-broken", |backend| {
        assert!(backend.contains(FLUSH));
        backend.replace(FLUSH, "")
    });
    let (green, told) = forgets.test("g03_");
    assert!(!green, "{told}");
    assert!(told.contains(&format!("test {LAW} ... FAILED")), "{told}");
    assert!(
        told.contains("test g03_everything_survives_a_reopen ... ok"),
        "{told}"
    );
    // What is printed tells where it is saved and how to see it again.
    let saved = forgets
        .0
        .join(format!("conformance-failures/Mine.{LAW}.json"));
    assert!(saved.is_file(), "{told}");
    let again = format!(
        "again    SESSIONLOG_CONFORMANCE_REPLAY={} cargo test -p third-party-broken {LAW}",
        saved.display()
    );
    assert!(told.contains(&again), "{told}");
    // A power loss is seen again as it was, when what is printed is run.
    let power = "g03_power_loss_leaves_a_prefix";
    let saved = forgets
        .0
        .join(format!("conformance-failures/Mine.{power}.json"));
    let line = |told: &str| {
        let line = told.lines().find(|l| l.contains("the power went after"));
        line.map(|l| l.trim().trim_matches(['"', ',']).trim().to_owned())
    };
    let first = line(&fs::read_to_string(&saved).unwrap());
    let (green, told) = forgets.test_with(power, Some(&saved));
    assert!(!green, "{told}");
    assert!(first.is_some());
    assert_eq!(line(&told), first, "{told}");
}
