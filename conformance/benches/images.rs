//! How many power losses are looked at: each is a folder that is written, opened, read as a whole, checked,
//! written on, and opened twice more.
//!
//! `cargo bench -p sessionlog-conformance --bench images`; of one backend alone with `-- JSONL`.

use std::fs;
use std::time::Instant;

use sessionlog_backend_jsonl::Jsonl;
use sessionlog_backend_redb::Redb;
use sessionlog_backend_sqlite::Sqlite;
use sessionlog_conformance::{
    Budget, Capability, Level, Medium, Options, Place, Subject, run_some,
};
use sessionlog_core::Result;

macro_rules! subject {
    ($name:ident, $backend:ty, $options:path) => {
        struct $name;
        impl Subject for $name {
            type Backend = $backend;
            const MEDIUM: Medium = Medium::Directory;
            const FINDS_LOST_ENDS: Capability = Capability::No("nothing is damaged here");
            async fn open(place: &Place) -> Result<$backend> {
                <$backend>::open(place.dir(), <$options>::default())
            }
        }
    };
}

subject!(Lines, Jsonl, sessionlog_backend_jsonl::Options);
subject!(Database, Sqlite, sessionlog_backend_sqlite::Options);
subject!(Pages, Redb, sessionlog_backend_redb::Options);

fn main() {
    measure::<Lines>("JSONL");
    measure::<Database>("SQLite");
    measure::<Pages>("redb");
}

#[expect(clippy::print_stdout, reason = "the numbers are the output")]
fn measure<S: Subject>(name: &str) {
    let mut wanted = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .peekable();
    if wanted.peek().is_some() && !wanted.any(|only| only == name) {
        return;
    }
    let (began, [own, kernel]) = (Instant::now(), cores());
    let options = Options::new(Budget::Default);
    let report = run_some::<S>(&options, |law| law.level == Level::Power);
    let seconds = began.elapsed().as_secs_f64();
    let [all, of_it] = cores();
    let (own, kernel) = (all - own, of_it - kernel);
    let images = |o: &sessionlog_conformance::Outcome| o.sometimes.get("power losses").copied();
    let images: u64 = report.outcomes.iter().filter_map(images).sum();
    let many = f64::from(u32::try_from(images).unwrap_or(u32::MAX));
    println!(
        "{name:<8} {images:>6} power losses, {:>6.0} a second, {:>6.0} a second of one core, of which \
         the kernel has {:.0} %",
        many / seconds,
        many / (own + kernel),
        100.0 * kernel / (own + kernel)
    );
}

/// The seconds of cores that this process has used, itself and in the kernel, which counts hundredths.
fn cores() -> [f64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let mut ticks = fields
        .split(' ')
        .skip(11)
        .map(|n| n.parse::<f64>().unwrap_or_default() / 100.0);
    [(); 2].map(|()| ticks.next().unwrap_or_default())
}
