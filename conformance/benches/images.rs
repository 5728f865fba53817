//! How many power losses are looked at: each is a folder that is written, opened, read as a whole, checked,
//! written on, and opened twice more.
//!
//! `cargo bench -p sessionlog-conformance --bench images`

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
    let (began, used) = (Instant::now(), cores());
    let options = Options::new(Budget::Default);
    let report = run_some::<S>(&options, |law| law.level == Level::Power);
    let (seconds, used) = (began.elapsed().as_secs_f64(), cores() - used);
    let images = |o: &sessionlog_conformance::Outcome| o.sometimes.get("power losses").copied();
    let images: u64 = report.outcomes.iter().filter_map(images).sum();
    let many = f64::from(u32::try_from(images).unwrap_or(u32::MAX));
    println!(
        "{name:<8} {images:>6} power losses, {:>6.0} a second, {:>6.0} a second of one core",
        many / seconds,
        many / used
    );
}

/// The seconds of cores that this process has used; the kernel counts hundredths.
fn cores() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}
