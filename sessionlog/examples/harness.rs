//! A harness in thirty lines: drive a session, append, read it back. The code of the README.
//!
//! ```text
//! cargo run -p sessionlog --example harness
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program may print"
)]

use sessionlog::{Kind, LeaseRequest, NewEvent, Owner, Result, SeqNum};

async fn drive(url: &str) -> Result<u64> {
    let store = sessionlog::open(url).await?;
    let session = store.open_or_create("fix-the-parser".parse()?).await?;

    // One driver at a time; a second one is told who it is. A killed one is replaced at once, and
    // what it still tries to write is refused.
    let owner = Owner::new(format!("my-harness, pid {}", std::process::id()))?;
    let writer = session.acquire(LeaseRequest::new(owner)).await?;

    // Durable when it returns. Shared by many tasks, their appends join one flush.
    let message = r#"{"role":"user","message":{"role":"user","content":"hi"}}"#;
    writer
        .append_one(NewEvent::json(Kind::from_static("message"), message)?)
        .await?;
    writer.release().await?;

    // Any process reads, from any position, verified; `follow` waits for more.
    let mut events = session.read(SeqNum::ZERO..SeqNum::MAX);
    let mut read = 0;
    while let Some(event) = events.next().await {
        drop(event?);
        read += 1;
    }
    Ok(read)
}

fn main() {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".into());
    match pollster::block_on(drive(&url)) {
        Ok(events) => println!("{events} events in {url}"),
        Err(error) => eprintln!("{error}"),
    }
}
