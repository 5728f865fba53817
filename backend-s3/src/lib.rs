//! Session logs in object storage: S3 and what speaks its protocol, GCS, Azure, a folder, memory.
//!
//! [`Bucket`] implements the traits of `sessionlog-core` on any
//! [`ObjectStore`](object_store::ObjectStore); hand it to a [`Store`](sessionlog_core::Store).
//! [`Location`] makes the client from a URL. What lies in the bucket is written down in
//! `FORMAT.md`.
//!
//! # What it promises, and how
//!
//! - Every guarantee of `sessionlog-core`, from any number of processes, on a store with atomic
//!   conditional creates and consistent lists. [`Location::connect`] probes for both.
//! - A session is a row of numbered heads. Each write creates the next head, on the condition that
//!   there is none. Who was overtaken finds the slot taken; no clock is in it. Who takes over the
//!   writing puts a fence first, and lists the heads once more.
//! - That a put failed or met an object says nothing of what became of it: the slot is read, and
//!   the same bytes are put again until it is known, at most [`Options::tries`] times and for
//!   [`Options::deadline`]. Then the answer is `Indeterminate`, and nothing else is written before
//!   it is settled.
//! - Leases are timed: liveness, no safety. A lease lapses when its holder wrote nothing for its
//!   time to live, by the holder's clock and one's own, or by one's own watch alone.
//! - The engine has no thread and no task: the futures that wait drive what is under way. The
//!   client of a [`Location`] of a cloud has a thread for its HTTP, and timers have one.
//!
//! # Requests
//!
//! | operation | PUT | GET | LIST | DELETE |
//! |---|---|---|---|---|
//! | create | 2 | | | |
//! | append, where this handle wrote last; however many wait | 1 | | | |
//! | every 64 appends | | | | 1 |
//! | append once more what another handle wrote: as head, and | | 1 | | |
//! | seal, every 64 KiB of events | 1 | 1 | | |
//! | every 8th seal merges chunks | | 7 | | |
//! | take over the writing, with or without a lease | 1 | 1 | 2 | |
//! | … if the newest head is a fence, before the first append | | 1 | | |
//! | lease granted, renewed or given back where this handle wrote last | 1 | | | |
//! | head, where this handle wrote last | | 1 | | |
//! | head, elsewhere; 1 LIST alone if nothing changed | | 1 | 1 | |
//! | … of a session that nothing was written to since it was made | | 1 | | |
//! | read: as head, and for each chunk, or 4 MiB of one | | 1 | | |
//! | save a snapshot: as head, and | 1 | 1 | | |
//! | … and a look behind it, as head | | 1 | | |
//! | latest snapshot: as head, and | | 1 | | |
//! | put a blob: as head twice, and | 1 | | | |
//! | … 1 more for each try that was not answered, and if there was one | 1 | | | |
//! | read a blob: as head, and for each 8 MiB | | 1 | 1 | |
//! | remove a blob: as head, and | | | 1 | 1 |
//! | open and project in one go, where the snapshot is at the end of the log | | 2 | 1 | |
//! | project a session that is open; the two at once | | 1 | 1 | |
//! | open and acquire | 1 | 1 | 2 | |
//! | open and wake: as acquire, and beside it | | 1 | | |
//! | a follower's look; every 16th is a LIST and a GET | | 1 | | |
//! | list, for each 1,000 sessions | | | 1 | |
//! | the newest *n*, for each 1,000 of *n*, where lists are in order | | | 1 | |
//! | … with cards: for each of them | | 2 | 1 | |
//! | scan of snapshots: as list, and for each session | | 1 | | |
//! | all cards: two lists, and for each session | | 2 | 1 | |
//! | delete, for each 1,000 objects | 2 | 1 | 2 | 1 |
//!
//! An append sends the events that are in no chunk again: at most [`Options::seal_bytes`] as a
//! rule, half of it on average. No append waits for a chunk: it is put beside the head that holds
//! its events still, and the next head names it. Then one look says whether the session is still
//! there. A grant or a release where another handle wrote last is a take-over. Every call looks at
//! the head once, however many reads it comes to. A projection whose snapshot is behind the end of
//! the log reads the events from the one before the snapshot on, which is proven by it: 1 GET for
//! each chunk that they are in, 1 more if the newest head is a fence, a grant or a release.
//!
//! A card is an object, as any snapshot is, and not part of the index: a list tells of an object
//! its name, size and time alone, so a card in a marker would cost the same GET. The looks at
//! sessions, which show that a card is the one of the log as it is now, go out 16 at a time.
//!
//! # Limits
//!
//! - A plain append from another process than the driver's takes over the writing, and the driver's
//!   next append takes it back: several requests each, and a small fence that is kept for a day.
//!   Fine for messages from outside, not for two writers in turn all day.
//! - A blob is held in memory while it is stored. A token is checked before a blob or a snapshot is
//!   put and once more behind it, not in the same step. Each put of a blob makes an object, also of
//!   content that is there; all but one of them are garbage after a day. What was put under a lease
//!   that was lost meanwhile, or for a session that was deleted meanwhile, is taken back; what
//!   arrives later still is a blob that nothing names, or a snapshot that is proven before it is
//!   believed.
//! - Chunks that were put for a head that lost its slot are deleted by their writer. One that dies
//!   before, or that ends without another write, or whose store does not answer, leaves them until
//!   garbage is collected: also those of a session that was deleted while it wrote.
//! - A process that dies while it makes a session leaves nothing that is there for others: who
//!   makes one of that name takes its place. What it left is garbage.
//! - A put of a session's marker that its creation gave up, and that arrives only behind the
//!   session's deletion, leaves its name in the store until garbage is collected. No list shows it.
//! - A deletion leaves a name of its own in the index, which holds nothing of the session, until garbage
//!   is collected 30 hours later: a list of all takes a request more for each 1,000 of them.
//! - Of a deleted session its first head and its last stay for ever, a few hundred bytes that hold
//!   neither its name nor any event: the next life of the name begins behind them. As no slot is
//!   used twice, no delete that comes late takes anything of that life.
//! - A newest head that somebody removed can't be told from one that was never written: the log
//!   ends before it.
//! - A repair that finds no whole head mends nothing; a head that is lost takes with it the events
//!   that no older head or chunk has.
//! - A folder has files as the umask says, and a killed put leaves a `…#1` file that is not listed.
//!
//! # Rights, versions, garbage
//!
//! On S3 the credentials need `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` on
//! `bucket/prefix/*`, and `s3:ListBucket` on the bucket, without which a missing key looks like a
//! forbidden one:
//!
//! ```json
//! {"Version": "2012-10-17", "Statement": [
//!   {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
//!    "Resource": "arn:aws:s3:::BUCKET/PREFIX/*"},
//!   {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::BUCKET"}]}
//! ```
//!
//! In a bucket with versioning every collected head becomes a noncurrent version: let noncurrent
//! versions expire after a day, and incomplete uploads too. Never let *current* objects expire:
//! fences and chunks are old, and needed. [`Bucket::gc`] collects what broken-off writes leave;
//! once a day is enough.

mod ahead;
mod blob;
mod bucket;
mod chunk;
mod claim;
mod codec;
mod commit;
mod copies;
mod create;
mod delete;
mod follow;
mod gc;
mod head;
mod key;
mod lease;
mod list;
mod log;
mod marker;
mod mend;
mod moment;
mod objects;
mod options;
mod pages;
mod put;
mod read;
mod run;
mod seal;
mod seat;
mod seats;
mod site;
mod snapshot;
mod stored;
mod stray;
mod turn;
mod upkeep;
mod view;

pub use bucket::Bucket;
pub use gc::Garbage;
pub use options::Options;
pub use site::{Folder, Location};
