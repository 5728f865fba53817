//! The matrix of the README: every backend of the workspace, and configurations that must fail.
//!
//! `cargo run -p sessionlog-conformance --example matrix` prints it, `-- --write` puts it into the
//! README, and `-- --check` fails if it is not the one that stands there.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, fs};

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use sessionlog_backend_jsonl::Jsonl;
use sessionlog_backend_redb::Redb;
use sessionlog_backend_s3::{Bucket, Folder};
use sessionlog_backend_sqlite::Sqlite;
use sessionlog_conformance::{
    Capability, ChildCommand, Level, Medium, Options, Place, Report, Subject, child, run,
};
use sessionlog_core::{Error, Memory, Result};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const BEGIN: &str =
    "<!-- matrix: cargo run -p sessionlog-conformance --example matrix -- --write -->\n";
const WORDS: &str = "\
Each cell is a number of laws: held, skipped because they are not promised, broken. The last row must be
red: `LocalFileSystem` flushes nothing unless it is asked to.
";
const END: &str = "<!-- end of matrix -->\n";

/// A subject with its constants, and how it is opened.
macro_rules! subject {
    ($name:ident, $backend:ty, $medium:ident, $open:expr $(, $constant:ident: $why:expr)*) => {
        struct $name;
        impl Subject for $name {
            type Backend = $backend;
            const MEDIUM: Medium = Medium::$medium;
            $(const $constant: Capability = $why;)*
            async fn open(place: &Place) -> Result<$backend> {
                $open(place)
            }
        }
    };
}

const ALONE: Capability = Capability::No("the first writer keeps all others out");
const PAGES: Capability = Capability::No("redb leaves what unused pages hold until written over");
const TIMED: Capability = Capability::No("no server tells when a client dies: leases expire");
const GROWS: Capability = Capability::No("a file that is cut is what a killed writer leaves");
const EARLY: Capability = Capability::No("a batch may be seen between its write and its flush");
const PREFIX: Capability = Capability::No("SQLite takes of a log what is whole at its beginning");
const ONE_BIT: Capability = Capability::No("one bit tells which of the last two commits counts");
const ENDS: Capability = Capability::No("a removed newest head looks like one never written");
const UMASK: Capability = Capability::No("object_store makes files as the umask says");

subject!(Reference, Memory, Memory, |place: &Place| Ok(
    place.keep(Memory::new)
));
subject!(Lines, Jsonl, Directory, |place: &Place| Jsonl::open(
    place.dir(),
    sessionlog_backend_jsonl::Options::default()
), ONE_WRITE_ONE_FLUSH: Capability::Yes, FINDS_LOST_ENDS: GROWS, LINEARIZABLE_READS: EARLY);
subject!(LinesAhead, Jsonl, Directory, |place: &Place| Jsonl::open(
    place.dir(),
    sessionlog_backend_jsonl::Options::default().write_ahead(32 << 10)
), ONE_WRITE_ONE_FLUSH: Capability::Yes, FINDS_LOST_ENDS: GROWS, LINEARIZABLE_READS: EARLY);
subject!(Database, Sqlite, Directory, |place: &Place| Sqlite::open(
    place.dir(),
    sessionlog_backend_sqlite::Options::default()
), FINDS_LOST_ENDS: PREFIX);
subject!(Pages, Redb, Directory, |place: &Place| Redb::open(
    place.dir(),
    sessionlog_backend_redb::Options::default()
), ERASES_BYTES: PAGES, FINDS_LOST_ENDS: ONE_BIT);
subject!(PagesAlone, Redb, Directory, |place: &Place| Redb::open(
    place.dir(),
    sessionlog_backend_redb::Options::default().exclusive()
), ERASES_BYTES: PAGES, FINDS_LOST_ENDS: ONE_BIT, SEVERAL_HANDLES: ALONE, SEVERAL_PROCESSES: ALONE);
subject!(Objects, Bucket, Directory, |place| folder(place, true),
    PROMPT_LEASES: TIMED, PRIVATE_FILES: UMASK, FINDS_LOST_ENDS: ENDS);
subject!(Unflushed, Bucket, Directory, |place| folder(place, false),
    PROMPT_LEASES: TIMED, PRIVATE_FILES: UMASK, FINDS_LOST_ENDS: ENDS);

fn folder(place: &Place, flushed: bool) -> Result<Bucket> {
    let options = sessionlog_backend_s3::Options::default();
    let store: Arc<dyn ObjectStore> = match flushed {
        true => Arc::new(Folder::new(place.dir())?),
        false => Arc::new(
            LocalFileSystem::new_with_prefix(place.dir())
                .map_err(|e| Error::unavailable("the folder can't be used").with_source(e))?,
        ),
    };
    Ok(Bucket::new(store, "", options))
}

/// A row: what it says, whether it must be green, and what runs.
struct Row {
    name: &'static str,
    green: bool,
    run: fn(&Options) -> Report,
    child: fn() -> bool,
}

impl Row {
    const fn of<S: Subject>(name: &'static str, green: bool) -> Self {
        Self {
            name,
            green,
            run: run::<S>,
            child: child::<S>,
        }
    }
}

const ROWS: &[Row] = &[
    Row::of::<Reference>("memory, the reference", true),
    Row::of::<Lines>("JSONL", true),
    Row::of::<LinesAhead>("JSONL, space written ahead", true),
    Row::of::<Database>("SQLite, `WAL` and `FULL`", true),
    Row::of::<Pages>("redb", true),
    Row::of::<PagesAlone>("redb, exclusive", true),
    Row::of::<Objects>("objects in a folder, flushed", true),
    Row::of::<Unflushed>("objects in a folder, `LocalFileSystem` as it comes", false),
];

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program may print"
)]
fn main() -> ExitCode {
    let mode = env::args().nth(1).unwrap_or_default();
    // A child of the suite is started with the number of its row.
    if let Ok(row) = mode.parse::<usize>() {
        return match ROWS.get(row).is_some_and(|row| (row.child)()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    let (table, as_expected) = match matrix() {
        Ok(made) => made,
        Err(report) => {
            eprintln!("{report}");
            return ExitCode::FAILURE;
        }
    };
    print!("{table}");
    let done = match mode.as_str() {
        "--write" => readme(&table, |old, new| {
            old == new || fs::write(README, new).is_ok()
        }),
        "--check" => readme(&table, |old, new| old == new),
        _ => true,
    };
    if !done {
        eprintln!("the README has another matrix: run this with --write");
    }
    match done && as_expected {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Hands the README over, as it is and with the table.
fn readme(table: &str, compare: impl Fn(&str, &str) -> bool) -> bool {
    let Ok(old) = fs::read_to_string(README) else {
        return false;
    };
    let parts = old.split_once(BEGIN);
    let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    parts.is_some_and(|(head, tail)| compare(&old, &format!("{head}{BEGIN}{table}{END}{tail}")))
}

/// The table, and whether each row came out as it must; a report that is neither green nor red.
#[expect(clippy::print_stderr, reason = "a program may tell how far it is")]
fn matrix() -> std::result::Result<(String, bool), Box<Report>> {
    let mut as_expected = true;
    let mut rows = Vec::new();
    for (number, row) in ROWS.iter().enumerate() {
        eprintln!("{} of {}: {}", number + 1, ROWS.len(), row.name);
        // Counts of laws do not depend on the budget.
        let options = Options::smoke().with_child(ChildCommand::new([number.to_string()]));
        let report = (row.run)(&options);
        if report.count("NOT MEASURED") + report.count("HARNESS BROKEN") > 0 {
            return Err(Box::new(report));
        }
        if report.is_green() != row.green {
            as_expected = false;
            eprintln!("{report}");
        }
        rows.push((row.name, report));
    }
    let levels: BTreeMap<Level, ()> = rows
        .iter()
        .flat_map(|(_, report)| report.by_level())
        .map(|(level, _)| (level, ()))
        .collect();
    let levels: Vec<Level> = levels.into_keys().collect();
    let head: Vec<_> = levels.iter().map(Level::to_string).collect();
    let mut table = format!(
        "{WORDS}\n| | {} |\n|---|{}\n",
        head.join(" | "),
        "---|".repeat(levels.len())
    );
    for (name, report) in rows {
        let cells: BTreeMap<Level, String> = report.by_level().into_iter().collect();
        let cells: Vec<_> = levels
            .iter()
            .map(|level| cells.get(level).cloned().unwrap_or_default())
            .collect();
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    Ok((table, as_expected))
}
