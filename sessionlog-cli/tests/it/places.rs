//! Stores that are not there, are no stores, or must not be touched.

use crate::files::Files;

#[test]
fn a_path_without_a_scheme_says_what_to_write() {
    let files = Files::new();
    let told = files.run("ls --store /w/p").failed(2);
    assert!(told.contains("jsonl:/w/p"), "{told}");
    let told = files.run("ls --store ftp:x").failed(2);
    for scheme in sessionlog::schemes() {
        assert!(told.contains(&format!("{scheme}:")), "{told}");
    }
}

#[test]
fn a_store_that_is_not_there_is_empty_and_is_not_made_by_reading() {
    let files = Files::new();
    let told = files.run("ls");
    assert!(told.err.contains("no sessions yet"), "{told:?}");
    files.run("verify").ok();
    files.run("show x").failed(3);
    assert!(!files.path("store").exists());
}

#[test]
fn by_default_the_store_is_in_the_folder_for_data() {
    let files = Files::new();
    let mut command = files.command("append --create s1");
    let status = command
        .env_remove("SESSIONLOG_STORE")
        .env("XDG_DATA_HOME", files.path("data"));
    let output = status.stdin(std::process::Stdio::null()).output();
    assert!(output.unwrap().status.success());
    if cfg!(target_os = "linux") {
        assert!(files.path("data/sessionlog/s1").is_dir());
    }
}

#[test]
fn a_file_is_not_a_store() {
    let files = Files::new();
    std::fs::write(files.path("store"), "precious").unwrap();
    for args in ["ls", "show x", "append --create s1", "verify"] {
        let ran = files.run(args);
        assert!(
            ran.code != 0 && ran.err.contains("store"),
            "{args}: {ran:?}"
        );
    }
    assert_eq!(std::fs::read(files.path("store")).unwrap(), b"precious");
}

#[test]
fn a_folder_of_something_else_is_not_a_store() {
    let files = Files::new();
    std::fs::create_dir(files.path("store")).unwrap();
    std::fs::write(files.path("store/thesis.txt"), "precious").unwrap();
    for args in ["ls", "append --create s1"] {
        let ran = files.run(args);
        assert!(ran.code != 0, "{args}: {ran:?}");
    }
    assert_eq!(std::fs::read_dir(files.path("store")).unwrap().count(), 1);
}

#[test]
fn another_kind_and_a_newer_format_are_named() {
    let files = Files::new();
    files.feed("append --create s1", b"1").ok();
    let marker = files.path("store/sessionlog.json");
    for (text, word) in [
        (
            r#"{"store":"sessionlog","backend":"redb","format":1}"#,
            "redb",
        ),
        (
            r#"{"store":"sessionlog","backend":"jsonl","format":9}"#,
            "9",
        ),
    ] {
        std::fs::write(&marker, format!("{text}\n")).unwrap();
        for args in ["ls", "show s1", "append s1"] {
            let told = files.run(args).failed(7);
            assert!(told.contains(word), "{told}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_can_be_read() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let files = Files::new();
    files.feed("append --create s1", b"1").ok();
    let (store, session) = (files.path("store"), files.path("store/s1"));
    for folder in [&store, &session] {
        set_permissions(folder, Permissions::from_mode(0o500)).unwrap();
    }
    let log = session.join("events.jsonl");
    set_permissions(&log, Permissions::from_mode(0o400)).unwrap();
    files.run("ls").ok();
    files.run("show s1").ok();
    files.run("verify").ok();
    // Root may write all the same.
    if std::fs::write(session.join("probe"), "").is_err() {
        files.feed("append s1", b"2").failed(5);
        files.feed("append --create s2", b"2").failed(5);
    }
    for folder in [&store, &session] {
        set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    }
}
