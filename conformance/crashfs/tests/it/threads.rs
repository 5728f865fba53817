//! Counts stay exact when many threads work.

use std::{
    fs::{self, File},
    io::Write,
};

use sessionlog_crashfs::Watch;
use tempfile::tempdir;

#[test]
fn threads_on_one_watch_lose_no_count() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let path = root.path().join(n.to_string());
            scope.spawn(move || {
                let mut file = File::create(path).unwrap();
                for _ in 0..500 {
                    file.write_all(b"abc").unwrap();
                }
            });
        }
    });
    let counts = watch.counts();
    assert_eq!(
        (counts.creates, counts.writes, counts.bytes_written),
        (4, 2000, 6000)
    );
    assert_eq!(counts.calls(), 2004);
}

#[test]
fn threads_with_a_watch_each_see_their_own_only() {
    std::thread::scope(|scope| {
        for n in 1..=8_u64 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let root = tempdir().unwrap();
                    let watch = Watch::new(root.path()).unwrap();
                    for i in 0..n {
                        fs::write(root.path().join(i.to_string()), b"x").unwrap();
                    }
                    let counts = watch.counts();
                    assert_eq!((counts.creates, counts.writes), (n, n), "{counts:?}");
                }
            });
        }
    });
}
