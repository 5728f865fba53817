//! `completions`: for the shell.

use clap::Args;
use clap_complete::Shell;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog completions bash > ~/.local/share/bash-completion/completions/sessionlog
  sessionlog completions zsh > ~/.zfunc/_sessionlog
  sessionlog completions fish > ~/.config/fish/completions/sessionlog.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        // Into memory first: the generator panics on a stream that is closed.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::command(), "sessionlog", &mut script);
        cx.out().write_all(&script)?;
        Ok(Exit::OK)
    }
}
