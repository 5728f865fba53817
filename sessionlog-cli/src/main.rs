//! The program `sessionlog`: hands the process's arguments and streams to [`sessionlog_cli::run`].

use std::ffi::OsString;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use sessionlog_cli::{App, Terminal, run};

fn main() -> ExitCode {
    #[cfg(feature = "redb")]
    pass_over_caught_panics();
    let (stdin, stdout, mut stderr) = (io::stdin(), io::stdout(), io::stderr());
    // What is exported or shown as JSON is never changed on its way out: colours are decided here,
    // once, and not stripped behind the writer.
    let terminal = Terminal {
        input: stdin.is_terminal(),
        out: stdout.is_terminal(),
        err: stderr.is_terminal(),
        colour_out: AutoStream::choice(&stdout) != ColorChoice::Never,
        colour_err: AutoStream::choice(&stderr) != ColorChoice::Never,
        width: terminal_size::terminal_size().map(|(width, _)| width.0),
    };
    // Neither is locked: a child of the suite tells on another thread, and reads its input; the handler of an
    // interrupt writes errors as well.
    let mut out = BufWriter::with_capacity(64 << 10, stdout);
    let exit = run(
        std::env::args_os(),
        &mut App {
            out: &mut out,
            err: &mut stderr,
            input: &mut BufReader::new(stdin),
            terminal,
            vars: utf8(std::env::vars_os()),
            store: None,
        },
    );
    drop(out.flush());
    exit.into()
}

/// Damage that makes redb panic is told as damage: what a panic prints helps nobody then.
#[cfg(feature = "redb")]
fn pass_over_caught_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !sessionlog::redb::catches_panics() {
            told(panic);
        }
    }));
}

/// Variables that are no text are none that anybody here knows.
fn utf8(vars: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    vars.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect()
}
