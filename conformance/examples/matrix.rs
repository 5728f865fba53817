//! The matrix of the README: every backend of the workspace, and known configurations that must fail.
//!
//! `cargo run -p sessionlog-conformance --example matrix` prints it, `-- --json` as JSON with every
//! outcome, `-- --write` puts it into the README, and `-- --check` fails if it is not the one that
//! stands there.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use sessionlog_backend_jsonl::Jsonl;
use sessionlog_backend_redb::Redb;
use sessionlog_backend_s3::{Bucket, Folder};
use sessionlog_backend_sqlite::Sqlite;
use sessionlog_conformance::{
    Capability, ChildCommand, Law, Level, Medium, Options, Place, Report, Subject, child, run_some,
};
use sessionlog_core::{Memory, Result};

use self::specimens::{objects, of_power, redb, sqlite};

#[path = "custom_backend.rs"]
#[expect(dead_code, reason = "`main` is for the other example")]
mod custom_backend;
#[expect(dead_code, reason = "twins use all of it")]
mod specimens;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const BEGIN: &str =
    "<!-- matrix: cargo run -p sessionlog-conformance --example matrix -- --write -->\n";
const WORDS: &str = "\
Each cell is a number of laws: held, skipped because they are not promised, known to be broken. **RED**: a
power loss takes what was acknowledged. Those rows must be red, so that one sees what the suite can see;
they and the good ones beside them are databases as others use them, with the journal of the tutorial's
backend in a table, and only the laws of power loss are asked.
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
const GROWS: Capability = Capability::No("cut at its end, a log is what a killed writer leaves");
const AHEAD: Capability = Capability::No("what was committed last is in the write-ahead log");
const ONE_BIT: Capability = Capability::No("one bit tells which of two commits counts");
const NEWEST: Capability = Capability::No("a removed newest head looks like one never written");
const INDEX: Capability = Capability::No("a list reads the index alone");
const UNPROBED: Capability = Capability::No("`Bucket::new` is for a store that is known to be fit");
const BETWEEN: Capability = Capability::No("others may see a batch before it is flushed");

subject!(Reference, Memory, Memory, |place: &Place| Ok(
    place.keep(Memory::new)
));
subject!(Lines, Jsonl, Directory, |place: &Place| Jsonl::open(
    place.dir(),
    sessionlog_backend_jsonl::Options::default()
), ONE_WRITE_ONE_FLUSH: Capability::Yes, FINDS_LOST_ENDS: GROWS, LINEARIZABLE_READS: BETWEEN);
subject!(LinesAhead, Jsonl, Directory, |place: &Place| Jsonl::open(
    place.dir(),
    sessionlog_backend_jsonl::Options::default().write_ahead(32 << 10)
), ONE_WRITE_ONE_FLUSH: Capability::Yes, FINDS_LOST_ENDS: GROWS, LINEARIZABLE_READS: BETWEEN);
subject!(Database, Sqlite, Directory, |place: &Place| Sqlite::open(
    place.dir(),
    sessionlog_backend_sqlite::Options::default()
), FINDS_LOST_ENDS: AHEAD);
subject!(Pages, Redb, Directory, |place: &Place| Redb::open(
    place.dir(),
    sessionlog_backend_redb::Options::default()
), ERASES_BYTES: PAGES, FINDS_LOST_ENDS: ONE_BIT);
subject!(PagesAlone, Redb, Directory, |place: &Place| Redb::open(
    place.dir(),
    sessionlog_backend_redb::Options::default().exclusive()
), ERASES_BYTES: PAGES, FINDS_LOST_ENDS: ONE_BIT, SEVERAL_HANDLES: ALONE, SEVERAL_PROCESSES: ALONE);
subject!(Objects, Bucket, Directory, |place: &Place| Ok(Bucket::new(
    Arc::new(Folder::new(place.dir())?),
    "",
    hasty()
)), PROMPT_LEASES: objects::TIMED, PRIVATE_FILES: objects::UMASK, FINDS_LOST_ENDS: NEWEST, FINDS_LOST_NAMES: INDEX);
subject!(Spoiled, Bucket, ObjectStore, |place: &Place| Ok(Bucket::new(
    place.objects(),
    place.name(),
    hasty()
)), PROMPT_LEASES: objects::TIMED, REFUSES_UNFIT_STORES: UNPROBED);

/// Whatever is dangerous happens often: heads are collected, tails sealed, tries used up.
fn hasty() -> sessionlog_backend_s3::Options {
    let mut options = sessionlog_backend_s3::Options::default();
    options.seal_bytes = 300;
    options.collect_every = 4;
    options.tries = 3;
    options.pause = Duration::ZERO;
    // Requests that wait for their turn are no slow ones.
    options.request_timeout = Duration::from_secs(3_600);
    options
}

/// Asks some laws.
type Run = fn(&Options, Wanted) -> Report;
type Wanted = fn(&Law) -> bool;

/// A row: what it says, whether it must be green, which laws are asked, and what runs.
struct Row {
    name: &'static str,
    green: bool,
    wanted: Wanted,
    run: Run,
    child: fn() -> bool,
}

impl Row {
    const fn of<S: Subject>(name: &'static str) -> Self {
        Self {
            name,
            green: true,
            wanted: |_| true,
            run: |options, wanted| run_some::<S>(options, wanted),
            child: child::<S>,
        }
    }

    const fn power<S: Subject>(name: &'static str, green: bool) -> Self {
        Self {
            green,
            wanted: of_power,
            ..Self::of::<S>(name)
        }
    }
}

const ROWS: &[Row] = &[
    Row::of::<Reference>("memory, the reference"),
    Row::of::<Lines>("JSONL"),
    Row::of::<LinesAhead>("JSONL, space written ahead"),
    Row::of::<Database>("SQLite"),
    Row::of::<Pages>("redb"),
    Row::of::<PagesAlone>("redb, exclusive"),
    Row::of::<Objects>("objects in a folder"),
    Row::of::<Spoiled>("objects in memory, whose requests go wrong"),
    Row::power::<sqlite::WalFull>("SQLite, `WAL` and `FULL`", true),
    Row::power::<sqlite::DeleteExtra>("SQLite, `DELETE` and `EXTRA`", true),
    Row::power::<sqlite::WalNormal>("SQLite, `WAL` and `NORMAL`", false),
    Row::power::<sqlite::WalOff>("SQLite, `WAL` and `OFF`", false),
    Row::power::<sqlite::DeleteFull>("SQLite, `DELETE` and `FULL`", false),
    Row::power::<redb::Immediate>("redb, its file made in place", false),
    Row::power::<redb::None>("redb, `Durability::None`", false),
    Row::power::<objects::Unflushed>("objects in a `LocalFileSystem` as it comes", false),
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
    let (reports, mut good) = reports();
    let table = table(&reports);
    match mode.as_str() {
        "--json" => println!("{}", json(&reports)),
        _ => print!("{table}"),
    }
    let done = match mode.as_str() {
        // What did not come out as it must is no news for the README.
        "--write" => {
            good && readme(&table, |old, new| {
                old == new || fs::write(README, new).is_ok()
            })
        }
        "--check" => readme(&table, |old, new| old == new),
        _ => true,
    };
    if !done {
        eprintln!("the README has another matrix: run this with --write");
        good = false;
    }
    match good {
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

/// The report of each row, and whether each came out as it must.
#[expect(clippy::print_stderr, reason = "a program may tell how far it is")]
fn reports() -> (Vec<(&'static Row, Report)>, bool) {
    let mut good = true;
    let mut reports = Vec::new();
    for (number, row) in ROWS.iter().enumerate() {
        eprintln!("{} of {}: {}", number + 1, ROWS.len(), row.name);
        // Counts of laws do not depend on the budget.
        let options = Options::smoke().with_child(ChildCommand::new([number.to_string()]));
        let report = (row.run)(&options, row.wanted);
        let measured = report.count("NOT MEASURED") + report.count("HARNESS BROKEN") == 0;
        if report.is_green() != row.green || !measured && row.green {
            good = false;
            eprintln!("{report}");
        }
        reports.push((row, report));
    }
    (reports, good)
}

fn table(reports: &[(&Row, Report)]) -> String {
    let levels = reports.iter().flat_map(|(_, report)| report.by_level());
    let levels: BTreeMap<Level, ()> = levels.map(|(level, _)| (level, ())).collect();
    let levels: Vec<Level> = levels.into_keys().collect();
    let head: Vec<_> = levels.iter().map(Level::to_string).collect();
    let mut table = format!(
        "{WORDS}\n| | {} |\n|---|{}\n",
        head.join(" | "),
        "---|".repeat(levels.len())
    );
    for (row, report) in reports {
        let cells: BTreeMap<Level, String> = report.by_level().into_iter().collect();
        let cell = |level: &Level| match cells.get(level) {
            // How many laws see it depends on the bytes that a database happens to write.
            Some(cell) if cell.contains("RED") => "**RED**".to_owned(),
            cell => cell.cloned().unwrap_or_default(),
        };
        let cells: Vec<_> = levels.iter().map(cell).collect();
        table += &format!("| {} | {} |\n", row.name, cells.join(" | "));
    }
    table
}

/// A list of objects: `name`, `must_be_green`, and `report`, as the README of the suite has it.
fn json(reports: &[(&Row, Report)]) -> String {
    let row = |(row, report): &(&Row, Report)| {
        serde_json::json!({
            "name": row.name,
            "must_be_green": row.green,
            "report": report,
        })
    };
    let rows: Vec<_> = reports.iter().map(row).collect();
    serde_json::to_string_pretty(&rows).unwrap_or_default()
}
