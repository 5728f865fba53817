use super::*;

fn outcome(law: &'static str, guarantee: &str, level: Level, verdict: Verdict) -> Outcome {
    Outcome {
        law,
        guarantee: guarantee.to_owned(),
        level,
        statement: "It holds.",
        verdict,
        trail: Vec::new(),
        artefact: None,
        replay: None,
        sometimes: BTreeMap::new(),
        hints: Vec::new(),
        looked: 0.0,
    }
}

fn report() -> Report {
    let mut failed = outcome(
        "g10_b",
        "G10",
        Level::Kill,
        Verdict::Failed("expected: 1\nobserved: 2".into()),
    );
    failed.trail = vec!["a open -> ok".into(), "a append s 0..1 -> 0..1".into()];
    failed.artefact = Some("f/Mine.g10_b.json".into());
    failed.replay = Some("again g10_b".into());
    let skipped = Verdict::Skipped("no".into());
    let outcomes = vec![
        outcome("g09_a", "G9", Level::Contract, Verdict::Passed),
        failed,
        outcome("g09_c", "G9", Level::Contract, skipped),
        outcome("g09_d", "G9", Level::Kill, Verdict::Known("it is".into())),
    ];
    Report::new("Mine", Budget::Smoke, outcomes)
}

#[test]
fn a_failure_is_a_page() {
    let text = report().to_string();
    let page = "FAILED         L3 g10_b\n  law      It holds.\n  expected: 1\n  observed: 2\n  \
                what was done:\n    1  a open -> ok\n    2  a append s 0..1 -> 0..1\n  \
                saved    f/Mine.g10_b.json\n  again    again g10_b\n";
    assert!(text.contains(page), "{text}");
    assert!(text.contains("\nskipped        L1 g09_c: no\n"), "{text}");
    assert!(text.ends_with(
        "4 laws: 1 passed, 1 failed, 1 known, 1 skipped, 0 not measured, 0 harness broken"
    ));
}

#[test]
fn the_matrix_counts_by_guarantee_and_level() {
    let table = report().to_markdown();
    let rows =
        "| | L1 | L3 |\n|---|---|---|\n| G9 | 1 ok, 1 skipped | 1 known |\n| G10 |  | 1 RED |\n";
    assert!(table.contains(rows), "{table}");
    let row = report().by_level();
    let cells = ["1 ok, 1 skipped", "1 known, 1 RED"].map(str::to_owned);
    let levels = [Level::Contract, Level::Kill];
    assert_eq!(row, levels.into_iter().zip(cells).collect::<Vec<_>>());
    let text = report().to_string();
    let row = format!("\nG9   {:>20}{:>20}\n", "1 ok, 1 skipped", "1 known");
    assert!(text.contains(&row), "{text}");
}

#[test]
fn json_has_the_fields_of_the_readme() {
    let json: serde_json::Value = serde_json::from_str(&report().to_json()).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["budget"], "smoke");
    let failed = &json["outcomes"][1];
    assert_eq!(failed["verdict"], "failed");
    assert_eq!(failed["reason"], "expected: 1\nobserved: 2");
    assert_eq!(failed["level"], "L3");
    assert_eq!(json["outcomes"][0]["verdict"], "passed");
    assert_eq!(json["outcomes"][0].get("reason"), None);
    assert_eq!(json["outcomes"][3]["verdict"], "known");
}

#[test]
fn only_what_is_wrong_and_not_known_is_red() {
    let mut report = report();
    assert!(!report.is_green());
    assert_eq!(report.failed(), ["g10_b"]);
    report.outcomes.remove(1);
    assert!(report.is_green());
    for red in [
        Verdict::NotMeasured("why".into()),
        Verdict::HarnessBroken("why".into()),
    ] {
        report.outcomes[0].verdict = red;
        assert!(!report.is_green());
    }
    report.outcomes.clear();
    assert!(!report.is_green());
}
