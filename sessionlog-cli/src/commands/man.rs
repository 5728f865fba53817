//! `man`: the manual.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man as Page;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, os_error};

/// Print the manual page, or write a page for each command into a folder
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog man | man -l -
  sessionlog man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write sessionlog.1, sessionlog-ls.1 and so on into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let mut command = crate::command();
        match &self.dir {
            None => cx.out().write_all(&page(&command)?)?,
            Some(dir) => {
                command.build();
                std::fs::create_dir_all(dir).map_err(|e| {
                    os_error(format!("the folder can't be made: {}", dir.display()), e)
                })?;
                write(dir, &command, cx)?;
            }
        }
        Ok(Exit::OK)
    }
}

fn write(dir: &Path, command: &clap::Command, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let path = dir.join(Page::new(command.clone()).get_filename());
    std::fs::write(&path, page(command)?)
        .map_err(|e| os_error(format!("the page can't be written: {}", path.display()), e))?;
    if cx.json() {
        cx.json_line(&serde_json::json!({ "page": path.to_string_lossy() }))?;
    } else {
        writeln!(cx.out(), "{}", path.display())?;
    }
    let commands = command.get_subcommands();
    for sub in commands.filter(|c| c.get_name() != "help") {
        write(dir, sub, cx)?;
    }
    Ok(())
}

/// The page of a command. What stands behind the options has a heading of its own, and its lines
/// stay as they are.
fn page(command: &clap::Command) -> Outcome<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command.clone()).render(&mut page)?;
    let text = String::from_utf8_lossy(&page);
    let text = text
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n.nf\n")
        .replace("\n\nExit codes:\n", "\n.SH \"EXIT CODES\"\n.nf\n");
    Ok(text.into_bytes())
}
