//! A fleet on one bucket: workers in processes of their own take sessions from each other, while
//! they are killed, stopped and continued at random. At the end every acknowledged event must be
//! there once, every conversation must be valid, and the bill is printed.
//!
//! ```text
//! cargo run -p sessionlog-backend-s3 --example cloud -- [URL [BLOWS [SEED]]]
//! ```
//!
//! The URL is that of any store in object storage; without one, it is a folder of the temporary
//! folder. The environment gives credentials. What is written lies below a prefix of its own, and
//! is deleted at the end. The number of blows, 24 by default, bounds the run.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program may print"
)]

mod bill;
#[cfg(unix)]
mod fleet;
mod proof;
mod worker;

use std::process::ExitCode;

use sessionlog_backend_s3::{Bucket, Location, Options};
use sessionlog_core::{Error, ErrorKind, Result, SessionId, Store};

/// The sessions that the workers fight over.
fn sessions() -> Result<Vec<SessionId>> {
    (0..SESSIONS)
        .map(|n| SessionId::new(&format!("ticket-{n}")))
        .collect()
}

const SESSIONS: usize = 5;

fn location(url: &str) -> Result<Location> {
    Ok(Location::parse(url)?.vars(std::env::vars()))
}

/// The same place, one folder deeper.
fn below(url: &str, folder: &str) -> String {
    let (place, query) = match url.split_once('?') {
        Some((place, query)) if !url.starts_with("file:") => (place, format!("?{query}")),
        _ => (url, String::new()),
    };
    format!("{}/{folder}{query}", place.trim_end_matches('/'))
}

#[cfg(unix)]
fn run() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    if first.as_deref() == Some(worker::NAME) {
        let seed = args.next().and_then(|seed| seed.parse().ok());
        let url =
            std::env::var(worker::URL).map_err(|_| Error::invalid("the worker has no URL"))?;
        return pollster::block_on(worker::work(&url, seed.unwrap_or_default()));
    }
    let folder = tempfile::tempdir()
        .map_err(|e| Error::unavailable("there is no temporary folder").with_source(e))?;
    let url = first.unwrap_or_else(|| format!("file:{}", folder.path().display()));
    let number = |arg: Option<String>, default| match arg {
        Some(arg) => arg
            .parse()
            .map_err(|_| Error::invalid("a number is digits")),
        None => Ok(default),
    };
    let blows = number(args.next(), 24)?;
    let seed = number(args.next(), u64::from(std::process::id()))?;
    let url = below(&url, &format!("fleet-{}", SessionId::generate()));
    println!("{blows} blows, seed {seed}, {}", location(&url)?);
    pollster::block_on(async {
        let store = Store::new(Bucket::open(&location(&url)?, Options::default())?);
        for id in sessions()? {
            store.create(id).await?;
        }
        let told = fleet::run(&url, blows, seed)?;
        let proven = proof::prove(&store, &told).await;
        println!("{told}\n{}", told.bill);
        println!("{}", proven?);
        for id in sessions()? {
            delete(&store, &id).await?;
        }
        Ok(())
    })
}

/// Deletes a session once the lease of the last worker, which was killed, has run out.
#[cfg(unix)]
async fn delete(store: &Store, id: &SessionId) -> Result<()> {
    const TRIES: u32 = 50;
    for _ in 1..TRIES {
        match store.delete(id).await {
            Err(error) if matches!(error.kind(), ErrorKind::LeaseHeld { .. }) => {
                futures_timer::Delay::new(worker::TTL / 10).await;
            }
            done => return done,
        }
    }
    store.delete(id).await
}

#[cfg(not(unix))]
fn run() -> Result<()> {
    Err(Error::unsupported("stopping a process needs Unix"))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
