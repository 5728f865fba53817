use serde_json::value::RawValue;
use sessionlog::transcript::{Message, kinds};

use super::*;

/// The events of some lines: kind and neutral fields.
fn mapped(lines: &[&str]) -> Vec<(String, String)> {
    let records: Vec<_> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut claude = Claude::default();
    for (at, record) in records.iter().enumerate() {
        assert!(recognizes(record), "{}", lines[at]);
        claude.survey(at as u64 + 1, record);
    }
    let mut claude = claude.restart();
    let one = |(at, record): (usize, &Fields<'_>)| {
        let mapped = claude.map(at as u64 + 1, record);
        let neutral = String::from_utf8(mapped.neutral).unwrap();
        (mapped.kind.to_string(), neutral)
    };
    records.iter().enumerate().map(one).collect()
}

fn user(rest: &str, content: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"s",{rest}"message":{{"role":"user","content":{content}}}}}"#
    )
}

#[test]
fn a_reply_in_parts_is_one_reply_with_its_last_usage() {
    let part = |block: &str, output: u64| {
        format!(
            r#"{{"type":"assistant","uuid":"u{output}","sessionId":"s","message":{{"id":"m1","model":"claude-x","role":"assistant","content":[{block}],"usage":{{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":{output}}}}}}}"#
        )
    };
    let text = part(r#"{"type":"text","text":"hi"}"#, 1);
    let call = part(
        r#"{"type":"tool_use","id":"t1","name":"Bash","input":{}}"#,
        9,
    );
    let events = mapped(&[&text, &call]);
    for ((kind, neutral), output) in events.iter().zip([1, 9]) {
        assert_eq!(kind, "message");
        let message: Message<'_> = serde_json::from_str(neutral).unwrap();
        assert_eq!(message.response.as_deref(), Some("m1"));
        let usage = message.usage.unwrap();
        assert_eq!(usage.key.as_deref(), Some("m1"));
        assert_eq!((usage.tokens.input, usage.tokens.cache_read), (3, 5));
        assert_eq!(usage.tokens.output, output);
    }
    assert!(
        events[1]
            .1
            .contains(r#""calls":[{"id":"t1","name":"Bash"}]"#)
    );
}

#[test]
fn what_the_program_writes_is_injected() {
    let injected = |lines: &[String]| {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let events = mapped(&lines);
        let is = |(_, neutral): &(String, String)| neutral.contains(r#""injected":true"#);
        events.iter().map(is).collect::<Vec<_>>()
    };
    let command = user("", r#""<command-name>/exit</command-name>""#);
    assert_eq!(
        injected(&[command.clone(), user("", r#""hi""#)]),
        [false, false]
    );
    assert_eq!(
        injected(&[
            user(r#""isMeta":true,"#, r#""Caveat: The messages below …""#),
            command.clone(),
            user("", r#""<local-command-stdout>Bye!</local-command-stdout>""#),
            user(
                "",
                r#"[{"type":"text","text":"[Request interrupted by user]"}]"#
            ),
            user("", r#""go on""#),
            command,
            user(
                r#""isCompactSummary":true,"#,
                r#""This session is continued …""#
            ),
        ]),
        [true, true, true, true, false, false, true]
    );
}

#[test]
fn where_the_work_is_done_is_told_where_it_changes() {
    let at = |cwd: &str| user(&format!(r#""cwd":"{cwd}","gitBranch":"main","#), r#""x""#);
    let events = mapped(&[&at("/a"), &at("/a"), &at("/b")]);
    assert!(
        events[0]
            .1
            .contains(r#""directory":"/a","branch":"main","harness":"claude-code""#)
    );
    assert!(!events[1].1.contains("directory"));
    assert!(events[2].1.contains(r#""directory":"/b""#) && !events[2].1.contains("branch"));
}

#[test]
fn only_a_summary_of_this_file_is_a_title() {
    let summary = |leaf: &str| format!(r#"{{"type":"summary","summary":"T","leafUuid":"{leaf}"}}"#);
    let events = mapped(&[&summary("u1"), &summary("other"), &user("", r#""x""#)]);
    assert_eq!(events[0].0, kinds::SESSION_TITLED.as_str());
    assert_eq!(events[0].1, r#"{"title":"T","by":"derived"}"#);
    assert_eq!(
        events[1],
        (kinds::IMPORT_RECORD.to_string(), "{}".to_owned())
    );
}

#[test]
fn side_chains_without_ids_are_told_apart_by_their_roots() {
    let side = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"sessionId":"s","isSidechain":true,"message":{{"role":"user","content":"x"}}}}"#
        )
    };
    let system = r#"{"type":"system","subtype":"stop_hook_summary","uuid":"b2","parentUuid":"b1","sessionId":"s","isSidechain":true}"#;
    let lines = [
        user("", r#""hi""#),
        side("a1", "null"),
        side("b1", "null"),
        system.to_owned(),
        side("a2", r#""a1""#),
        side("b3", r#""b2""#),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let agents: Vec<_> = mapped(&lines)
        .iter()
        .map(|(_, neutral)| {
            let at = neutral.find("sidechain-").map(|at| at + 10);
            at.map_or("", |at| &neutral[at..=at]).to_owned()
        })
        .collect();
    assert_eq!(agents, ["", "1", "2", "", "1", "2"]);
}

#[test]
fn a_sub_agent_has_a_conversation_of_its_own() {
    let side = user(r#""isSidechain":true,"agentId":"a1","#, r#""look""#);
    let main = user("", r#""hi""#);
    let events = mapped(&[&main, &side]);
    assert!(!events[0].1.contains("agent"));
    assert!(events[1].1.contains(r#""agent":"a1""#));
    // In its own file it is the main one.
    assert!(!mapped(&[&side, &side])[1].1.contains(r#""agent""#));
    let mut claude = Claude::default();
    claude.survey(1, &serde_json::from_str(&side).unwrap());
    let identity = claude.identity();
    assert_eq!(identity.name.as_deref(), Some("s.agent-a1"));
    assert_eq!(identity.parent.as_deref(), Some("s"));
}

#[test]
fn other_lines_get_the_kind_that_fits() {
    let line = |kind: &str, rest: &str| {
        format!(r#"{{"type":"{kind}","uuid":"u","sessionId":"s",{rest}}}"#)
    };
    for (line, kind, neutral) in [
        (
            line(
                "system",
                r#""subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":7,"preservedMessages":{"uuids":["k","l"]}}"#,
            ),
            "compaction",
            r#"{"kept_id":"k","tokens_after":null,"tokens_before":7,"trigger":"auto"}"#,
        ),
        (
            line("system", r#""subtype":"turn_duration","durationMs":12"#),
            "turn.ended",
            r#"{"ms":12,"outcome":"complete"}"#,
        ),
        (
            line(
                "system",
                r#""subtype":"api_error","error":{"message":"overloaded"}"#,
            ),
            "notice",
            r#"{"text":"overloaded"}"#,
        ),
        (
            line(
                "progress",
                r#""parentToolUseID":"t1","data":{"type":"bash_progress"}"#,
            ),
            "tool.progress",
            r#"{"call":"t1"}"#,
        ),
        (
            line("custom-title", r#""customTitle":"T""#),
            "session.titled",
            r#"{"title":"T","by":"person"}"#,
        ),
        (
            line("permission-mode", r#""permissionMode":"plan""#),
            "settings.changed",
            r#"{"mode":"plan"}"#,
        ),
        (
            line("attachment", r#""attachment":{}"#),
            "import.record",
            "{}",
        ),
    ] {
        let record: &RawValue = serde_json::from_str(&line).unwrap();
        let mapped = Claude::default().map(1, &Fields::of(record));
        assert_eq!(mapped.kind, kind, "{line}");
        assert_eq!(String::from_utf8(mapped.neutral).unwrap(), neutral);
        assert!(!mapped.unknown);
    }
    let new = r#"{"type":"brand-new","sessionId":"s"}"#;
    assert!(
        Claude::default()
            .map(1, &serde_json::from_str(new).unwrap())
            .unknown
    );
}
