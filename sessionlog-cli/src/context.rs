//! What a command works with.

use std::io::Write;

use serde::Serialize;
use sessionlog::{Error, ErrorKind, Session, SessionId, Store};

use crate::app::{App, Terminal};
use crate::args::Globals;
use crate::failure::Outcome;
use crate::json;
use crate::text::Paint;

/// The streams and the options that all commands share.
pub(crate) struct Context<'a, 'io> {
    app: &'a mut App<'io>,
    globals: &'a Globals,
}

impl<'a, 'io> Context<'a, 'io> {
    pub(crate) fn new(app: &'a mut App<'io>, globals: &'a Globals) -> Self {
        Self { app, globals }
    }

    /// Standard output.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        self.app.out
    }

    /// Standard error.
    pub(crate) fn err(&mut self) -> &mut dyn Write {
        self.app.err
    }

    /// Standard input.
    pub(crate) fn input(&mut self) -> &mut dyn std::io::BufRead {
        self.app.input
    }

    pub(crate) fn terminal(&self) -> Terminal {
        self.app.terminal
    }

    /// Whether JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.globals.json
    }

    /// Colours for standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint::new(self.app.terminal.colour_out)
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json_line<T: Serialize + ?Sized>(&mut self, value: &T) -> Outcome<()> {
        Ok(json::line(self.out(), value)?)
    }

    /// A line of advice for a person; none with `--json`.
    pub(crate) fn hint(&mut self, text: &str) -> Outcome<()> {
        if !self.json() {
            // Advice comes behind what it is about.
            self.app.out.flush()?;
            let paint = Paint::new(self.app.terminal.colour_err);
            writeln!(self.app.err, "{} {text}", paint.dim("hint:"))?;
        }
        Ok(())
    }

    /// The URL of the store, given or by default.
    pub(crate) fn url(&self) -> Outcome<String> {
        match &self.globals.store {
            Some(url) => Ok(url.clone()),
            None => Ok(default_store()?),
        }
    }

    /// Whether a store was named.
    pub(crate) fn store_is_named(&self) -> bool {
        self.globals.store.is_some()
    }

    /// Opens the store.
    pub(crate) async fn store(&self) -> Outcome<Store> {
        match &self.app.store {
            Some(store) => Ok(store.clone()),
            None => Ok(self.open(&self.url()?).await?),
        }
    }

    /// The environment.
    pub(crate) fn vars(&self) -> &[(String, String)] {
        &self.app.vars
    }

    /// Opens a store by its URL.
    pub(crate) async fn open(&self, url: &str) -> sessionlog::Result<Store> {
        sessionlog::open_with_vars(url, self.app.vars.iter().cloned()).await
    }

    /// Opens the session with this name or unique prefix.
    pub(crate) async fn session(&self, prefix: &str) -> Outcome<Session> {
        let store = self.store().await?;
        Ok(store.open(&find(&store, prefix).await?).await?)
    }

    /// Opens the session with this name or unique prefix, or the one in which it goes on.
    pub(crate) async fn session_or_latest(&self, prefix: &str, latest: bool) -> Outcome<Session> {
        let store = self.store().await?;
        let id = find(&store, prefix).await?;
        Ok(match latest {
            true => store.open_latest(&id).await?,
            false => store.open(&id).await?,
        })
    }
}

/// The id with this prefix; a prefix that no id can have is told as such. A session goes before its
/// own sub-agents, whose names go on behind its name.
pub(crate) async fn find(store: &Store, prefix: &str) -> sessionlog::Result<SessionId> {
    SessionId::new(prefix)?;
    let several = match store.find(prefix).await {
        Err(error) if *error.kind() == ErrorKind::InvalidInput => error,
        found => return found,
    };
    let mut ids = store.ids().await?;
    ids.retain(|id| id.as_str().starts_with(prefix));
    let Some(shortest) = ids.iter().min_by_key(|id| id.as_str().len()) else {
        return Err(several);
    };
    let of_it = format!("{shortest}.agent-");
    let own = |id: &SessionId| id == shortest || id.as_str().starts_with(&of_it);
    match ids.iter().all(own) {
        true => Ok(shortest.clone()),
        false => Err(several),
    }
}

/// A JSONL store in the platform's folder for data.
fn default_store() -> sessionlog::Result<String> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|e| {
        Error::invalid("there is no home folder, name the store with --store").with_source(e)
    })?;
    let folder = strategy.data_dir().join("sessionlog");
    match folder.to_str() {
        Some(path) => Ok(format!("jsonl:{path}")),
        None => Err(Error::invalid(format!(
            "the path of the folder for data is not UTF-8, name the store with --store: {}",
            folder.display()
        ))),
    }
}
