use crate::files::Files;

fn session() -> Files {
    let files = Files::new();
    files
        .feed(
            "append --create s1",
            b"{\"role\":\"user\",\"message\":{\"content\":\"\\u001bhi\"}}\n[1]",
        )
        .ok();
    files
}

#[test]
fn events_and_text_are_written() {
    let files = session();
    let events = files.run("export s1 --format events").ok();
    assert_eq!(events, files.run("show s1 --json").ok());
    let text = files.run("export s1 --format text").ok();
    assert!(
        text.contains("\u{241b}hi") && !text.contains('\u{1b}'),
        "{text}"
    );
    let told = files.run("export s1").failed(2);
    assert!(told.contains("was not imported"), "{told}");
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let files = session();
    std::fs::write(files.path("out"), "before").unwrap();
    files.run("export s1 -o out").failed(2);
    assert_eq!(std::fs::read(files.path("out")).unwrap(), b"before");
    files.run("export s1 --format events -o out").ok();
    let written = std::fs::read_to_string(files.path("out")).unwrap();
    assert_eq!(written, files.run("show s1 --json").ok());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(files.path("out"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    files
        .run("export s1 --format events -o no/such/folder")
        .failed(3);
    let left = std::fs::read_dir(files.path(".")).unwrap();
    let left = left.filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("export")
    });
    assert_eq!(left.count(), 0);
}
