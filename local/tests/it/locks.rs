//! Locks that exclude, by whole files and by tokens.

use std::fs::File;

use sessionlog_local::files::{open_or_create, open_read};
use sessionlog_local::lock::*;

fn open(dir: &tempfile::TempDir) -> File {
    open_or_create(&dir.path().join("lock")).unwrap()
}

#[test]
fn a_whole_file_is_locked_once_and_freed() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, theirs) = (open(&dir), open(&dir));
    assert!(try_whole(&mine).unwrap() && !try_whole(&theirs).unwrap());
    unlock_whole(&mine).unwrap();
    assert!(try_whole(&theirs).unwrap() && !try_whole(&mine).unwrap());
    drop(theirs);
    let held = Held::whole(mine).unwrap().unwrap();
    assert!(held.is_held() && Held::whole(open(&dir)).unwrap().is_none());
    held.let_go();
    assert!(!held.is_held());
    assert!(Held::whole(open(&dir)).unwrap().is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn each_token_is_apart_and_a_whole_file_is_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir);
    assert_eq!(probe_whole(&open(&dir)).unwrap(), Probe::Free);
    assert!(try_token(&file, 7).unwrap());
    let other = open(&dir);
    assert!(!try_token(&other, 7).unwrap() && try_token(&other, 8).unwrap());
    assert!(Held::token(open(&dir), 7).unwrap().is_none());
    assert!(!try_whole(&open(&dir)).unwrap());
    let looked = [6, 7, 8, 9].map(|token| probe_token(&open(&dir), token).unwrap());
    assert_eq!(looked, [Probe::Free, Probe::Held, Probe::Held, Probe::Free]);
    assert_eq!(probe_whole(&open(&dir)).unwrap(), Probe::Held);
    drop((file, other));
    let whole = Held::whole(open(&dir)).unwrap().unwrap();
    assert_eq!(probe_token(&open(&dir), 3).unwrap(), Probe::Held);
    assert!(Held::token(open(&dir), 3).unwrap().is_none());
    drop(whole);
    assert_eq!(probe_whole(&open(&dir)).unwrap(), Probe::Free);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_cannot_be_asked_for_is_an_error_and_not_held() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    // The system wants a file that is open for writing.
    let blind = || open_read(&dir.path().join("lock")).unwrap();
    assert!(try_whole(&blind()).is_err());
    assert!(Held::token(blind(), 1).is_err());
    // No offset is larger than this.
    assert!(try_token(&open(&dir), u64::MAX).is_err());
}
