use crate::support::World;

const SAID: &[(&str, &str)] = &[
    ("notice", r#"{"text":"hello"}"#),
    ("message", r#"{"role":"user","message":{"content":"hi"}}"#),
    (
        "message",
        r#"{"role":"assistant","model":"m1","calls":[{"id":"c1","name":"bash"}],"message":{"content":[{"type":"text","text":"I look."}]}}"#,
    ),
    (
        "message",
        r#"{"role":"tool","results":[{"id":"c1","error":true}],"message":{"content":[]}}"#,
    ),
    (
        "message",
        r#"{"role":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}"#,
    ),
];

const CONVERSATION: &str = "\
user · 2026-05-04 08:01:00 · #1
hi

assistant · m1 · 2026-05-04 08:02:00 · #2
I look.
→ bash c1

tool · 2026-05-04 08:03:00 · #3
← c1 failed

assistant · 2026-05-04 08:04:00 · #4
(thinking)

";

#[test]
fn a_conversation_has_roles_words_calls_and_results() {
    let world = World::new();
    world.session("s1", SAID);
    assert_eq!(world.run("show s").ok(), CONVERSATION);
    assert_eq!(
        world.run("show s --events").ok(),
        format!("· #0 notice {{\"text\":\"hello\"}}\n{CONVERSATION}")
    );
    assert_eq!(
        world.run("show s --last 1").ok().lines().nth(1),
        Some("(thinking)")
    );
}

fn reply(response: &str, text: &str) -> String {
    format!(r#"{{"role":"assistant","response":"{response}","message":{{"content":"{text}"}}}}"#)
}

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","message":{{"content":"{text}"}}}}"#)
}

#[test]
fn parts_of_a_reply_are_one_and_open_calls_are_closed() {
    let world = World::new();
    let long = "x".repeat(5000);
    let call = r#"{"role":"assistant","response":"r","calls":[{"id":"c1","name":"bash"}],"message":{"content":[]}}"#;
    world.session(
        "s1",
        &[
            ("message", &user("go")),
            ("message", &reply("r", &long)),
            ("message", call),
        ],
    );
    let out = world.run("show s1").ok();
    assert!(
        out.contains(&format!("· #1…#2\n{long}\n→ bash c1\n")),
        "{out}"
    );
    assert!(
        out.contains("tool · closed by replay · #2\nThe call was"),
        "{out}"
    );
    let json = world.run("show s1 --conversation --json").json();
    assert_eq!(json.len(), 3);
    assert_eq!(json[1]["parts"], serde_json::json!([1, 2]));
    assert_eq!(json[1]["natives"][0]["content"], long);
    assert_eq!(json[2]["origin"], "closing");
}

#[test]
fn what_is_hidden_is_counted_and_shown_when_asked_for() {
    let world = World::new();
    let side = r#"{"role":"user","agent":"a1","message":{"content":"look"}}"#;
    world.session(
        "s1",
        &[
            ("message", &user("first")),
            ("message", &reply("r1", "answer")),
            ("compaction", r#"{"summary":"so far"}"#),
            ("message", &user("try one")),
            ("message", &reply("r2", "one")),
            ("rollback", r#"{"dropped":2}"#),
            ("message", side),
            ("message", &user("try two")),
        ],
    );
    let ran = world.run("show s1");
    assert_eq!(
        ran.err,
        "\
hint: not shown: 2 messages covered by a compaction, 2 messages left behind by a rollback or in \
other branches; --all shows them
hint: the sub-agent a1 has 1 message: --agent a1
"
    );
    let out = ran.ok();
    assert_eq!(
        out,
        "\
user · checkpoint · injected · #2
so far

user · 2026-05-04 08:07:00 · #7
try two

"
    );
    let out = world.run("show s1 --all").ok();
    let heads: Vec<_> = out.lines().filter(|line| line.contains('#')).collect();
    assert_eq!(
        heads,
        [
            "user · covered by a compaction · 2026-05-04 08:00:00 · #0",
            "assistant · covered by a compaction · 2026-05-04 08:01:00 · #1",
            "user · checkpoint · injected · #2",
            "user · left behind · 2026-05-04 08:03:00 · #3",
            "assistant · left behind · 2026-05-04 08:04:00 · #4",
            "· #5 rollback {\"dropped\":2}",
            "user · a1 · 2026-05-04 08:06:00 · #6",
            "user · 2026-05-04 08:07:00 · #7",
        ]
    );
    let out = world.run("show s1 --agent a1").ok();
    assert_eq!(out, "user · a1 · 2026-05-04 08:06:00 · #6\nlook\n\n");
    let told = world.run("show s1 --agent a2").failed(3);
    assert!(
        told.contains("a2") && told.contains("there are: a1"),
        "{told}"
    );
}

#[test]
fn sub_agents_in_sessions_of_their_own_are_named() {
    let world = World::new();
    let said = user("hi");
    for id in ["s1", "s1.agent-a", "s1.agent-b", "s10.agent-c"] {
        world.session(id, &[("message", &said)]);
    }
    let ran = world.run("show s1");
    assert_eq!(
        ran.err,
        "\
hint: a sub-agent is in a session of its own: s1.agent-a
hint: a sub-agent is in a session of its own: s1.agent-b
"
    );
    assert!(ran.ok().contains("hi"));
    assert_eq!(world.run("show s1 --json").err, "");
    // A session goes before its sub-agents, not before others.
    world.session("t1-long", &[("message", &said)]);
    world.session("t1-long.agent-a", &[("message", &said)]);
    world.run("show t1 --json").ok();
    assert!(
        world
            .run("show s --json")
            .failed(2)
            .contains("4 sessions start with")
    );
}

#[test]
fn a_session_that_goes_on_elsewhere_says_where() {
    let world = World::new();
    world.session("s1", &[("session.succeeded", r#"{"by":"s2"}"#)]);
    world.session("s2", &[("message", &user("go on"))]);
    let told = world.run("show s1");
    assert!(told.err.contains("it goes on in s2: --latest"), "{told:?}");
    assert!(world.run("show s1 --latest").ok().contains("go on"));
    let told = world.run("wake s1 --json").json();
    assert_eq!(told[0]["succeeded_by"], "s2");
    assert!(
        world
            .run("wake s1 --latest")
            .ok()
            .starts_with("s2: 1 event")
    );
    world.session("s3", &[("session.succeeded", r#"{"by":"s4"}"#)]);
    world.session("s4", &[("session.succeeded", r#"{"by":"s3"}"#)]);
    let told = world.run("show s3 --latest").failed(2);
    assert!(told.contains("s3 -> s4 -> s3"), "{told}");
}

#[test]
fn slices_and_kinds_are_picked_out() {
    let world = World::new();
    let events: Vec<_> = (0..10)
        .map(|n| if n % 2 == 0 { ("a", "1") } else { ("b.c", "2") })
        .collect();
    world.session("s1", &events);
    let seqs = |args: &str| -> Vec<u64> {
        let lines = world.run(&format!("show s1 --json {args}")).json();
        lines.iter().map(|e| e["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs("--range 2..4"), [2, 3]);
    assert_eq!(seqs("--range 8.."), [8, 9]);
    assert_eq!(seqs("--range ..2"), [0, 1]);
    assert_eq!(seqs("--range 8..100"), [8, 9]);
    assert_eq!(seqs("--last 3"), [7, 8, 9]);
    assert_eq!(seqs("--last 4 --kind a"), [6, 8]);
    assert_eq!(seqs("--last 2 --kind a --kind b.c"), [8, 9]);
    assert_eq!(seqs("").len(), 10);
    let told = world.run("show s1 --range 20..30");
    assert!(told.err.contains("has events 0..10"), "{told:?}");
    world.run("show s1 --range 5..2").failed(2);
    world.run("show s1 --range 5").failed(2);
    world.run("show s1 --last 2 --range 1..2").failed(2);
    world.run("show s1 --kind Not-A-Kind").failed(2);
}

#[test]
fn payload_bytes_come_out_as_they_are() {
    let world = World::new();
    let payload = r#"{"b":1e400, "a":"\ud800 ä\u0000", "a":-0}"#;
    world.session("s1", &[("x", payload), ("y", "{\n  \"k\": 1\n}")]);
    let out = world.run("show s1 --json").ok();
    assert!(
        out.contains(&format!("\"data\":{payload},\"sum\":")),
        "{out}"
    );
    let pretty = out.lines().nth(1).unwrap();
    assert!(
        pretty.contains(r#""data":{   "k": 1 },"text":"{\n  \"k\": 1\n}","sum":"#),
        "{pretty}"
    );
}

#[test]
fn what_a_session_holds_does_not_steer_the_terminal() {
    let world = World::new();
    world.session(
        "s1",
        &[
            (
                "message",
                r#"{"role":"assistant","model":"\u001b[2Jm","calls":[{"id":"\u001bc","name":"\u001b]0;x\u0007"}],"message":{"content":"\u001b[31mred\u009b0m\r\nnext"}}"#,
            ),
            ("session.titled", r#"{"title":"\u001b[2Jtitle"}"#),
        ],
    );
    for args in ["show s1", "tail s1", "wake s1", "ls", "stats s1"] {
        let out = world.run(args).ok();
        assert!(
            !out.contains(['\u{1b}', '\u{9b}', '\u{7}', '\r']),
            "{args}: {out:?}"
        );
    }
    assert!(
        world
            .run("show s1")
            .ok()
            .contains("␛[31mred<U+009B>0m\nnext")
    );
    assert!(world.run("ls").ok().contains("␛[2Jtitle"));
}

#[test]
fn colours_are_shown_only_where_they_are_wanted() {
    let mut world = World::new();
    world.interrupted("s1");
    assert!(!world.run("show s1").ok().contains('\u{1b}'));
    world.terminal.colour_out = true;
    assert!(world.run("show s1").ok().contains("\u{1b}["));
    assert!(!world.run("show s1 --json").ok().contains('\u{1b}'));
}

#[test]
fn a_session_without_events_says_so() {
    let world = World::new();
    pollster::block_on(world.store.create("empty".parse().unwrap())).unwrap();
    let told = world.run("show empty");
    assert!(told.err.contains("no events yet"), "{told:?}");
    assert_eq!(told.ok(), "");
}
