use crate::support::World;

fn with(input: &str) -> World {
    let mut world = World::new();
    world.input = input.into();
    world
}

#[test]
fn lines_become_events_and_exact_bytes_stay() {
    let world = with("{\"role\":\"user\"}\r\n\n { \"n\" : 1e400 } \n[1]");
    world.session("s1", &[("x", "0")]);
    let told = world.run("append s1 --kind a.b --json").json();
    assert_eq!(told[0]["start"], 1);
    assert_eq!(told[0]["end"], 4);
    assert_eq!(told[0]["events"], 3);
    let shown = world.run("show s1 --json --kind a.b").ok();
    assert!(shown.contains(r#""data": { "n" : 1e400 } ,"#), "{shown}");
    assert_eq!(shown.lines().count(), 3);
    assert_eq!(world.run("append s1").ok(), "s1: 3 events appended, 4..7\n");
    assert_eq!(
        world
            .run("show s1 --json --kind message")
            .ok()
            .lines()
            .count(),
        3
    );
}

#[test]
fn a_wrong_line_appends_nothing_and_is_told_with_its_place() {
    let world = with("{}\n\n{\"a\": NaN}\n{}");
    world.session("s1", &[]);
    let told = world.run("append s1").failed(2);
    assert!(
        told.contains("line 3 column 7") && told.contains("nothing was appended"),
        "{told}"
    );
    assert_eq!(world.run("show s1 --json").ok(), "");
    world.run("append new --create").failed(2);
    world.run("show new").failed(3);
}

#[test]
fn bytes_that_are_not_text_are_told_with_their_place() {
    let mut world = World::new();
    world.input = b"1\n\"\xff\"\n".into();
    world.session("s1", &[]);
    let told = world.run("append s1").failed(2);
    assert!(told.contains("invalid UTF-8 at line 2 column 2"), "{told}");
}

#[test]
fn a_session_is_made_only_when_asked_for() {
    let world = with("1");
    world.run("append new").failed(3);
    assert_eq!(
        world.run("append new --create").ok(),
        "new: 1 event appended, 0..1\n"
    );
    assert_eq!(
        world.run("append new --create").ok(),
        "new: 1 event appended, 1..2\n"
    );
    let world = with("");
    assert_eq!(
        world.run("append empty --create").ok(),
        "empty: 0 events appended, 0..0\n"
    );
}

#[test]
fn more_than_a_batch_is_appended_in_batches() {
    let mut input = "1\n".repeat(10_000);
    input.push_str("2\n{");
    let world = with(&input);
    world.session("s1", &[]);
    let told = world.run("append s1").failed(2);
    assert!(told.contains("line 10002 column 1"), "{told}");
    assert!(told.contains("lines 1 to 10000 were appended"), "{told}");
    assert_eq!(world.run("show s1 --last 1 --json").json()[0]["seq"], 9_999);

    let world = with(&"1\n".repeat(25_000));
    assert_eq!(
        world.run("append s2 --create").ok(),
        "s2: 25000 events appended, 0..25000\n"
    );
}

#[test]
fn a_line_larger_than_an_event_may_be_is_refused_with_the_limit() {
    let world = with(&format!("1\n\"{}\"", "x".repeat(16 << 20)));
    world.session("s1", &[]);
    let told = world.run("append s1").failed(2);
    assert!(
        told.contains("line 2 is too long") && told.contains("16777216"),
        "{told}"
    );
}
