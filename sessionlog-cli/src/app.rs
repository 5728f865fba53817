//! What the program has of the world.

use std::io::{BufRead, Write};

use sessionlog::Store;

/// The streams of the program, and what is known of who sits at them.
pub struct App<'a> {
    /// Where results go.
    pub out: &'a mut dyn Write,
    /// Where errors, hints, questions and progress go.
    pub err: &'a mut dyn Write,
    /// What `append` reads, and the answers of a person.
    pub input: &'a mut dyn BufRead,
    /// Which of them are terminals.
    pub terminal: Terminal,
    /// The environment, from which clients of object storage take credentials and options.
    pub vars: Vec<(String, String)>,
    /// A store to use instead of the one that is named: for tests on a store in memory.
    pub store: Option<Store>,
}

/// Which streams lead to a person.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// Standard input is a terminal: questions can be asked.
    pub input: bool,
    /// Standard output is a terminal.
    pub out: bool,
    /// Standard error is a terminal: progress can be shown.
    pub err: bool,
    /// Colours are wanted on standard output.
    pub colour_out: bool,
    /// Colours are wanted on standard error.
    pub colour_err: bool,
    /// Columns of the terminal, if there is one.
    pub width: Option<u16>,
}

impl std::fmt::Debug for App<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("terminal", &self.terminal)
            .finish_non_exhaustive()
    }
}
