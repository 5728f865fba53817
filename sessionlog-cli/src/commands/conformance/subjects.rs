//! The stores that a URL can mean, as subjects of the suite.

use sessionlog::{Error, Memory, Result, Store};
use sessionlog_conformance::{
    Capability, Law, Medium, Options, Outcome, Place, Report, Subject, child, run_each,
};

use super::ground;

/// What a URL is about.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) scheme: &'static str,
    pub(super) medium: Medium,
    run: Run,
    child: fn() -> bool,
}

type Run = fn(&Options, &dyn Fn(&Law) -> bool, &mut dyn FnMut(&Outcome)) -> Report;

impl Kind {
    /// The kind of a URL that this build can open.
    pub(super) fn of(url: &str) -> Result<Self> {
        const FOLDERS: &[(&str, Kind)] = &[
            ("jsonl", Kind::by::<Jsonl>("jsonl")),
            ("sqlite", Kind::by::<Sqlite>("sqlite")),
            ("redb", Kind::by::<Redb>("redb")),
            ("file", Kind::by::<Objects>("file")),
            ("memory", Kind::by::<InMemory>("memory")),
        ];
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let Some(scheme) = sessionlog::schemes().find(|known| *known == scheme) else {
            // Opening it says what is wrong.
            let opened = pollster::block_on(sessionlog::open(url));
            return Err(opened
                .err()
                .unwrap_or_else(|| Error::internal("an unknown scheme was opened")));
        };
        let known = FOLDERS.iter().find(|(name, _)| *name == scheme);
        Ok(known.map_or_else(|| Self::by::<Elsewhere>(scheme), |(_, kind)| *kind))
    }

    const fn by<S: Subject>(scheme: &'static str) -> Self {
        Self {
            scheme,
            medium: S::MEDIUM,
            run: |options, wanted, told| run_each::<S>(options, wanted, told),
            child: child::<S>,
        }
    }

    pub(super) fn run(
        self,
        options: &Options,
        wanted: &dyn Fn(&Law) -> bool,
        told: &mut dyn FnMut(&Outcome),
    ) -> Report {
        (self.run)(options, wanted, told)
    }

    /// Works as a child, if the environment asks for it; whether it did.
    pub(super) fn child(self) -> bool {
        (self.child)()
    }
}

/// Opens the store of a scheme in the folder of a place.
async fn in_folder(scheme: &str, place: &Place) -> Result<Store> {
    sessionlog::open(&ground::folder_url(scheme, place.dir())?).await
}

struct Jsonl;

impl Subject for Jsonl {
    type Backend = Store;
    const MEDIUM: Medium = Medium::Directory;
    const ONE_WRITE_ONE_FLUSH: Capability = Capability::Yes;
    const FINDS_LOST_ENDS: Capability =
        Capability::No("a log is one file that grows: cut, it is what a killed writer leaves");
    const LINEARIZABLE_READS: Capability =
        Capability::No("others may see a batch between its write and its flush");

    async fn open(place: &Place) -> Result<Store> {
        in_folder("jsonl", place).await
    }

    fn name() -> &'static str {
        "jsonl"
    }
}

struct Sqlite;

impl Subject for Sqlite {
    type Backend = Store;
    const MEDIUM: Medium = Medium::Directory;
    const FINDS_LOST_ENDS: Capability =
        Capability::No("of a write-ahead log SQLite takes what is whole at its beginning");

    async fn open(place: &Place) -> Result<Store> {
        in_folder("sqlite", place).await
    }

    fn name() -> &'static str {
        "sqlite"
    }
}

struct Redb;

impl Subject for Redb {
    type Backend = Store;
    const MEDIUM: Medium = Medium::Directory;
    const ERASES_BYTES: Capability =
        Capability::No("redb leaves what unused pages hold until they are written over");
    const FINDS_LOST_ENDS: Capability =
        Capability::No("one bit tells which of the last two commits counts");

    async fn open(place: &Place) -> Result<Store> {
        in_folder("redb", place).await
    }

    fn name() -> &'static str {
        "redb"
    }
}

struct InMemory;

impl Subject for InMemory {
    type Backend = Memory;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Memory> {
        Ok(place.keep(Memory::new))
    }

    fn name() -> &'static str {
        "memory"
    }
}

const TIMED: Capability = Capability::No("no server tells when a client dies: leases expire");

/// A folder of objects.
struct Objects;

impl Subject for Objects {
    type Backend = Store;
    const MEDIUM: Medium = Medium::Directory;
    const PROMPT_LEASES: Capability = TIMED;
    const PRIVATE_FILES: Capability =
        Capability::No("object_store makes files as the umask says: keep the folder private");
    const FINDS_LOST_ENDS: Capability =
        Capability::No("a newest head that was removed can't be told from one never written");
    const FINDS_LOST_NAMES: Capability = Capability::No("a list reads the index alone");

    async fn open(place: &Place) -> Result<Store> {
        in_folder("file", place).await
    }

    fn name() -> &'static str {
        "file"
    }
}

/// A store that is no folder: each place is a prefix below the base.
struct Elsewhere;

impl Subject for Elsewhere {
    type Backend = Store;
    const MEDIUM: Medium = Medium::External;
    const PROMPT_LEASES: Capability = TIMED;

    async fn open(place: &Place) -> Result<Store> {
        let Some(base) = place.base() else {
            return Err(Error::internal("the suite did not say where the store is"));
        };
        ground::open(&ground::within(base, place.name())).await
    }

    fn name() -> &'static str {
        "object storage"
    }
}
