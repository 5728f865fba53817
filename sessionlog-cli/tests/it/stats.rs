use crate::support::World;

#[test]
fn counts_are_those_of_the_log() {
    let world = World::new();
    world.session(
        "s1",
        &[
            ("message", r#"{"role":"user"}"#),
            ("message", r#"{"role":"assistant","response":"r","calls":[{"id":"a","name":"x"},{"id":"b","name":"y"}],"usage":{"key":"r","input":10,"output":1}}"#),
            ("message", r#"{"role":"assistant","response":"r","usage":{"key":"r","input":10,"output":7,"reasoning":2}}"#),
            ("message", r#"{"role":"tool","results":[{"id":"b"}]}"#),
            ("usage.reported", r#"{"input":1,"cache_write":3,"cost":0.25}"#),
            ("odd.kind", "17"),
        ],
    );
    let told = &world.run("stats s1 --json").json()[0];
    assert_eq!(told["events"], 6);
    assert_eq!(told["kinds"]["message"]["events"], 4);
    assert_eq!(told["kinds"]["odd.kind"]["bytes"], 2);
    assert_eq!(
        told["messages"],
        serde_json::json!({"user": 1, "assistant": 2, "tool": 1})
    );
    assert_eq!(
        (&told["calls"], &told["results"], &told["unanswered"]),
        (&2.into(), &1.into(), &1.into())
    );
    let tokens = serde_json::json!({"input": 11, "cache_read": 0, "cache_write": 3, "output": 7, "reasoning": 2});
    assert_eq!(told["tokens"], tokens);
    assert_eq!(told["cost"], 0.25);
    assert_eq!(told["first"], "2026-05-04T08:00:00.000000Z");
    assert_eq!(told["last"], "2026-05-04T08:05:00.000000Z");
    let text = world.run("stats s1").ok();
    assert!(
        text.contains("2 (1 results, 1 unanswered)") && text.contains("$0.2500"),
        "{text}"
    );
}

#[test]
fn no_cost_is_invented() {
    let world = World::new();
    world.interrupted("s1");
    assert!(world.run("stats s1").ok().contains("cost          n/a"));
    assert_eq!(
        world.run("stats s1 --json").json()[0]["cost"],
        serde_json::Value::Null
    );
}
