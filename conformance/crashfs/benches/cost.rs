//! What a call costs: as it is, beside a watch or a recorder, and below one.
//!
//! ```text
//! cargo bench -p sessionlog-crashfs --bench cost
//! ```
//!
//! The fastest of many short runs, since others may be at work on the machine; in microseconds a
//! call, on a folder in memory if there is one.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    time::Instant,
};

use sessionlog_crashfs::{Recorder, Watch};

const CALLS: usize = 50;
const RUNS: usize = 400;

fn main() {
    let memory = Path::new("/dev/shm");
    let ground = if memory.is_dir() {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    let below = tempfile::tempdir_in(&ground).unwrap();
    let beside = tempfile::tempdir_in(&ground).unwrap();
    println!(
        "{:24}{:>10}{:>10}{:>10}",
        "µs a call", "100 bytes", "4 KiB", "rename"
    );
    row("alone", below.path());
    let watch = Watch::new(below.path()).unwrap();
    row("beside a watch", beside.path());
    row("below a watch", below.path());
    drop(watch);
    let recorder = Recorder::new(below.path()).unwrap();
    row("beside a recorder", beside.path());
    row("below a recorder", below.path());
    drop(recorder);
    fs::write(below.path().join("a"), [7; 100_000]).unwrap();
    let whole = fastest(|| {
        Recorder::new(below.path()).unwrap().finish().unwrap();
        1
    });
    println!("a recorder, from new to finish, of three files: {whole:.0} µs");
}

fn row(name: &str, folder: &Path) {
    let file = File::create(folder.join("file")).unwrap();
    let write = |len: usize| {
        let bytes = vec![7; len];
        fastest(|| {
            for n in 0..CALLS {
                file.write_all_at(&bytes, (n * len % 65_536) as u64)
                    .unwrap();
            }
            CALLS
        })
    };
    let (small, page) = (write(100), write(4096));
    let (a, b) = (folder.join("old"), folder.join("new"));
    fs::write(&a, b"").unwrap();
    let rename = fastest(|| {
        for _ in 0..CALLS / 2 {
            fs::rename(&a, &b).unwrap();
            fs::rename(&b, &a).unwrap();
        }
        CALLS
    });
    println!("{name:24}{small:>10.2}{page:>10.2}{rename:>10.2}");
}

/// Microseconds a call, in the fastest of several runs.
fn fastest(mut run: impl FnMut() -> usize) -> f64 {
    let time = || {
        let begin = Instant::now();
        let calls = run();
        begin.elapsed().as_secs_f64() * 1e6 / calls as f64
    };
    std::iter::repeat_with(time)
        .take(RUNS)
        .fold(f64::INFINITY, f64::min)
}
