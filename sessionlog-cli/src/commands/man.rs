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
            None => Page::new(command).render(cx.out())?,
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
    let page = Page::new(command.clone());
    let path = dir.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)?;
    std::fs::write(&path, text)
        .map_err(|e| os_error(format!("the page can't be written: {}", path.display()), e))?;
    writeln!(cx.out(), "{}", path.display())?;
    let commands = command.get_subcommands();
    for sub in commands.filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        write(dir, sub, cx)?;
    }
    Ok(())
}
