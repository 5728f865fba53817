use crate::support::{World, drive};

#[test]
fn what_was_interrupted_is_told_before_the_conversation() {
    let world = World::new();
    world.interrupted("s1");
    assert_eq!(
        world.run("wake s1").ok(),
        "\
s1: 5 events, lease 1
interrupted:
  turn t1 did not end (#1)
  call → bash c1 has no result (#3)
  permission p1 waits: bash ls (#4)

user · #2
list the files

assistant · #3
I look.
→ bash c1

tool · closed by replay · #3
The call was interrupted: no result was recorded, and it may or may not have had an effect.
← c1

"
    );
    // The lease was given back, and a second wake changes nothing but its number.
    let out = world.run("wake s1").ok();
    assert!(out.contains("5 events, lease 2"), "{out}");
}

#[test]
fn what_is_not_part_of_the_conversation_is_not_shown() {
    let world = World::new();
    let say = |text: &str| format!(r#"{{"role":"user","message":{{"content":"{text}"}}}}"#);
    let (kept, dropped) = (say("kept"), say("dropped"));
    let late = r#"{"role":"tool","results":[{"id":"c9"}],"message":{"content":"late"}}"#;
    world.session(
        "s1",
        &[
            ("message", &kept),
            ("message", &dropped),
            ("rollback", r#"{"dropped":1}"#),
            ("message", late),
        ],
    );
    let out = world.run("wake s1").ok();
    assert!(out.contains("kept") && !out.contains("dropped"), "{out}");
    assert!(
        out.contains("set aside: result ← c9, unknown (#3)"),
        "{out}"
    );
    assert!(world.run("show s1 --events").ok().contains("dropped"));
}

#[test]
fn a_driven_session_is_not_woken() {
    let world = World::new();
    let session = world.interrupted("s1");
    let writer = drive(&session);
    let told = world.run("wake s1").failed(4);
    assert!(
        told.contains("the test") && told.contains("read without the lease"),
        "{told}"
    );
    drop(writer);
}

#[test]
fn json_has_what_is_open_on_its_first_line() {
    let world = World::new();
    world.interrupted("s1");
    let told = world.run("wake s1 --json").json();
    assert_eq!(told[0]["type"], "wake");
    assert_eq!(told[0]["tail"], 5);
    let open = &told[0]["interrupted"];
    assert_eq!(
        open["turns"],
        serde_json::json!([{"seq": 1, "turn": "t1", "agent": null}])
    );
    assert_eq!(
        open["calls"],
        serde_json::json!([{"seq": 3, "id": "c1", "name": "bash"}])
    );
    assert_eq!(open["permissions"][0]["id"], "p1");
    assert_eq!(
        (&open["cut"], &open["unanswered"]),
        (&false.into(), &true.into())
    );
    assert_eq!(told.len(), 4);
    assert_eq!(told[1]["natives"][0]["content"], "list the files");
    assert_eq!(told[2]["calls"][0]["id"], "c1");
    assert_eq!(told[3]["origin"], "closing");
    assert_eq!(told[3]["answers"][0], "c1");
}

#[test]
fn a_session_that_was_ended_well_says_so() {
    let world = World::new();
    let say = r#"{"role":"user","message":{"content":"hi"}}"#;
    let reply = r#"{"role":"assistant","message":{"content":"hello"}}"#;
    world.session("s1", &[("message", say), ("message", reply)]);
    let out = world.run("wake s1").ok();
    assert!(out.contains("nothing was interrupted"), "{out}");
    world.session("s2", &[("message", say)]);
    let out = world.run("wake s2").ok();
    assert!(
        out.contains("interrupted:\n  the model has not replied to the last message"),
        "{out}"
    );
}
