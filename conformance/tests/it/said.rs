//! What a subject and the options say beforehand: known failures, what need not be measured, places.
#![expect(
    clippy::unwrap_used,
    reason = "what subjects of tests do stands outside of test functions"
)]

use std::path::Path;
use std::sync::Mutex;

use sessionlog_conformance::{Medium, Options, Place, Subject, run_some};
use sessionlog_core::{Limits, Memory, Result};

use crate::custom_backend::Mine;

const LIMITS: [&str; 2] = [
    "g13_too_large_events_are_refused_with_figures",
    "g13_too_large_batches_are_refused_with_figures",
];

/// Has no such limits as it says, and knows it of one law; says it of one more that is upheld.
struct Candid;

impl Subject for Candid {
    type Backend = Memory;
    const MEDIUM: Medium = Medium::Memory;
    const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[
        (LIMITS[0], "events are limited by the disk"),
        ("g01_positions_are_dense_from_zero", "it was so once"),
    ];

    async fn open(place: &Place) -> Result<Memory> {
        Ok(place.keep(Memory::new))
    }

    fn limits() -> Limits {
        Limits::DEFAULT
            .with_event_bytes(1 << 10)
            .with_batch_events(100)
            .with_batch_bytes(2 << 10)
    }
}

#[test]
fn a_known_failure_is_green_until_it_passes() {
    let report = run_some::<Candid>(&Options::smoke(), |law| law.id.starts_with("g13_too"));
    let [known, failed] = &report.outcomes[..] else {
        panic!("{report}");
    };
    assert_eq!(known.verdict.name(), "known", "{report}");
    assert_eq!(
        known.verdict.reason(),
        Some("events are limited by the disk")
    );
    assert_eq!(failed.verdict.name(), "FAILED", "{report}");
    assert_eq!(report.failed(), [LIMITS[1]]);
    let report = run_some::<Candid>(&Options::smoke(), |law| law.id.starts_with("g01_pos"));
    assert!(!report.is_green(), "{report}");
    assert!(report.to_string().contains("take it out of KNOWN_FAILURES"));
}

#[test]
fn what_is_not_measured_is_red_unless_it_is_allowed_by_name() {
    const LAW: &str = "g03_kills_at_any_time_leave_a_prefix";
    let options = Options::smoke();
    let report = run_some::<Mine>(&options, |law| law.id == LAW);
    assert_eq!(report.count("NOT MEASURED"), 1, "{report}");
    assert!(!report.is_green());
    let report = run_some::<Mine>(&options.allow_unmeasured([LAW]), |law| law.id == LAW);
    assert_eq!(report.count("skipped"), 1, "{report}");
    assert!(report.is_green());
}

#[test]
fn each_failure_is_saved_with_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::smoke()
        .with_artefacts(folder.path())
        .with_rerun("run it's {law}");
    let report = run_some::<Candid>(&options, |law| law.id.starts_with("g13_too"));
    let failed = &report.outcomes[1];
    let file = failed.artefact.clone().unwrap();
    assert_eq!(
        Path::new(&file),
        folder.path().join(format!("Candid.{}.json", LIMITS[1]))
    );
    let again = format!(
        "SESSIONLOG_CONFORMANCE_REPLAY={file} run it's {}",
        LIMITS[1]
    );
    assert_eq!(failed.replay.as_ref(), Some(&again));
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(saved["law"], LIMITS[1]);
    assert_eq!(saved["subject"], "Candid");
    let page: Vec<_> = saved["page"].as_array().unwrap().iter().collect();
    assert!(
        page[0]
            .as_str()
            .unwrap()
            .starts_with("FAILED         L1 g13_too"),
        "{page:?}"
    );
    // A failure of a law alone is replayed by the law.
    let again = run_some::<Candid>(&Options::smoke().with_replay(&file), |law| {
        law.id == LIMITS[1]
    });
    assert_eq!(again.failed(), [LIMITS[1]]);
}

#[test]
#[should_panic(expected = "laws without a test: [\"l0_the_place_is_used\", ")]
fn a_law_that_the_macro_forgets_is_red() {
    sessionlog_conformance::test_matrix::<Candid>("it::said", &["l0_places_are_apart"]);
}

static SEEN: Mutex<Vec<(std::path::PathBuf, Option<String>)>> = Mutex::new(Vec::new());

struct Placed;

impl Subject for Placed {
    type Backend = Memory;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Memory> {
        let base = place.base().map(str::to_owned);
        SEEN.lock().unwrap().push((place.dir().to_owned(), base));
        Ok(place.keep(Memory::new))
    }
}

#[test]
fn places_are_made_below_the_folder_that_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::smoke()
        .with_place_root(folder.path())
        .with_base("s3:mine");
    let report = run_some::<Placed>(&options, |law| law.id == "l0_places_are_apart");
    assert!(report.is_green(), "{report}");
    let seen = SEEN.lock().unwrap();
    assert!(seen.len() > 1);
    for (dir, base) in seen.iter() {
        assert!(dir.starts_with(folder.path()), "{dir:?}");
        assert_eq!(base.as_deref(), Some("s3:mine"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_taken_away_breaks_the_run_and_leaves_no_page() {
    static ROOT: Mutex<Option<std::path::PathBuf>> = Mutex::new(None);
    struct Swept;
    impl Subject for Swept {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Memory;
        async fn open(place: &Place) -> Result<Memory> {
            std::fs::remove_dir_all(ROOT.lock().unwrap().as_ref().unwrap()).unwrap();
            Ok(place.keep(Memory::new))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    *ROOT.lock().unwrap() = Some(root.clone());
    let pages = folder.path().join("pages");
    let options = Options::smoke()
        .with_place_root(&root)
        .with_artefacts(&pages);
    let report = run_some::<Swept>(&options, |law| law.id == "l0_places_are_apart");
    assert_eq!(report.count("HARNESS BROKEN"), 1, "{report}");
    assert!(!pages.exists());
}
