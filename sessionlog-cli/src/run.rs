//! From arguments to an exit code.

use std::ffi::OsString;
use std::io;

use clap::CommandFactory;
use clap::error::ErrorKind;
use serde::Serialize;

use crate::app::App;
use crate::args::Cli;
use crate::context::Context;
use crate::exit::Exit;
use crate::text::Paint;

/// Runs the program: `args` begin with its name. Everything it says goes to the streams of `app`.
pub fn run(args: impl IntoIterator<Item = OsString>, app: &mut App<'_>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::read(&args) {
        Ok(cli) => cli,
        // An error on a closed stream changes nothing about the exit.
        Err(told) => return usage(&told, &args, app).unwrap_or(Exit::INPUT),
    };
    let json = cli.globals.json;
    let mut context = Context::new(app, &cli.globals);
    let done = pollster::block_on(cli.command.run(&mut context));
    let done = done.and_then(|exit| Ok(app.out.flush().map(|()| exit)?));
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            // What was found before the failure comes before it.
            drop(app.out.flush());
            failure.report(app.err, json, Paint::new(app.terminal.colour_err))
        }
    }
}

/// The program's arguments, for completions and man pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Help and version go to standard output, complaints to standard error.
fn usage(told: &clap::Error, args: &[OsString], app: &mut App<'_>) -> io::Result<Exit> {
    let wanted = matches!(
        told.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    let (stream, colour, exit) = if wanted {
        (&mut *app.out, app.terminal.colour_out, Exit::OK)
    } else {
        (&mut *app.err, app.terminal.colour_err, Exit::INPUT)
    };
    let text = told.render();
    if !wanted && args.iter().any(|arg| arg == "--json") {
        let text = text.to_string();
        let (message, hint) = text.trim_end().split_once("\n\n").unwrap_or((&text, ""));
        crate::json::line(stream, &Usage::new(message, hint))?;
    } else if colour {
        write!(stream, "{}", text.ansi())?;
    } else {
        write!(stream, "{text}")?;
    }
    stream.flush()?;
    Ok(exit)
}

#[derive(Serialize)]
struct Usage<'a> {
    error: Complaint<'a>,
    hint: &'a str,
    exit: u8,
}

#[derive(Serialize)]
struct Complaint<'a> {
    kind: &'static str,
    message: &'a str,
    causes: [&'a str; 0],
}

impl<'a> Usage<'a> {
    fn new(message: &'a str, hint: &'a str) -> Self {
        let message = message.trim().trim_start_matches("error: ");
        Self {
            error: Complaint {
                kind: "invalid-input",
                message,
                causes: [],
            },
            hint: hint.trim(),
            exit: Exit::INPUT.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn arguments_are_consistent() {
        super::command().debug_assert();
    }
}
