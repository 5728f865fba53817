use crate::support::World;

#[test]
fn a_transcript_has_roles_words_calls_and_results() {
    let world = World::new();
    world.session(
        "s1",
        &[
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
        ],
    );
    assert_eq!(
        world.run("show s").ok(),
        "\
· #0 notice {\"text\":\"hello\"}
user · 2026-05-04 08:01:00 · #1
hi

assistant · m1 · 2026-05-04 08:02:00 · #2
I look.
→ bash c1

tool · 2026-05-04 08:03:00 · #3
← c1 failed

"
    );
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
