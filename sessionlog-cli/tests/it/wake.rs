use crate::support::{World, drive};

#[test]
fn what_was_interrupted_is_told_before_the_conversation() {
    let world = World::new();
    world.interrupted("s1");
    let out = world.run("wake s1").ok();
    for line in [
        "s1: 5 events, lease 1",
        "interrupted:",
        "  turn t1 did not end (#1)",
        "  call → bash c1 has no result (#3)",
        "  permission p1 waits: bash ls (#4)",
        "list the files",
        "→ bash c1",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(!out.contains("session.started"), "{out}");
    // The lease was given back, and a second wake changes nothing but its number.
    assert!(world.run("wake s1").ok().contains("5 events, lease 2"));
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
    assert_eq!(open["turn"], serde_json::json!({"seq": 1, "turn": "t1"}));
    assert_eq!(open["calls"][0]["name"], "bash");
    assert_eq!(open["permissions"][0]["id"], "p1");
    assert_eq!(told[1]["kind"], "message");
    assert_eq!(told.len(), 3);
}

#[test]
fn a_session_that_was_ended_well_says_so() {
    let world = World::new();
    world.session(
        "s1",
        &[("message", r#"{"role":"user","message":{"content":"hi"}}"#)],
    );
    assert!(
        world
            .run("wake s1")
            .ok()
            .contains("nothing was interrupted")
    );
}
