use crate::files::Files;

#[test]
fn nothing_acknowledged_is_missing() {
    let files = Files::new();
    let out = files.run("demo").ok();
    for line in [
        "The session was live before, and is idle now.",
        "call → bash call-2 has no result (#5)",
        "6 of 6 acknowledged events are there, byte for byte.",
        "Nothing that was acknowledged is missing.",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    // On a store of the user's own nothing stays.
    assert_eq!(files.run("ls --json").ok(), "");
}

#[test]
fn the_session_can_be_kept_and_looked_at() {
    let files = Files::new();
    let told = &files.run("demo --keep --json").json()[0];
    assert_eq!(told["ok"], true);
    assert_eq!(told["acknowledged"], 6);
    assert_eq!(told["present"], 6);
    let id = told["id"].as_str().unwrap();
    assert_eq!(
        files.run(&format!("stats {id} --json")).json()[0]["unanswered"],
        1
    );
}

#[test]
fn without_a_store_a_temporary_one_is_used_and_removed() {
    let files = Files::new();
    let run = |args: &str| {
        let temporary = files.path("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let mut command = files.command(args);
        let output = command
            .env_remove("SESSIONLOG_STORE")
            .env("TMPDIR", &temporary)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        (
            String::from_utf8(output.stdout).unwrap(),
            std::fs::read_dir(&temporary).unwrap().count(),
        )
    };
    let (first, left) = run("demo");
    assert_eq!(left, 0);
    assert_eq!(run("demo").0.lines().count(), first.lines().count());
    let (told, left) = run("demo --keep");
    assert_eq!(left, 1);
    assert!(
        told.contains("Look at it: sessionlog --store jsonl:"),
        "{told}"
    );
    assert!(!files.path("store").exists());
}

#[test]
fn a_store_in_memory_is_refused() {
    let told = Files::new().run("demo --store memory:").failed(7);
    assert!(told.contains("a child process can't reach"), "{told}");
}
