use crate::support::{World, drive};

#[test]
fn an_empty_store_says_what_to_do() {
    let world = World::new();
    let told = world.run("ls");
    assert!(told.err.contains("sessionlog import PATH"), "{told:?}");
    assert_eq!(told.ok(), "");
    assert_eq!(world.run("ls --json").ok(), "");
}

#[test]
fn the_newest_session_comes_first_with_what_it_is() {
    let world = World::new();
    let older = world.interrupted("older-session-0001");
    world.session("newer", &[("x", "1"); 9]);
    let writer = drive(&older);
    let out = world.run("ls").ok();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(lines[1].trim_start().starts_with("newer"), "{out}");
    for word in [
        "older-se",
        "list the files",
        "/w/p",
        "m1",
        "1/1",
        "19",
        "the test",
    ] {
        assert!(lines[2].contains(word), "{word}: {out}");
    }
    assert!(!lines[2].contains("older-session"), "{out}");
    assert_eq!(world.run("ls --limit 1").ok().lines().count(), 2);
    drop(writer);
    assert!(!world.run("ls").ok().contains("the test"));
}

#[test]
fn json_has_every_field_of_a_card() {
    let world = World::new();
    let session = world.interrupted("s1");
    let writer = drive(&session);
    let entry = &world.run("ls --json").json()[0];
    assert_eq!(entry["id"], "s1");
    assert_eq!(entry["title"], "list the files");
    assert_eq!(entry["directory"], "/w/p");
    assert_eq!(entry["branch"], "main");
    assert_eq!(entry["harness"], "mine");
    assert_eq!(entry["model"], "m1");
    assert_eq!(entry["updated"], "2026-05-04T08:04:00.000000Z");
    assert_eq!(
        (&entry["events"], &entry["prompts"], &entry["calls"]),
        (&5.into(), &1.into(), &1.into())
    );
    assert_eq!(entry["tokens"]["cache_read"], 5);
    assert_eq!(entry["cost"], serde_json::Value::Null);
    assert_eq!(entry["blocked_on"][0], "p1");
    assert_eq!(entry["live"]["state"], "live");
    assert_eq!(entry["live"]["holder"]["owner"], "the test");
    drop(writer);
    assert_eq!(world.run("ls --json").json()[0]["live"]["state"], "idle");
}

#[test]
fn sessions_of_one_directory_are_picked_out() {
    let world = World::new();
    for (id, directory) in [("s1", "/w/p"), ("s2", "/w/p/"), ("s3", "/w/p-q")] {
        world.session(
            id,
            &[(
                "session.started",
                &format!(r#"{{"directory":"{directory}"}}"#),
            )],
        );
    }
    world.session("s4", &[]);
    let ids = |args: &str| -> Vec<String> {
        let lines = world.run(args).json();
        lines
            .iter()
            .map(|e| e["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("ls --json --dir /w/p"), ["s1", "s2"]);
    assert_eq!(ids("ls --json --dir /w/x/../p-q/."), ["s3"]);
    assert_eq!(ids("ls --json --dir /w/p --limit 1"), ["s1"]);
    let told = world.run("ls --dir /nowhere");
    assert!(told.err.contains("none of 4 sessions"), "{told:?}");
    told.ok();
}

#[test]
fn on_a_terminal_a_session_is_a_line() {
    let mut world = World::new();
    let text = format!(
        r#"{{"role":"user","message":{{"content":"{}"}}}}"#,
        "a long request 漢字 ".repeat(20)
    );
    world.session("s1", &[("message", &text)]);
    world.terminal.out = true;
    world.terminal.width = Some(80);
    let out = world.run("ls").ok();
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}
