//! Conversations of other tools: trees by links, parts by lines, sub-agents in line.

use sessionlog_core::transcript::*;
use sessionlog_core::*;

use crate::transcript_logs::{log, replay};

/// A line of Claude Code as it is imported.
struct Line {
    id: &'static str,
    parent: Option<&'static str>,
    json: String,
    kind: Kind,
}

impl Line {
    fn event(&self) -> (Kind, String) {
        let parent = self
            .parent
            .map_or(String::new(), |p| format!(r#","parent":"{p}""#));
        let source = format!(
            r#""source":{{"format":"claude-code","id":"{}"{parent}}}"#,
            self.id
        );
        (self.kind.clone(), format!("{{{source},{}}}", self.json))
    }
}

fn line(id: &'static str, parent: Option<&'static str>, json: String) -> Line {
    Line {
        id,
        parent,
        json,
        kind: kinds::MESSAGE,
    }
}

fn user(id: &'static str, parent: Option<&'static str>) -> Line {
    let record = format!(r#"{{"uuid":"{id}","message":{{"role":"user","content":"{id}"}}}}"#);
    line(
        id,
        parent,
        format!(r#""role":"user","body":"message","record":{record}"#),
    )
}

fn call(id: &'static str, parent: &'static str, reply: &str) -> Line {
    let block = format!(r#"{{"type":"tool_use","id":"call-{id}","name":"t","input":{{}}}}"#);
    said(
        id,
        parent,
        reply,
        &block,
        &format!(r#""calls":[{{"id":"call-{id}","name":"t"}}],"#),
    )
}

fn text(id: &'static str, parent: &'static str, reply: &str) -> Line {
    said(
        id,
        parent,
        reply,
        &format!(r#"{{"type":"text","text":"{id}"}}"#),
        "",
    )
}

fn said(id: &'static str, parent: &'static str, reply: &str, block: &str, calls: &str) -> Line {
    let native = format!(
        r#"{{"id":"{reply}","type":"message","role":"assistant","model":"m","content":[{block}],"stop_reason":null,"usage":{{}}}}"#
    );
    let json = format!(
        r#""role":"assistant","response":"{reply}",{calls}"body":"message","record":{{"uuid":"{id}","message":{native}}}"#
    );
    line(id, Some(parent), json)
}

fn result(id: &'static str, parent: &'static str, of: &str) -> Line {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"call-{of}","content":"ok"}}"#);
    line(
        id,
        Some(parent),
        format!(
            r#""role":"user","results":[{{"id":"call-{of}"}}],"body":"message","record":{{"message":{{"role":"user","content":[{block}]}}}}"#
        ),
    )
}

fn other(id: &'static str, parent: Option<&'static str>, kind: Kind, json: &str) -> Line {
    Line {
        id,
        parent,
        json: json.to_owned(),
        kind,
    }
}

fn of(lines: &[Line]) -> Transcript {
    replay(&log(&lines.iter().map(Line::event).collect::<Vec<_>>()))
}

fn seqs(transcript: &Transcript) -> Vec<Vec<u64>> {
    let conversation = transcript.conversation(None).unwrap();
    for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
        check::check(dialect, &conversation.render(dialect).messages).unwrap();
    }
    let mut all = Vec::new();
    for item in conversation.items() {
        all.push(
            item.natives
                .iter()
                .map(|n| n.get().len() as u64)
                .collect::<Vec<_>>(),
        );
        let last = all.last_mut().unwrap();
        *last = vec![item.seq.get(), last.len() as u64];
        if item.origin == Origin::Closing {
            *last = vec![99];
        }
    }
    all
}

#[test]
fn parallel_results_that_hang_under_their_calls_are_no_branches() {
    let transcript = of(&[
        user("u", None),
        call("a", "u", "m1"),
        call("b", "a", "m1"),
        other("p", Some("b"), kinds::TOOL_PROGRESS, r#""call":"call-b""#),
        result("rb", "b", "b"),
        result("ra", "a", "a"),
        call("c", "a", "m1"),
        result("rc", "c", "c"),
        text("t", "rc", "m2"),
    ]);
    // One reply of three parts, its results in call order, the next reply.
    assert_eq!(
        seqs(&transcript),
        [
            vec![0, 1],
            vec![1, 3],
            vec![5, 1],
            vec![4, 1],
            vec![7, 1],
            vec![8, 1]
        ]
    );
    assert_eq!(transcript.branches(None).len(), 1);
}

#[test]
fn a_rewind_hangs_a_new_line_under_an_old_one() {
    let rewound = [
        user("u1", None),
        text("a1", "u1", "m1"),
        user("u2", Some("a1")),
        text("a2", "u2", "m2"),
        user("u3", Some("a1")),
        text("a3", "u3", "m3"),
    ];
    let transcript = of(&rewound);
    assert_eq!(
        seqs(&transcript),
        [vec![0, 1], vec![1, 1], vec![4, 1], vec![5, 1]]
    );
    let tips: Vec<_> = transcript
        .branches(None)
        .iter()
        .map(|b| (b.tip.get(), b.current))
        .collect();
    assert_eq!(tips, [(3, false), (5, true)]);
    assert_eq!(transcript.branches(None)[1].under, Some(SeqNum::new(1)));
}

#[test]
fn a_resume_leaves_its_exit_behind_and_goes_on_from_before_it() {
    let transcript = of(&[
        user("u1", None),
        text("a1", "u1", "m1"),
        user("exit", Some("a1")),
        other("s", Some("exit"), kinds::IMPORT_RECORD, r#""record":{}"#),
        text("none", "a1", "m2"),
        user("u2", Some("none")),
    ]);
    assert_eq!(
        seqs(&transcript),
        [vec![0, 1], vec![1, 1], vec![4, 1], vec![5, 1]]
    );
}

#[test]
fn a_line_whose_parent_is_missing_cuts_its_own_branch_only() {
    let lines = [
        user("u1", None),
        text("a1", "u1", "m1"),
        user("lost", Some("gone")),
        text("l2", "lost", "m2"),
    ];
    let transcript = of(&lines);
    assert_eq!(seqs(&transcript), [vec![2, 1], vec![3, 1]]);
    let told: Vec<_> = transcript
        .oddities()
        .all()
        .iter()
        .map(|o| (o.odd, o.first.get()))
        .collect();
    assert_eq!(told, [(Odd::MissingParent, 2)]);
    let lines: Vec<_> = lines.into_iter().chain([user("u2", Some("a1"))]).collect();
    assert_eq!(seqs(&of(&lines)), [vec![0, 1], vec![1, 1], vec![4, 1]]);
}

#[test]
fn a_compaction_with_a_parent_elsewhere_hides_what_is_before_it() {
    let boundary = |more: &str| Line {
        id: "c",
        parent: None,
        json: format!(r#""tokens_before":7{more},"record":{{}}"#),
        kind: kinds::COMPACTION,
    };
    let event = |line: &Line| {
        let (kind, json) = line.event();
        (
            kind,
            json.replace(r#""id":"c""#, r#""id":"c","logical_parent":"elsewhere""#),
        )
    };
    let log_of = |more: &str| {
        let mut events: Vec<_> = [
            user("u1", None),
            call("a", "u1", "m1"),
            result("r", "a", "a"),
        ]
        .iter()
        .map(Line::event)
        .collect();
        events.push(event(&boundary(more)));
        events.push(user("summary", Some("c")).event());
        events.push(text("a2", "summary", "m2").event());
        events
    };
    let transcript = replay(&log(&log_of("")));
    assert_eq!(seqs(&transcript), [vec![4, 1], vec![5, 1]]);
    assert_eq!(transcript.oddities().count(), 0);
    // Messages that are named stay.
    let kept = replay(&log(&log_of(r#","kept_id":"a""#)));
    assert_eq!(
        seqs(&kept),
        [vec![1, 1], vec![2, 1], vec![4, 1], vec![5, 1]]
    );
    // What the compaction hides is still a branch to go back to.
    let back = (kinds::HEAD, r#"{"to":2}"#.to_owned());
    let back = replay(&log(&[log_of(""), vec![back]].concat()));
    assert_eq!(seqs(&back), [vec![0, 1], vec![1, 1], vec![2, 1]]);
}

#[test]
fn side_chains_in_line_are_conversations_of_their_own() {
    let side = |line: Line| Line {
        json: format!(r#""agent":"sidechain",{}"#, line.json),
        ..line
    };
    let transcript = of(&[
        user("u1", None),
        call("a1", "u1", "m1"),
        side(user("s1", None)),
        side(text("s2", "s1", "m9")),
        result("r1", "a1", "a1"),
        side(user("other", None)),
        text("a2", "r1", "m2"),
    ]);
    assert_eq!(
        seqs(&transcript),
        [vec![0, 1], vec![1, 1], vec![4, 1], vec![6, 1]]
    );
    let aside = transcript.conversation(Some("sidechain")).unwrap().items();
    assert_eq!(aside.len(), 1, "the last root is where it stands");
    assert_eq!(transcript.branches(Some("sidechain")).len(), 2);
    assert_eq!(transcript.agents().collect::<Vec<_>>(), ["sidechain"]);
}

#[test]
fn ids_without_parents_are_no_tree() {
    let lines = [user("m1", None), user("m2", None), user("m2", None)];
    assert_eq!(seqs(&of(&lines)).len(), 3);
}

#[test]
fn a_history_that_replaces_another_is_sent_item_by_item() {
    let item = |json: &str| {
        let json = format!(r#"{{"role":"user","body":"payload","record":{{"payload":{json}}}}}"#);
        (kinds::MESSAGE, json)
    };
    let compacted = r#"{"summary":"","body":"payload.replacement_history","source":{"format":"codex"},"record":{"payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"earlier"}]},{"type":"function_call","call_id":"x","name":"t","arguments":"{}"},{"type":"compaction","encrypted_content":"E"}]}}}"#;
    let message =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"now"}]}"#;
    let events = [
        item(message),
        (kinds::COMPACTION, compacted.to_owned()),
        item(message),
    ];
    let transcript = replay(&log(&events));
    let conversation = transcript.conversation(None).unwrap();
    let origins: Vec<_> = conversation
        .items()
        .iter()
        .map(|item| item.origin)
        .collect();
    use Origin::{Checkpoint, Closing, Log};
    assert_eq!(origins[..3], [Checkpoint, Checkpoint, Closing]);
    assert_eq!(origins.last(), Some(&Log));
    let rendered = conversation.render(Dialect::Responses);
    check::responses(&rendered.messages).unwrap();
    assert!(rendered.messages[0].get().contains("earlier"));
    assert_eq!(rendered.messages.last().unwrap().get(), message);
}

#[test]
fn the_body_of_a_line_goes_out_and_nothing_around_it() {
    let transcript = of(&[
        user("u", None),
        text("a", "u", "m1"),
        call("b", "a", "m1"),
        result("r", "b", "b"),
    ]);
    let rendered = transcript
        .conversation(None)
        .unwrap()
        .render(Dialect::Anthropic);
    assert_eq!(
        rendered.to_json(),
        r#"[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"call-b","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call-b","content":"ok"}]}]"#
    );
    assert_eq!(rendered.losses, []);
}
