use serde_json::json;

use crate::import_support;
use crate::support::World;

#[test]
fn each_action_says_who_decided_and_by_which_rule() {
    let world = World::new();
    world.session(
        "s1",
        &[
            (
                "permission.requested",
                r#"{"id":"p1","tool":"bash","detail":"git push"}"#,
            ),
            (
                "permission.requested",
                r#"{"id":"p2","tool":"write","detail":"a.rs"}"#,
            ),
            (
                "permission.resolved",
                r#"{"id":"p2","allowed":true,"rule":"*.rs","by":"person"}"#,
            ),
            (
                "permission.resolved",
                r#"{"id":"p3","allowed":false,"rule":"rm *"}"#,
            ),
            // A resolution without a word on it is no consent.
            ("permission.requested", r#"{"id":"p4"}"#),
            ("permission.resolved", r#"{"id":"p4"}"#),
        ],
    );
    assert_eq!(
        world.run("audit s1").ok(),
        "\
s1: 4 actions, 1 granted, 2 refused, 1 pending
  pending bash git push · p1 · asked #0
  granted write a.rs · p2 · rule *.rs · by person · asked #1 · decided #2
  refused  · p3 · rule rm * · decided #3 · nobody was asked
  refused  · p4 · asked #4 · decided #5
"
    );
    let rows = world.run("audit s1 --pending --json").json();
    assert_eq!(
        rows,
        [json!({
            "id": "p1", "state": "pending", "tool": "bash", "detail": "git push", "rule": null,
            "by": null, "asked": 0, "resolved": null, "source": "permission"
        })]
    );
}

#[test]
fn refused_calls_of_imported_sessions_are_told() {
    let files = import_support::Files::new();
    let outcome = files.bring("refused.jsonl", import_support::data("own/refused.jsonl"));
    let world = World {
        store: files.store.clone(),
        ..World::new()
    };
    let id = outcome.session.unwrap();
    let rows = world.run(&format!("audit {id} --json")).json();
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["tool"].as_str().unwrap(),
                &row["by"],
                &row["detail"],
                &row["rule"],
            )
        })
        .collect();
    let null = json!(null);
    assert_eq!(
        told,
        [
            (
                "Bash",
                &json!("person"),
                &json!("use git mv instead"),
                &null
            ),
            (
                "Write",
                &json!("rule"),
                &json!("Auto mode is not available."),
                &json!("automode-unavailable")
            ),
        ]
    );
}
