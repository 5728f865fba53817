use crate::support::World;

#[test]
fn the_last_events_are_shown() {
    let world = World::new();
    world.session("s1", &[("x", "1"); 30]);
    let seqs = |args: &str| -> Vec<u64> {
        let lines = world.run(args).json();
        lines.iter().map(|e| e["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs("tail s1 --json"), (20..30).collect::<Vec<_>>());
    assert_eq!(seqs("tail s1 --json -n 2"), [28, 29]);
    assert!(seqs("tail s1 --json -n 0").is_empty());
    assert_eq!(world.run("tail -n 1 s1").ok(), "· #29 x 1\n");
}
