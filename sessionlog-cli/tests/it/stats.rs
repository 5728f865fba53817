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

#[test]
fn tokens_are_told_by_model_with_the_part_that_a_cache_had() {
    let world = World::new();
    world.session(
        "s1",
        &[
            ("message", r#"{"role":"assistant","model":"m1","response":"a","usage":{"input":10,"cache_read":90,"output":5}}"#),
            ("message", r#"{"role":"assistant","model":"m2","response":"b","usage":{"input":100,"output":5}}"#),
            ("rollback", r#"{"dropped":1}"#),
            ("message", r#"{"role":"user","agent":"a1","message":"x"}"#),
            ("message", "17"),
        ],
    );
    let told = &world.run("stats s1 --json").json()[0];
    assert_eq!(told["models"]["m1"]["cache_read"], 90);
    assert_eq!(told["models"]["m2"]["input"], 100);
    assert_eq!(told["cache_hit_rate"], 0.45);
    assert_eq!(
        (&told["branches"], &told["agents"][0]),
        (&1.into(), &"a1".into())
    );
    assert_eq!(told["oddities"][0]["odd"], "unfit");
    assert_eq!(told.get("cost_by_prices"), None);
    let text = world.run("stats s1").ok();
    assert!(text.contains("cache hits    45.0 %"), "{text}");
    assert!(
        text.contains("odd           1 of message: the payload does not fit"),
        "{text}"
    );
}

#[test]
fn a_cost_by_prices_needs_a_price_for_every_model() {
    let world = World::new();
    world.interrupted("s1");
    let folder = tempfile::tempdir().unwrap();
    let table = |text: &str| {
        let path = folder.path().join("prices.json");
        std::fs::write(&path, text).unwrap();
        format!("stats s1 --json --prices {}", path.display())
    };
    let m1 = r#"{"m1":{"input":1,"cache_read":0.1,"cache_write":2,"output":10}}"#;
    let told = &world.run(&table(m1)).json()[0];
    let cost = told["cost_by_prices"].as_f64().unwrap();
    assert!((cost - 50.5e-6).abs() < 1e-12, "{cost}");
    assert_eq!(told["cost"], serde_json::Value::Null);
    let told = &world.run(&table(&m1.replace("m1", "m1-mini"))).json()[0];
    assert_eq!(told.get("cost_by_prices"), Some(&serde_json::Value::Null));
    let told = world.run(&table(r#"{"m1":{"input":1}}"#)).failed(2);
    assert!(told.contains("missing field `cache_read`"), "{told}");
    world.run("stats s1 --prices /no/such/file").failed(3);
}
