//! `export`: a session given out as a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sessionlog::{SeqNum, Session};

use crate::context::Context;
use crate::exit::Exit;
use crate::export;
use crate::failure::{Outcome, os_error};
use crate::json;
use crate::story::{Story, Teller};
use crate::text::Paint;

/// Write a session out: the file it was imported from, its events, or text to read
///
/// The original is given back byte for byte, with everything that was damaged in it. A file is
/// private to its owner and appears only when it is whole.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog export 019ab3 -o session.jsonl         the file it was imported from
  sessionlog export 019ab3 --format events | gzip   every event, one JSON object a line
  sessionlog export 019ab3 --format text | less")]
pub(crate) struct Export {
    /// The session: its id, or the beginning of it
    id: String,

    /// What is written
    #[arg(long, value_enum, default_value_t = Format::Original)]
    format: Format,

    /// Of an imported session, a file beside the log instead: meta.json of kvit-coder
    #[arg(long, value_name = "NAME", conflicts_with = "format")]
    sidecar: Option<String>,

    /// Write to this file instead of standard output; one that is there is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The file that the session was imported from, byte for byte
    Original,
    /// Every event, one JSON object a line
    Events,
    /// What `show --all` prints
    Text,
}

impl Export {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        match &self.output {
            None => self.write(&session, cx.out()).await?,
            Some(path) => self.file(&session, path).await?,
        }
        Ok(Exit::OK)
    }

    async fn write(&self, session: &Session, mut out: &mut dyn Write) -> Outcome<()> {
        if let Some(name) = &self.sidecar {
            export::sidecar(session, name, &mut out).await?;
            return Ok(());
        }
        match self.format {
            Format::Original => {
                export::original(session, &mut out).await?;
            }
            Format::Events => events(session, out, |out, event| json::event(out, event)).await?,
            Format::Text => {
                let mut story = Story::read(session, None).await?;
                let teller = Teller {
                    paint: Paint::new(false),
                    width: None,
                    json: false,
                    all: true,
                };
                teller.tell(session, &story, out).await?;
                story.end()?;
            }
        }
        Ok(())
    }

    /// Writes beside the file and renames, so that nobody ever sees half of it.
    async fn file(&self, session: &Session, path: &Path) -> Outcome<()> {
        let refused = |e| os_error(format!("the file can't be written: {}", path.display()), e);
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // A temporary file has the mode 0600 from its first moment on.
        let mut file = tempfile::Builder::new()
            .prefix(".sessionlog-export-")
            .tempfile_in(folder)
            .map_err(refused)?;
        {
            let mut out = std::io::BufWriter::with_capacity(256 << 10, file.as_file_mut());
            self.write(session, &mut out).await?;
            out.flush().map_err(refused)?;
        }
        file.as_file().sync_all().map_err(refused)?;
        file.persist(path).map_err(|e| refused(e.error))?;
        Ok(())
    }
}

async fn events(
    session: &Session,
    out: &mut dyn Write,
    mut write: impl FnMut(&mut dyn Write, &sessionlog::Event) -> std::io::Result<()>,
) -> Outcome<()> {
    let mut events = session.read(SeqNum::all());
    while let Some(chunk) = events.next_chunk().await {
        for event in &chunk? {
            write(out, event)?;
        }
    }
    Ok(())
}
