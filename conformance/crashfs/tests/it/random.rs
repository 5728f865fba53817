//! Random calls on a few names: whatever they do, the record is complete.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::FileExt, fs::symlink},
    },
    path::{Path, PathBuf},
};

use sessionlog_crashfs::{Fault, FaultKind, Recorder};
use tempfile::tempdir;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let n = self.below(from.len() as u64) as usize;
        *from.get(n).unwrap()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let byte = self.below(255) as u8 + 1;
        vec![byte; self.below(2000) as usize]
    }

    /// One of six names, in the root or in one of two folders.
    fn path(&mut self, root: &Path) -> PathBuf {
        let name = self.pick(&["a", "b", "c", "d", "e", "f"]);
        match self.below(3) {
            0 => root.join(name),
            1 => root.join("d").join(name),
            _ => root.join("e").join(name),
        }
    }
}

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// One call. Most of them can fail, as they like.
fn call(dice: &mut Dice, root: &Path, open: &mut Vec<File>) {
    let (a, b) = (dice.path(root), dice.path(root));
    let kind = dice.below(20);
    let held = match open.len() as u64 {
        0 => None,
        n => open.get(dice.below(n) as usize),
    };
    match (kind, held) {
        (0, _) => open.extend(File::create(&a)),
        (1, _) => open.extend(File::create_new(&a)),
        (2, _) => open.extend(OpenOptions::new().append(true).create(true).open(&a)),
        (3, _) => open.extend(OpenOptions::new().read(true).write(true).open(&a)),
        (4, _) => drop(fs::create_dir(&a)),
        (5, _) => drop(fs::remove_dir(&a)),
        (6, _) => drop(fs::remove_file(&a)),
        (7, _) => drop(fs::hard_link(&a, &b)),
        // Nothing can be made through it, which would be counted where the link is.
        (8, _) => drop(symlink("no/where", &b)),
        (9 | 10, _) => drop(fs::rename(&a, &b)),
        (11, _) => {
            let (a, b, here) = (c(&a), c(&b), libc::AT_FDCWD);
            let flags = libc::RENAME_EXCHANGE;
            // SAFETY: the paths end with a NUL.
            unsafe { libc::renameat2(here, a.as_ptr(), here, b.as_ptr(), flags) };
        }
        (12 | 13, Some(mut file)) => drop(file.write(&dice.bytes())),
        (14, Some(file)) => drop(file.write_at(&dice.bytes(), dice.below(6000))),
        (15, Some(file)) => drop(file.set_len(dice.below(6000))),
        (16, Some(mut file)) => drop(file.seek(SeekFrom::Start(dice.below(6000)))),
        (17, Some(file)) => {
            let modes = [
                0,
                libc::FALLOC_FL_KEEP_SIZE,
                libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                libc::FALLOC_FL_ZERO_RANGE,
            ];
            let (mode, at) = (dice.pick(&modes), dice.below(5000) as i64);
            // SAFETY: plain numbers.
            unsafe { libc::fallocate(file.as_raw_fd(), mode, at, 1 + dice.below(3000) as i64) };
        }
        (18, Some(file)) => drop(file.sync_data()),
        (_, Some(_)) => drop(open.remove(0)),
        _ => {}
    }
}

#[test]
fn random_calls_are_recorded_completely_with_and_without_faults() {
    for seed in 1..=100_u64 {
        let folder = tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("a"), b"from before").unwrap();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let recorder = Recorder::new(root).unwrap();
        if seed % 3 == 0 {
            let kind = dice.pick(&FaultKind::ALL);
            recorder.inject(Fault {
                kind,
                at: 1 + dice.below(20),
                lasting: seed % 2 == 0,
            });
        }
        let mut open = Vec::new();
        for _ in 0..80 {
            call(&mut dice, root, &mut open);
        }
        let record = recorder.finish();
        assert!(record.is_ok(), "seed {seed}: {}", record.unwrap_err());
    }
}
