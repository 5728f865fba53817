use crate::files::Files;

#[test]
fn a_damaged_session_is_shown_as_far_as_it_can_be_read() {
    let files = Files::new();
    for n in 0..4 {
        let line = format!(r#"{{"role":"user","message":{{"content":"word {n}"}}}}"#);
        files.feed("append --create bad", line.as_bytes()).ok();
    }
    let log = files.path("store/bad/events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("word 2", "w0rd 2")).unwrap();
    for args in ["show bad", "show bad --all", "export bad --format text"] {
        let ran = files.run(args);
        assert_eq!(ran.code, 6, "{args}: {ran:?}");
        assert!(
            ran.out.contains("word 1") && !ran.out.contains("word 3"),
            "{args}: {ran:?}"
        );
        assert!(ran.err.contains("event 2"), "{args}: {ran:?}");
    }
    files.run("branches bad").failed(6);
    files.run("rollback bad --dry-run").failed(6);
}
