//! Durable, replayable session logs for AI agents, on any storage.
//!
//! A session is an append-only log of events: messages, tool calls, results, permissions, usage.
//! What was acknowledged survives a crash and a power cut; what is read is proven unchanged; two
//! drivers never mix their lines. This crate opens a [`Store`] by URL and re-exports
//! `sessionlog-core`, which has the types and the [guarantees](sessionlog_core#guarantees).
//!
//! ```
//! use sessionlog::{Kind, LeaseRequest, NewEvent, Owner, SeqNum};
//!
//! # pollster::block_on(async {
//! let store = sessionlog::open("memory:").await?;
//! let session = store.create("s1".parse()?).await?;
//!
//! // The lease makes this process the one driver; the append is durable when it returns.
//! let writer = session.acquire(LeaseRequest::new(Owner::new("my-harness")?)).await?;
//! let hi = r#"{"role":"user","message":{"role":"user","content":"hi"}}"#;
//! writer.append_one(NewEvent::json(Kind::from_static("message"), hi)?).await?;
//! writer.release().await?;
//!
//! // Any process reads, from any position, verified.
//! let mut events = session.read(SeqNum::all());
//! while let Some(event) = events.next().await {
//!     println!("{}", event?.data);
//! }
//! # Ok::<(), sessionlog::Error>(()) }).unwrap();
//! ```
//!
//! # Backends
//!
//! | URL | feature | what it is |
//! |---|---|---|
//! | `jsonl:path` | `jsonl` (default) | a folder with one readable file per session |
//! | `sqlite:path` | `sqlite` | one SQLite database for many sessions |
//! | `redb:path` | `redb` | one redb database for many sessions, in pure Rust |
//! | `memory:` | – | nothing survives the process; for tests |

mod gc;
mod open;

pub use gc::{Garbage, gc};
pub use open::{open, open_with_vars, schemes, shown};
pub use sessionlog_core::*;

#[cfg(feature = "jsonl")]
pub use sessionlog_backend_jsonl as jsonl;
#[cfg(feature = "redb")]
pub use sessionlog_backend_redb as redb;
#[cfg(feature = "_objects")]
pub use sessionlog_backend_s3 as s3;
#[cfg(feature = "sqlite")]
pub use sessionlog_backend_sqlite as sqlite;
