//! The arguments of the program.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

#[cfg(feature = "conformance")]
use crate::commands::conformance;
use crate::commands::{
    append, audit, branches, completions, copy, demo, export, fork, gc, head, import, ls, man,
    repair, rm, rollback, show, stats, tail, verify, wake,
};
use crate::context::Context;
use crate::exit::EXIT_CODES;
use crate::failure::Outcome;

/// Durable, replayable session logs of AI agents
///
/// A session is an append-only log of events: messages, tool calls, results, permissions, usage.
/// Sessions are named by their id or by the beginning of it, as far as that is unique.
#[derive(Parser)]
#[command(
    name = "sessionlog",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Try it: sessionlog demo",
    after_long_help = format!("Try it: sessionlog demo\n\n{EXIT_CODES}"),
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of all commands.
#[derive(Args)]
pub(crate) struct Globals {
    /// The store, as scheme:place
    ///
    /// By default a JSONL store in the platform's folder for data: on Linux
    /// `jsonl:~/.local/share/sessionlog`.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "SESSIONLOG_STORE",
        hide_env_values = true,
        help_heading = "Options of all commands"
    )]
    pub(crate) store: Option<String>,

    /// Print JSON, one value a line; errors too, on standard error
    #[arg(long, global = true, help_heading = "Options of all commands")]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Import(import::Import),
    Ls(ls::Ls),
    Show(show::Show),
    Append(append::Append),
    Tail(tail::Tail),
    Export(export::Export),
    Copy(copy::Copy),
    Stats(stats::Stats),
    Wake(wake::Wake),
    Branches(branches::Branches),
    Rollback(rollback::Rollback),
    Head(head::Head),
    Fork(fork::Fork),
    Audit(audit::Audit),
    Verify(verify::Verify),
    Repair(repair::Repair),
    Rm(rm::Rm),
    Gc(gc::Gc),
    Demo(demo::Demo),
    #[command(skip)]
    DemoDriver(demo::Driver),
    #[cfg(feature = "conformance")]
    Conformance(conformance::Conformance),
    #[cfg(feature = "conformance")]
    #[command(skip)]
    ConformanceChild(conformance::Child),
    Completions(completions::Completions),
    Man(man::Man),
}

/// The child of `demo`, which the program starts itself: in no help, completion or manual.
#[derive(Parser)]
#[command(name = demo::DRIVER)]
struct DemoDriver {
    #[command(flatten)]
    globals: Globals,
    #[command(flatten)]
    driver: demo::Driver,
}

/// The child of `conformance`, likewise.
#[cfg(feature = "conformance")]
#[derive(Parser)]
#[command(name = conformance::CHILD)]
struct ConformanceChild {
    #[command(flatten)]
    globals: Globals,
    #[command(flatten)]
    child: conformance::Child,
}

impl Cli {
    /// Reads the arguments, of which the first is the program's name.
    pub(crate) fn read(args: &[OsString]) -> Result<Self, clap::Error> {
        match args {
            [_, driver @ ..] if driver.first().is_some_and(|name| name == demo::DRIVER) => {
                let DemoDriver { globals, driver } = DemoDriver::try_parse_from(driver)?;
                let command = Command::DemoDriver(driver);
                Ok(Self { globals, command })
            }
            #[cfg(feature = "conformance")]
            [_, child @ ..] if child.first().is_some_and(|name| name == conformance::CHILD) => {
                let ConformanceChild { globals, child } = ConformanceChild::try_parse_from(child)?;
                let command = Command::ConformanceChild(child);
                Ok(Self { globals, command })
            }
            args => Self::try_parse_from(args),
        }
    }
}

impl Command {
    /// Runs the command.
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        match self {
            Self::Import(it) => it.run(cx).await,
            Self::Ls(it) => it.run(cx).await,
            Self::Show(it) => it.run(cx).await,
            Self::Append(it) => it.run(cx).await,
            Self::Tail(it) => it.run(cx).await,
            Self::Export(it) => it.run(cx).await,
            Self::Copy(it) => it.run(cx).await,
            Self::Stats(it) => it.run(cx).await,
            Self::Wake(it) => it.run(cx).await,
            Self::Branches(it) => it.run(cx).await,
            Self::Rollback(it) => it.run(cx).await,
            Self::Head(it) => it.run(cx).await,
            Self::Fork(it) => it.run(cx).await,
            Self::Audit(it) => it.run(cx).await,
            Self::Verify(it) => it.run(cx).await,
            Self::Repair(it) => it.run(cx).await,
            Self::Rm(it) => it.run(cx).await,
            Self::Gc(it) => it.run(cx).await,
            Self::Demo(it) => it.run(cx).await,
            Self::DemoDriver(it) => it.run(cx).await,
            #[cfg(feature = "conformance")]
            Self::Conformance(it) => it.run(cx),
            #[cfg(feature = "conformance")]
            Self::ConformanceChild(it) => it.run(cx),
            Self::Completions(it) => it.run(cx),
            Self::Man(it) => it.run(cx),
        }
    }
}
