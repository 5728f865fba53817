use crate::support::World;

#[test]
fn a_clean_store_is_told_as_such() {
    let world = World::new();
    assert_eq!(
        world.run("verify").ok(),
        "0 sessions checked: 0 clean, 0 damaged\n"
    );
    world.interrupted("s1");
    world.interrupted("s2");
    assert_eq!(
        world.run("verify").ok(),
        "2 sessions checked: 2 clean, 0 damaged\n"
    );
    assert_eq!(
        world.run("verify s1").ok(),
        "clean s1\n1 session checked: 1 clean, 0 damaged\n"
    );
    let told = world.run("verify --json").json();
    assert_eq!(told[0]["type"], "summary");
    assert_eq!(told[0]["clean"], 2);
}

#[test]
fn there_is_nothing_to_repair_in_a_clean_session() {
    let world = World::new();
    world.interrupted("s1");
    assert_eq!(
        world.run("repair s1").ok(),
        "s1: nothing to repair, 5 events whole\n"
    );
    let told = &world.run("repair s1 --apply --json").json()[0];
    assert_eq!(told["applied"], true);
    assert_eq!(told["events"], 5);
}
