use serde_json::json;

use crate::support::World;

#[test]
fn both_sides_of_a_fork_know_of_it_and_usage_counts_once() {
    let world = World::new();
    world.interrupted("s1");
    let ran = world.run("fork s1 --at 4 --to s2");
    assert_eq!(ran.ok(), "s2: 4 events of s1\n");
    // The call that was open where it was forked is closed.
    let out = world.run("show s2").ok();
    assert!(
        out.contains("list the files") && out.contains("closed by replay"),
        "{out}"
    );
    let stats = |id: &str| world.run(&format!("stats {id} --json")).json().remove(0);
    let (one, two) = (stats("s1"), stats("s2"));
    assert_eq!(one["forks"], json!([{"into": "s2", "at": 4}]));
    assert_eq!(two["forked_from"], json!({"from": "s1", "at": 4}));
    assert_eq!(two["inherited"], one["tokens"]);
    assert_eq!(two["tokens"], one["tokens"]);
    assert!(
        world
            .run("stats s1")
            .ok()
            .contains("forked into   s2 at #4")
    );
    let out = world.run("stats s2").ok();
    assert!(out.contains("forked from   s1 at #4"), "{out}");

    let told = world.run("fork s1 --json").json();
    assert_eq!(
        (&told[0]["from"], &told[0]["at"]),
        (&json!("s1"), &json!(6))
    );
    let id = told[0]["id"].as_str().unwrap();
    assert!(
        world
            .run(&format!("show {id}"))
            .ok()
            .contains("list the files")
    );
}

#[test]
fn a_fork_that_can_not_be_is_refused() {
    let world = World::new();
    world.interrupted("s1");
    world.session("s2", &[("a", "1")]);
    let told = world.run("fork s1 --at 99").failed(2);
    assert!(told.contains("5 events, wanted 99"), "{told}");
    world.run("fork s1 --to s1").failed(2);
    world.run("fork s1 --to s2").failed(4);
    world.run("fork s1 --to a/b").failed(2);
    world.run("fork s1 --at x").failed(2);
}
