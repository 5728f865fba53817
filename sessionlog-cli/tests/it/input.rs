//! Wrong input: every complaint names what is wrong and what to do.

use crate::support::{World, drive, json_lines};

#[test]
fn names_that_mean_nothing_or_two_are_refused() {
    let world = World::new();
    world.interrupted("abc-1");
    world.interrupted("abc-2");
    for command in [
        "show", "tail", "stats", "wake", "verify", "repair", "rm --yes", "append", "branches",
        "rollback", "fork", "audit",
    ] {
        let told = world.run(&format!("{command} ../etc/passwd")).failed(2);
        assert!(told.contains("session id"), "{told}");
        let told = world.run(&format!("{command} a/b")).failed(2);
        assert!(told.contains("is not one of A-Z a-z 0-9 . _ -"), "{told}");
        let told = world.run(&format!("{command} nobody")).failed(3);
        assert!(
            told.contains("nobody") && told.contains("hint: see what there is"),
            "{told}"
        );
        let told = world.run(&format!("{command} abc")).failed(2);
        assert!(told.contains("abc-1, abc-2"), "{told}");
    }
}

#[test]
fn an_error_is_json_where_json_is_wanted() {
    let world = World::new();
    let told = json_lines(&world.run("show nobody --json").failed(3));
    assert_eq!(told[0]["error"]["kind"], "not-found");
    assert_eq!(told[0]["exit"], 3);
    assert!(told[0]["hint"].as_str().unwrap().contains("sessionlog ls"));
    let told = json_lines(&world.run("--json nonsense").failed(2));
    assert_eq!(told[0]["error"]["kind"], "invalid-input");
    assert!(
        told[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nonsense")
    );

    let session = world.interrupted("s1");
    let writer = drive(&session);
    let told = json_lines(&world.run("wake s1 --json").failed(4));
    assert_eq!(told[0]["error"]["kind"], "lease-held");
    assert_eq!(told[0]["error"]["holder"]["owner"], "the test");
    drop(writer);
}

#[test]
fn every_command_has_help_with_examples() {
    let world = World::new();
    let all = world.run("--help").ok();
    assert!(all.contains("Exit codes:"), "{all}");
    for command in sessionlog_cli::command().get_subcommands() {
        let name = command.get_name();
        if name != "help" {
            let help = world.run(&format!("{name} --help")).ok();
            assert!(help.contains("Examples:"), "{name}: {help}");
            assert!(all.contains(name), "{name}");
        }
    }
    assert!(world.run("--version").ok().starts_with("sessionlog "));
    world.run("").failed(2);
}
