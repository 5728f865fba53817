//! A complete backend of somebody else's: a journal of commands, replayed into memory at open.
//!
//! A change is one line of `journal`, written and flushed before a [`Memory`] decides what comes of
//! it; the same lines make the same memory again. A line is its checksum, chained to the line
//! before, and the command as JSON. The README of this crate explains it step by step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::{ops::Range, path::Path, path::PathBuf, time::Duration};

use async_trait::async_trait;
use futures_util::lock::{Mutex, MutexGuard};
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use serde::{Deserialize, Serialize};
use sessionlog_conformance::{Capability, ChildCommand, Medium, Options, Subject};
use sessionlog_core::*;

/// The store, which holds a lock on its folder for as long as it is open.
pub(crate) struct Journal {
    memory: Memory,
    dir: PathBuf,
    /// The journal's end; gone after a failed write, when nobody knows what is on the disk.
    tail: Mutex<Option<Tail>>,
    lock: File,
}

/// A line: a change of one life of one session.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Line(
    pub(crate) SessionId,
    pub(crate) Incarnation,
    pub(crate) Token,
    pub(crate) Change,
);

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Change {
    Create,
    Append(Vec<(EventId, Timestamp, Kind, String)>, Option<SeqNum>),
    /// A lease; taken from its holder, or not.
    Grant(Owner, bool),
    Save(Vec<u8>),
    Put(Vec<u8>),
    Remove(BlobId),
}

pub(crate) type Token = Option<FencingToken>;
/// The end of the journal: where it is written to, the checksum so far, the last line, and where a
/// line that a crash tore begins, if there is one. The last line of an earlier life is written once
/// more: if that life failed to flush it, the kernel shows it, and no later flush writes it.
struct Tail(File, Sum, Vec<u8>, Option<usize>);

type End<'a> = MutexGuard<'a, Option<Tail>>;

impl Journal {
    /// Opens a folder: locks it, and replays the journal up to a line that a crash tore.
    pub(crate) async fn open(dir: &Path) -> io::Result<Self> {
        Self::open_as(dir, Ok).await
    }

    /// The same for a journal that is taken for another text.
    pub(crate) async fn open_as(
        dir: &Path,
        read: impl FnOnce(Vec<u8>) -> io::Result<Vec<u8>>,
    ) -> io::Result<Self> {
        let (path, lock) = (dir.join("journal"), dir.join("lock"));
        if fs::exists(&lock)? && !fs::exists(&path)? {
            return Err(io::Error::other("the journal is gone"));
        }
        // The journal comes before the lock, so that it is missed when it is gone.
        drop(private(&path)?);
        File::open(dir)?.sync_all()?;
        let lock = private(&lock)?;
        lock.try_lock()?;
        // Opened behind the lock: until then a delete may have put another journal in its place.
        let mut file = private(&path)?;
        let (text, memory) = (read(fs::read(&path)?)?, Memory::new());
        let (mut sum, mut last, mut whole, mut torn) = (Sum::from_u64(0), 0, 0, None);
        for line in text.split_inclusive(|b| *b == b'\n') {
            // The last one is torn without its end, or with zeros: a file may grow before its bytes
            // come, and JSON has none.
            let is_last = whole + line.len() == text.len();
            let begun = line
                .iter()
                .take(16)
                .all(|b| *b == 0 || b.is_ascii_hexdigit());
            let line = line.strip_suffix(b"\n");
            let Some(line) = line.filter(|l| !is_last || !l.contains(&0)) else {
                // What was torn begins with a sum, as every line does.
                if !begun {
                    return Err(io::Error::other("the journal is something else"));
                }
                torn = Some(whole);
                break;
            };
            let (_, json) = line.split_at_checked(17).unwrap_or_default();
            sum = sum.then(json);
            if !line.starts_with(&sum.to_text()) {
                return Err(io::Error::other(format!(
                    "damage in the line at byte {whole}"
                )));
            }
            replay(&memory, serde_json::from_slice(json)?).await;
            last = whole;
            whole += line.len() + 1;
        }
        file.seek(io::SeekFrom::Start(last as u64))?;
        let last = text.get(last..whole).unwrap_or_default().to_vec();
        Ok(Self {
            memory,
            dir: dir.into(),
            tail: Mutex::new(Some(Tail(file, sum, last, torn))),
            lock,
        })
    }

    /// Makes a change durable. The caller applies it while it holds the end of the journal, so
    /// memory sees the changes in the order of the lines, and readers see nothing but them.
    async fn log(&self, session: &SessionRef, token: Token, change: Change) -> Result<End<'_>> {
        let mut end = self.tail.lock().await;
        match change {
            Change::Create => {}
            Change::Grant(_, false) => self.undriven(session).await?,
            _ => drop(self.memory.holder(session).await?),
        }
        let Tail(mut file, mut sum, last, torn) = end.take().ok_or_else(lost)?;
        let line = Line(session.id.clone(), session.incarnation, token, change);
        // Only who writes cuts what a crash tore: a reader changes nothing.
        let cut = torn.map_or(Ok(()), |at| file.set_len(at as u64));
        let mut write = |text: &[u8]| file.write_all(text).and_then(|()| file.sync_data());
        // The last line alone: a power cut never tears more than one.
        let last = if last.is_empty() {
            Ok(())
        } else {
            write(&last)
        };
        cut.and(last)
            .and_then(|()| encode(&line, &mut sum))
            .and_then(|text| write(text.as_bytes()))
            .map_err(|e| Error::indeterminate("the journal was not written").with_source(e))?;
        *end = Some(Tail(file, sum, Vec::new(), None));
        Ok(end)
    }

    /// Who drives a session dies with the process, so it is decided before anything is written.
    async fn undriven(&self, session: &SessionRef) -> Result<()> {
        match self.memory.holder(session).await? {
            Liveness::Live(Some(holder)) => Err(held_error(holder, None)),
            _ => Ok(()),
        }
    }

    /// Writes the journal anew without one session; the rename is the moment of its deletion.
    fn without(&self, id: &SessionId, torn: Option<usize>) -> io::Result<Tail> {
        let (mut sum, mut kept) = (Sum::from_u64(0), String::new());
        let mut text = fs::read(self.dir.join("journal"))?;
        text.truncate(torn.unwrap_or(text.len()));
        for text in std::str::from_utf8(&text)
            .map_err(io::Error::other)?
            .lines()
        {
            let line: Line = serde_json::from_str(text.get(17..).unwrap_or_default())?;
            if line.0 != *id {
                kept += &encode(&line, &mut sum)?;
            }
        }
        let mut file = private(&self.dir.join("journal.new"))?;
        file.set_len(0)?;
        file.write_all(kept.as_bytes())?;
        file.sync_all()?;
        fs::rename(self.dir.join("journal.new"), self.dir.join("journal"))?;
        File::open(&self.dir)?.sync_all()?;
        Ok(Tail(file, sum, Vec::new(), None))
    }
}

impl Drop for Journal {
    /// Closing is not enough: a child process that another thread is just starting has a copy.
    fn drop(&mut self) {
        drop(self.lock.unlock());
    }
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn encode(line: &Line, sum: &mut Sum) -> io::Result<String> {
    let json = serde_json::to_string(line)?;
    *sum = sum.then(json.as_bytes());
    Ok(format!("{sum} {json}\n"))
}

fn lost() -> Error {
    Error::unavailable("a write failed, open the store again")
}

/// Does what was done; what memory refused then, it refuses again.
pub(crate) async fn replay(memory: &Memory, Line(id, incarnation, token, change): Line) {
    let session = SessionRef { id, incarnation };
    match change {
        Change::Create => drop(memory.create(&session).await),
        Change::Append(events, tail) => {
            let event = |(id, at, kind, data)| NewEvent {
                id,
                at,
                kind,
                data: stored(data),
            };
            let events = events.into_iter().map(event).collect();
            let condition = AppendCondition::new(tail, token);
            drop(memory.append(&session, events, condition).await);
        }
        Change::Grant(owner, _) => drop(
            memory
                .acquire(&session, LeaseRequest::new(owner).forced())
                .await,
        ),
        Change::Save(bytes) => {
            if let Ok(snapshot) = Snapshot::from_bytes(&bytes.into()) {
                drop(memory.save(&session, snapshot, token).await);
            }
        }
        Change::Put(bytes) => drop(memory.put(&session, one(bytes), token).await),
        Change::Remove(id) => drop(memory.remove(&session, id, token).await),
    }
}

fn stored(text: String) -> Data {
    Data::from_stored(text.into())
}

pub(crate) fn one(content: Vec<u8>) -> Pieces {
    stream::iter([Ok(content.into())]).boxed()
}

#[async_trait]
impl EventLog for Journal {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let _end = self.log(session, None, Change::Create).await?;
        self.memory.create(session).await
    }
    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.memory.head(id).await
    }
    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        Limits::default().check(&events)?;
        let fields = |e: &NewEvent| (e.id, e.at, e.kind.clone(), e.data.to_string());
        let change = Change::Append(events.iter().map(fields).collect(), condition.tail);
        let _end = self.log(session, condition.token, change).await?;
        self.memory.append(session, events, condition).await
    }
    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        self.memory.read(session, range)
    }
    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        self.memory.changed(session, tail).await
    }
    fn sessions(&self) -> SessionIds {
        self.memory.sessions()
    }
    async fn delete(&self, session: &SessionRef, token: Token) -> Result<()> {
        let mut end = self.tail.lock().await;
        match token {
            None => self.undriven(session).await?,
            // An empty append checks the token, and that this life is the present one.
            Some(token) => {
                let condition = AppendCondition::with(token);
                self.memory.append(session, vec![], condition).await?;
            }
        }
        let anew = end
            .take()
            .ok_or_else(lost)
            .map(|Tail(.., torn)| self.without(&session.id, torn))?;
        *end = Some(anew.map_err(|e| Error::indeterminate("not deleted").with_source(e))?);
        self.memory.delete(session, token).await
    }
}

#[async_trait]
impl LeaseStore for Journal {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let change = Change::Grant(request.owner.clone(), request.force);
        let _end = self.log(session, None, change).await?;
        self.memory.acquire(session, request.forced()).await
    }
    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        self.memory.renew(lease, ttl).await
    }
    async fn release(&self, lease: &Lease) -> Result<()> {
        self.memory.release(lease).await
    }
    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        self.memory.holder(session).await
    }
}

#[async_trait]
impl SnapshotStore for Journal {
    async fn save(&self, session: &SessionRef, snapshot: Snapshot, token: Token) -> Result<()> {
        let change = Change::Save(snapshot.to_bytes().into());
        let _end = self.log(session, token, change).await?;
        self.memory.save(session, snapshot, token).await
    }
    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        self.memory
            .latest(session, projection, version, bound)
            .await
    }
    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        self.memory.scan(projection, version)
    }
}

#[async_trait]
impl BlobStore for Journal {
    async fn put(&self, session: &SessionRef, pieces: Pieces, token: Token) -> Result<BlobInfo> {
        let pieces: Vec<_> = pieces.try_collect().await?;
        let content = pieces.concat();
        let _end = self
            .log(session, token, Change::Put(content.clone()))
            .await?;
        self.memory.put(session, one(content), token).await
    }
    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        self.memory.get(session, id, range)
    }
    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        self.memory.list(session)
    }
    async fn remove(&self, session: &SessionRef, id: BlobId, token: Token) -> Result<()> {
        let _end = self.log(session, token, Change::Remove(id)).await?;
        self.memory.remove(session, id, token).await
    }
}

#[async_trait]
impl Upkeep for Journal {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        self.memory.verify(id).await
    }
    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.memory.repair(id, apply).await
    }
    async fn strays(&self) -> Result<Vec<Finding>> {
        strays(&self.dir)
    }
}

/// What lies in a store's folder and is not its own.
pub(crate) fn strays(dir: &Path) -> Result<Vec<Finding>> {
    let unreadable = |e| Error::unavailable("the folder can't be listed").with_source(e);
    let names = fs::read_dir(dir).map_err(unreadable)?.flatten();
    let names = names.map(|e| e.file_name().to_string_lossy().into_owned());
    let stray = |name: String| {
        let why = "not part of the store, left alone";
        Finding::new(Severity::Note, Place::file(name), why)
    };
    Ok(names
        .filter(|n| n != "journal" && n != "lock")
        .map(stray)
        .collect())
}

/// The author's side of the suite.
pub(crate) struct Mine;

impl Subject for Mine {
    type Backend = Journal;
    const MEDIUM: Medium = Medium::Directory;
    const SEVERAL_HANDLES: Capability = Capability::No("one at a time: the folder is locked");
    const SEVERAL_PROCESSES: Capability = Self::SEVERAL_HANDLES;
    const GROUP_COMMIT: Capability = Capability::No("each append is flushed alone");
    const ONE_WRITE_ONE_FLUSH: Capability = Capability::Yes;
    const FINDS_LOST_ENDS: Capability = Capability::No("a journal cut at its end was never longer");
    const SALVAGES: Capability = Capability::No("it has no repair: a damaged journal is refused");

    async fn open(place: &sessionlog_conformance::Place) -> Result<Journal> {
        let unavailable = |e| Error::unavailable("the store can't be opened").with_source(e);
        Journal::open(place.dir()).await.map_err(unavailable)
    }
}

/// Prints the matrix. In tests it is a line: `sessionlog_conformance::conformance!(Mine);`
#[expect(clippy::print_stdout, reason = "a program may print")]
fn main() {
    // Level L3 starts this program again, and kills it.
    if sessionlog_conformance::child::<Mine>() {
        return;
    }
    let options = Options::from_env().with_child(ChildCommand::new(["child"]));
    println!("{}", sessionlog_conformance::run::<Mine>(&options));
}
