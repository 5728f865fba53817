use super::*;
use sessionlog::transcript::Message;

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-05-04T08:00:00Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(payload: &str) -> String {
    line("response_item", payload)
}

fn said(role: &str, words: &str) -> String {
    item(&format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{words}"}}]}}"#
    ))
}

fn typed(words: &str) -> String {
    line(
        "event_msg",
        &format!(r#"{{"type":"user_message","message":"{words}"}}"#),
    )
}

fn mapped(lines: &[String]) -> Vec<(String, String)> {
    let records: Vec<_> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut codex = Codex::default();
    for (at, record) in records.iter().enumerate() {
        assert!(recognizes(record));
        codex.survey(at as u64 + 1, record);
    }
    let mut codex = codex.restart();
    let one = |(at, record): (usize, &Fields<'_>)| {
        let mapped = codex.map(at as u64 + 1, record);
        (
            mapped.kind.to_string(),
            String::from_utf8(mapped.neutral).unwrap(),
        )
    };
    records.iter().enumerate().map(one).collect()
}

/// The words that count as prompts.
fn prompts(lines: &[String]) -> Vec<usize> {
    let events = mapped(lines);
    let is = |(kind, neutral): &(String, String)| {
        kind == "message" && neutral.contains(r#""role":"user""#) && !neutral.contains("injected")
    };
    events
        .iter()
        .enumerate()
        .filter(|(_, e)| is(e))
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn only_what_a_person_typed_is_a_prompt() {
    let env = said("user", "<environment_context>");
    // The event comes behind its message, in all versions that were seen,
    assert_eq!(
        prompts(&[env.clone(), said("user", "hi"), typed("hi\\n")]),
        [1]
    );
    // or in front of it; with attachments its words are others.
    assert_eq!(
        prompts(&[env.clone(), typed("hi"), said("user", "hi")]),
        [2]
    );
    assert_eq!(
        prompts(&[env.clone(), said("user", "hi <image>"), typed("hi")]),
        [1]
    );
    // A rollout without events says it by words alone.
    assert_eq!(prompts(&[env, said("user", "hi")]), [1]);
}

#[test]
fn items_between_two_inputs_are_one_reply() {
    let call = r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}"#;
    let output = r#"{"type":"function_call_output","call_id":"c1","output":"Exit code: 2\nno"}"#;
    let events = mapped(&[
        item(r#"{"type":"reasoning","summary":[]}"#),
        item(call),
        item(output),
        said("assistant", "done"),
    ]);
    let reply = |at: usize| {
        let message: Message<'_> = serde_json::from_str(&events[at].1).unwrap();
        message.response
    };
    assert_eq!(reply(0).as_deref(), Some("line-1"));
    assert_eq!(reply(1), reply(0));
    assert_eq!(reply(2), None);
    assert_eq!(reply(3).as_deref(), Some("line-4"));
    assert!(
        events[1]
            .1
            .contains(r#""calls":[{"id":"c1","name":"shell"}]"#)
    );
    assert!(
        events[2]
            .1
            .contains(r#""results":[{"id":"c1","error":true}]"#)
    );
}

#[test]
fn a_failed_tool_is_told_from_one_that_worked() {
    for (output, failed) in [
        (
            r#""{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}""#,
            true,
        ),
        (
            r#""{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}""#,
            false,
        ),
        (r#""Exit code: 0\nExit code: 1""#, false),
        (
            r#""Chunk ID: x\nWall time: 1\nProcess exited with code 1\nOutput:""#,
            true,
        ),
        (r#"{"content":"x","success":false}"#, true),
        (r#""Plan updated""#, false),
    ] {
        let line = item(&format!(
            r#"{{"type":"function_call_output","call_id":"c","output":{output}}}"#
        ));
        let events = mapped(&[line]);
        assert_eq!(events[0].1.contains(r#""error":true"#), failed, "{output}");
    }
}

#[test]
fn totals_are_told_without_overlap() {
    let count = line(
        "event_msg",
        r#"{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":7,"reasoning_output_tokens":2}}}"#,
    );
    let nothing = line("event_msg", r#"{"type":"token_count","info":null}"#);
    let events = mapped(&[count, nothing]);
    assert_eq!(events[0].0, "usage.reported");
    assert_eq!(
        events[0].1,
        r#"{"mode":"cumulative","input":6,"cache_read":4,"cache_write":0,"output":5,"reasoning":2}"#
    );
    assert_eq!(events[1].0, "import.record");
}

#[test]
fn other_lines_get_the_kind_that_fits() {
    let event = |payload: &str| line("event_msg", payload);
    let events = mapped(&[
        line(
            "session_meta",
            r#"{"id":"s1","cwd":"/w","git":{"branch":"b"},"cli_version":"1"}"#,
        ),
        line(
            "turn_context",
            r#"{"cwd":"/v","model":"m","effort":"high"}"#,
        ),
        event(r#"{"type":"task_started","turn_id":"t"}"#),
        event(r#"{"type":"turn_aborted","reason":"interrupted"}"#),
        event(r#"{"type":"patch_apply_end","call_id":"c"}"#),
        event(r#"{"type":"agent_message","message":"x"}"#),
        line("compacted", r#"{"message":"short"}"#),
        line("session_meta", r#"{"id":"s1"}"#),
    ]);
    let kinds: Vec<_> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "session.started",
            "settings.changed",
            "turn.started",
            "turn.ended",
            "tool.progress",
            "import.record",
            "compaction",
            "import.record"
        ]
    );
    assert_eq!(
        events[0].1,
        r#"{"directory":"/w","branch":"b","harness":"codex","version":"1"}"#
    );
    assert_eq!(events[6].1, r#"{"body":null,"summary":"short"}"#);
    let whole = line(
        "compacted",
        r#"{"message":"s","replacement_history":[{"type":"message"}]}"#,
    );
    assert_eq!(
        mapped(&[whole])[0].1,
        r#"{"body":"payload.replacement_history","summary":"s"}"#
    );
}
