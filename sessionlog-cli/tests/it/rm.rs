use crate::support::{World, drive};

#[test]
fn deleting_asks_first() {
    let mut world = World::new();
    world.interrupted("s1");
    let told = world.run("rm s1").failed(2);
    assert!(told.contains("--yes"), "{told}");

    world.terminal.input = true;
    world.input = b"n\n".into();
    let told = world.run("rm s1");
    assert!(
        told.err.contains("list the files") && told.err.contains("[y/N]"),
        "{told:?}"
    );
    assert_eq!(told.ok(), "");
    world.run("show s1").ok();

    world.input = b"y\n".into();
    assert_eq!(world.run("rm s1").ok(), "deleted s1\n");
    world.run("show s1").failed(3);
}

#[test]
fn all_names_are_looked_up_before_anything_is_deleted() {
    let world = World::new();
    world.interrupted("s1");
    world.interrupted("t1");
    world.run("rm --yes s1 nobody").failed(3);
    world.run("show s1").ok();
    let told = world.run("rm --yes --json s1 s t1").json();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], serde_json::json!({"id": "s1", "deleted": true}));
}

#[test]
fn a_driven_session_is_not_deleted() {
    let world = World::new();
    let session = world.interrupted("s1");
    let writer = drive(&session);
    let told = world.run("rm --yes s1").failed(4);
    assert!(told.contains("the test"), "{told}");
    world.run("show s1").ok();
    drop(writer);
}
