//! `import`: sessions of other tools.

mod progress;
mod tally;
mod tell;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sessionlog::{Error, Store};

use self::progress::Progress;
use self::tally::Tally;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::import::{Candidate, Format, Options, import_file, scan};

/// Import sessions of other tools: Claude Code, Codex, kvit-coder
///
/// Folders are walked, and formats are found by what is in the files. Every record is kept byte for
/// byte. Damaged lines are kept as well, and reported. A second import adds only what is new. The
/// files themselves are never changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog import ~/.claude/projects ~/.codex/sessions
  sessionlog import --dry-run ~/.codex       says what would be imported
  sessionlog import --format lines log.jsonl any JSON Lines, as records")]
pub(crate) struct Import {
    /// Files, and folders with files
    #[arg(required = true, value_name = "PATH")]
    path: Vec<PathBuf>,

    /// Write nothing, and say what would be written
    #[arg(long)]
    dry_run: bool,

    /// The format of all files, instead of what they look like
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

impl Import {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let found = scan(&self.path, self.format)?;
        let mut tally = Tally::new(self.dry_run, found.ignored);
        let bytes = found.candidates.iter().map(|c| c.bytes).sum();
        let progress = Progress::new(bytes, cx);
        for (path, why) in &found.unreadable {
            let error = Error::unavailable(format!("can't be read: {why}"));
            tally.failed(&error);
            tell::failed(path, &error, cx)?;
        }
        for candidate in &found.candidates {
            let imported = self.one(&store, candidate, &progress).await;
            progress.done(candidate.bytes);
            progress.aside(|| match imported {
                Ok(outcome) => {
                    // What a person names is meant; what lies in a folder may be anything.
                    let meant = self.path.contains(&candidate.path);
                    if tally.add(&outcome, meant) || cx.json() {
                        tell::outcome(&outcome, self.dry_run, cx)?;
                    }
                    Ok(())
                }
                Err(error) => {
                    tally.failed(&error);
                    tell::failed(&candidate.path, &error, cx)
                }
            })?;
        }
        progress.finish();
        tally.tell(cx)?;
        Ok(tally.exit().unwrap_or(Exit::OK))
    }

    async fn one(
        &self,
        store: &Store,
        candidate: &Candidate,
        progress: &Progress,
    ) -> sessionlog::Result<crate::import::Outcome> {
        let options = Options {
            dry_run: self.dry_run,
            format: self.format,
        };
        import_file(store, candidate, &options, &mut |bytes| progress.at(bytes)).await
    }
}
