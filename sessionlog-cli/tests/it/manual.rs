use crate::files::Files;

#[test]
fn completions_know_every_command() {
    let files = Files::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = files.run(&format!("completions {shell}")).ok();
        for command in ["import", "repair", "completions"] {
            assert!(script.contains(command), "{shell}");
        }
        assert!(!script.contains("demo-driver"), "{shell}");
        assert!(shell != "bash" || script.contains("--apply"));
    }
    files.run("completions tcsh").failed(2);
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let files = Files::new();
    let page = files.run("man").ok();
    assert!(
        page.contains(".TH sessionlog 1") && page.contains("EXIT CODES"),
        "{page}"
    );
    files.run("man --dir pages").ok();
    for command in sessionlog_cli::command().get_subcommands() {
        let page = files.path(&format!("pages/sessionlog-{}.1", command.get_name()));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(".SH EXAMPLES"), "{page}");
    }
    assert!(files.path("pages/sessionlog.1").exists());
    std::fs::write(files.path("file"), "").unwrap();
    let told = files.run("man --dir file").failed(5);
    assert!(told.contains("the folder can't be made: file"), "{told}");
}
