use super::*;

fn mapped(lines: &[&str]) -> Vec<(String, String)> {
    let mut kvit = Kvit::default();
    let one = |line: &&str| {
        let record = serde_json::from_str(line).unwrap();
        assert!(recognizes(&record), "{line}");
        let mapped = kvit.map(1, &record);
        (
            mapped.kind.to_string(),
            String::from_utf8(mapped.neutral).unwrap(),
        )
    };
    lines.iter().map(one).collect()
}

#[test]
fn a_history_is_told_in_neutral_words() {
    let events = mapped(&[
        r#"{"ts":"2026-05-04T08:00:00.1Z","kind":"settings","model":"m1:high","merge_thinking":false}"#,
        r#"{"ts":"2026-05-04T08:00:01Z","kind":"message","message":{"role":"user","content":"hi"}}"#,
        r#"{"ts":"2026-05-04T08:00:03Z","kind":"message","message":{"role":"assistant","tool_calls":[{"id":"k1","type":"function","function":{"name":"Shell","arguments":"{}"}}]}}"#,
        r#"{"ts":"2026-05-04T08:00:04Z","kind":"tool_result","message":{"role":"tool","tool_call_id":"k1","content":"12"}}"#,
        r#"{"ts":"2026-05-04T08:00:05Z","kind":"notice","text":"cancelled"}"#,
        r#"{"ts":"2026-05-04T08:00:06Z","kind":"rollback","dropped":2}"#,
    ]);
    let told: Vec<_> = events
        .iter()
        .map(|(k, n)| (k.as_str(), n.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("settings.changed", r#"{"model":"m1","effort":"high"}"#),
            (
                "message",
                r#"{"role":"user","harness":"kvit-coder","body":"message"}"#
            ),
            (
                "message",
                r#"{"role":"assistant","calls":[{"id":"k1","name":"Shell"}],"body":"message"}"#
            ),
            (
                "message",
                r#"{"role":"tool","results":[{"id":"k1"}],"body":"message"}"#
            ),
            ("notice", r#"{"text":"cancelled"}"#),
            ("rollback", r#"{"dropped":2}"#),
        ]
    );
}

#[test]
fn a_colon_in_the_name_of_a_model_is_no_effort() {
    let events = mapped(&[r#"{"ts":"2026-05-04T08:00:00Z","kind":"settings","model":"qwen:7b"}"#]);
    assert_eq!(events[0].1, r#"{"model":"qwen:7b"}"#);
}

#[test]
fn bare_messages_are_the_conversation() {
    let events = mapped(&[
        r#"{"role":"system","content":"be brief"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
    ]);
    assert_eq!(events[0].1, r#"{"role":"system","harness":"kvit-coder"}"#);
    assert_eq!(events[1].1, r#"{"role":"user"}"#);
    let other = r#"{"role":"user","content":"x","weight":1}"#;
    assert!(!recognizes(&serde_json::from_str(other).unwrap()));
}
