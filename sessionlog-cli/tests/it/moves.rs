//! `rollback`, `head` and `branches`.

use serde_json::{Value, json};

use crate::support::{World, drive};

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","message":{{"role":"user","content":"{text}"}}}}"#)
}

fn reply(text: &str) -> String {
    format!(r#"{{"role":"assistant","message":{{"role":"assistant","content":"{text}"}}}}"#)
}

/// Two questions with their answers.
fn world() -> World {
    let world = World::new();
    world.session(
        "s1",
        &[
            ("message", &user("one")),
            ("message", &reply("first")),
            ("message", &user("two")),
            ("message", &reply("second")),
        ],
    );
    world
}

#[test]
fn a_rollback_says_what_it_hides_and_how_to_take_it_back() {
    let world = world();
    let told = "\
s1: 2 messages would no longer be part of the conversation
  #2 user: two
  #3 assistant: second
";
    assert_eq!(world.run("rollback s1 2 --dry-run").ok(), told);
    let ran = world.run("rollback s1 2");
    assert!(ran.err.contains("sessionlog head s1 3"), "{ran:?}");
    assert_eq!(
        ran.ok(),
        told.replace("would no longer be", "are no longer")
    );
    let said = world.run("show s1").ok();
    assert!(said.contains("first") && !said.contains("two"), "{said}");
    // Of more than there is, all goes; of nothing, nothing.
    let told = world.run("rollback s1 99 --json").json();
    assert_eq!(told[0]["hidden"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&told[0]["head"], &told[0]["seq"]),
        (&Value::Null, &json!(5))
    );
    let out = world.run("rollback s1").ok();
    assert_eq!(out, "s1: there is no message to take back\n");
    assert_eq!(world.run("show s1 --json").json().len(), 6);
    // The old path is there.
    world.run("head s1 3").ok();
    assert!(world.run("show s1").ok().contains("second"));
    world.run("rollback s1 0").failed(2);
    world.run("rollback s1 --agent nobody").failed(3);
}

#[test]
fn a_driven_session_is_not_moved() {
    let world = world();
    let session = pollster::block_on(world.store.open(&"s1".parse().unwrap())).unwrap();
    let writer = drive(&session);
    for args in ["rollback s1 1", "head s1 0"] {
        assert!(world.run(args).failed(4).contains("the test"));
        world.run(&format!("{args} --dry-run")).ok();
    }
    assert_eq!(world.run("show s1 --json").json().len(), 4);
    drop(writer);
}

#[test]
fn branches_are_listed_and_selected() {
    let world = world();
    world.run("rollback s1 2").ok();
    let (again, answer) = (user("two, but better"), reply("third"));
    world.append("s1", &[("message", &again), ("message", &answer)]);
    let ran = world.run("branches s1");
    assert!(ran.err.contains("sessionlog head s1 TIP"), "{ran:?}");
    let out = ran.ok();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert_eq!(lines[0], "s1: 2 branches");
    assert!(
        lines[1].starts_with("  #3 · 4 messages from #0 · 2026-"),
        "{out}"
    );
    assert!(
        lines[2].starts_with("* #6 · 2 messages from #5 under #1 · "),
        "{out}"
    );
    assert!(lines[2].ends_with(" · two, but better"), "{out}");

    let told = world.run("head s1 3 --dry-run").ok();
    assert_eq!(
        told,
        "\
s1: the conversation would go on behind #3
no longer part of it:
  #5 user: two, but better
  #6 assistant: third
part of it again:
  #2 user: two
  #3 assistant: second
"
    );
    assert!(world.run("head s1 #3").ok().contains("goes on behind #3"));
    let rows = world.run("branches s1 --json").json();
    let selected: Vec<_> = rows
        .iter()
        .map(|row| (&row["tip"], &row["selected"]))
        .collect();
    assert_eq!(
        selected,
        [(&json!(3), &json!(true)), (&json!(6), &json!(false))]
    );
    assert_eq!(rows[1]["under"], 1);

    world.run("head s1 2").ok();
    let out = world.run("branches s1").ok();
    assert!(
        out.contains("* #3 · 4 messages from #0 · head at #2"),
        "{out}"
    );
    world.run("head s1 start").ok();
    assert_eq!(world.run("show s1").ok(), "");
    let told = world.run("head s1 99").failed(2);
    assert!(
        told.contains("no message of the conversation at this position: 99"),
        "{told}"
    );
    world.run("head s1 x").failed(2);
}

#[test]
fn sub_agents_have_branches_of_their_own() {
    let world = World::new();
    let side = |text: &str| {
        format!(r#"{{"role":"user","agent":"a1","message":{{"role":"user","content":"{text}"}}}}"#)
    };
    world.session(
        "s1",
        &[("message", &user("one")), ("message", &side("look"))],
    );
    let out = world.run("rollback s1 5 --agent a1").ok();
    assert!(out.contains("s1: 1 message is no longer"), "{out}");
    assert!(world.run("show s1").ok().contains("one"));
    let out = world.run("branches s1 --agent a1").ok();
    assert!(
        out.starts_with("s1: 1 branch\n  #1 · 1 message from #1"),
        "{out}"
    );
    world.run("branches s1 --agent a2").failed(3);
}

#[test]
fn a_rollback_ends_at_a_compaction_and_the_head_goes_before_it() {
    let world = world();
    let after = user("three");
    world.append(
        "s1",
        &[
            ("compaction", r#"{"summary":"so far"}"#),
            ("message", &after),
        ],
    );
    let told = world.run("rollback s1 9 --json").json();
    assert_eq!(
        told[0]["hidden"],
        json!([{"seq": 5, "role": "user", "text": "three"}])
    );
    assert_eq!(told[0]["head"], 4);
    world.run("head s1 3").ok();
    let out = world.run("show s1").ok();
    assert!(out.contains("second") && !out.contains("so far"), "{out}");
}
