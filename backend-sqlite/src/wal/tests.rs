//! Logs whole, torn and damaged.

use super::*;
use rusqlite::Connection;

/// A log of several commits that nobody checkpointed, and where its frames begin.
fn log() -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
        .unwrap();
    for n in 0..6 {
        conn.execute("INSERT INTO t VALUES (randomblob(?1))", [n * 400])
            .unwrap();
    }
    let bytes = std::fs::read(dir.path().join("a.db-wal")).unwrap();
    let frames = (32..bytes.len()).step_by(1024 + 24).collect();
    (bytes, frames)
}

fn look(bytes: &[u8]) -> Option<u64> {
    look_with(bytes, &[])
}

fn look_with(bytes: &[u8], known: &[Known]) -> Option<u64> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    damage(file.path(), known).unwrap()
}

/// What the index knows of a log.
fn known(bytes: &[u8], frames: &[usize]) -> Known {
    Known {
        salts: bytes[16..24].try_into().unwrap(),
        frames: frames.len() as u64,
    }
}

#[test]
fn blocks_that_changed_places_in_the_last_transactions_are_damage_if_the_index_survived() {
    let (bytes, frames) = log();
    let known = [known(&bytes, &frames)];
    assert_eq!(look_with(&bytes, &known), None);
    // In silence without it: this is what two power cuts may leave.
    let (one, other) = (
        frames[frames.len() - 3] + 100,
        frames[frames.len() - 1] + 100,
    );
    let mut changed = bytes.clone();
    for n in 0..512 {
        changed.swap(one + n, other + n);
    }
    assert!(changed != bytes);
    assert_eq!(look(&changed), None);
    assert_eq!(
        look_with(&changed, &known),
        Some(frames[frames.len() - 3] as u64)
    );
    // And so is a log that lost its end.
    for len in frames {
        assert_eq!(look_with(&bytes[..len], &known), Some(len as u64));
    }
}

#[test]
fn an_index_of_another_log_or_of_an_earlier_time_says_nothing() {
    let (bytes, frames) = log();
    let mut other = known(&bytes, &frames);
    let cut = &bytes[..frames[3]];
    assert!(look_with(cut, &[other]).is_some());
    assert_eq!(look_with(cut, &[Known { frames: 3, ..other }]), None);
    other.salts[5] ^= 1;
    assert_eq!(look_with(cut, &[other]), None);
}

#[test]
fn a_blank_header_before_frames_is_damage() {
    let (mut bytes, frames) = log();
    bytes[..512].fill(0);
    assert_eq!(look(&bytes), Some(0));
    bytes[512..frames[2]].fill(0);
    assert_eq!(look(&bytes), Some(0));
}

#[test]
fn a_whole_log_and_one_torn_at_any_place_are_no_damage() {
    let (bytes, _) = log();
    assert_eq!(look(&bytes), None);
    for len in (0..bytes.len()).step_by(97) {
        assert_eq!(look(&bytes[..len]), None, "{len}");
    }
    assert_eq!(look(&[]), None);
}

#[test]
fn a_flipped_bit_before_the_last_commits_is_damage() {
    let (bytes, frames) = log();
    let early = frames[frames.len() - 5];
    for at in (0..early).step_by(61).chain(0..32) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(look(&changed).is_some(), "{at}");
    }
}

#[test]
fn what_a_torn_transaction_left_behind_a_newer_one_is_no_damage() {
    let (bytes, frames) = log();
    // A frame with a commit is written over the torn ones, and only its head reaches the disk.
    let last = frames.len() - 1;
    for torn in last - 3..last {
        let mut changed = bytes.clone();
        let at = frames[torn];
        changed[at + 4..at + 8].copy_from_slice(&9_u32.to_be_bytes());
        changed[at + 16..at + 24].copy_from_slice(&[7; 8]);
        // Behind it is one transaction alone, none of whose frames follows this one.
        for frame in &frames[torn + 1..] {
            changed[frame + 4..frame + 8].copy_from_slice(&0_u32.to_be_bytes());
        }
        assert_eq!(look(&changed), None, "{torn}");
    }
}

#[test]
fn what_is_no_log_is_damage_unless_it_is_blank() {
    assert_eq!(look(b"somebody's notes"), Some(0));
    assert_eq!(look(&[7; 40_000]), Some(0));
    assert_eq!(look(&[0; 4_096]), None);
}

#[test]
fn a_last_transaction_that_is_torn_is_no_damage() {
    let (bytes, frames) = log();
    let last = *frames.last().unwrap();
    for at in [last + 4, last + 8, last + 20, last + 500] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        assert_eq!(look(&changed), None, "{at}");
    }
}

/// The same log with other magic and the checksums that belong to it, as a machine writes them whose byte
/// order is that of `magic`'s last bit.
fn with_magic(bytes: &[u8], frames: &[usize], magic: u32) -> Vec<u8> {
    let (mut bytes, big) = (bytes.to_vec(), magic & 1 == 1);
    bytes[..4].copy_from_slice(&magic.to_be_bytes());
    let mut sum = Checksum::default().then(&bytes[..24], big);
    let store = |at: usize, Checksum(a, b): Checksum, bytes: &mut [u8]| {
        bytes[at..at + 4].copy_from_slice(&a.to_be_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&b.to_be_bytes());
    };
    store(24, sum, &mut bytes);
    for at in frames {
        let data = &bytes[at + 24..at + 24 + 1024];
        sum = sum.then(&bytes[*at..at + 8], big).then(data, big);
        store(at + 16, sum, &mut bytes);
    }
    bytes
}

#[test]
fn a_log_of_either_byte_order_is_understood() {
    let (bytes, frames) = log();
    for magic in [0x377f_0682, 0x377f_0683] {
        let other = with_magic(&bytes, &frames, magic);
        assert_eq!(look_with(&other, &[known(&other, &frames)]), None);
        for at in [frames[1] + 700, frames[2] + 17] {
            let mut changed = other.clone();
            changed[at] ^= 1;
            let frame = frames.iter().rfind(|frame| **frame <= at).unwrap();
            assert_eq!(look(&changed), Some(*frame as u64), "{magic:x} {at}");
        }
    }
    assert!(with_magic(&bytes, &frames, 0x377f_0682) == bytes || cfg!(target_endian = "big"));
}

#[test]
fn a_header_with_the_magic_of_no_log_is_damage_whatever_its_checksum() {
    let (bytes, frames) = log();
    for magic in [0x377f_0680, 0x377f_0684, 0x377f_0685, 0x277f_0682] {
        let other = with_magic(&bytes, &frames, magic);
        assert_eq!(look(&other), Some(0), "{magic:x}");
    }
}

#[test]
#[cfg(unix)]
fn a_log_that_cannot_be_opened_is_not_taken_for_none() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
    assert!(damage(&link, &[]).is_err());
    assert!(flush(&link).is_err());
    assert!(damage(&dir.path().join("nothing"), &[]).unwrap().is_none());
}

#[test]
fn a_header_with_a_wrong_checksum_is_damage_if_the_frames_are_its_own() {
    let (bytes, frames) = log();
    for magic in [0x377f_0682, 0x377f_0683] {
        let whole = with_magic(&bytes, &frames, magic);
        let mut broken = whole.clone();
        broken[26] ^= 1;
        // As far as the head of one frame is enough.
        for len in [56, 57, 700, broken.len()] {
            assert_eq!(look(&broken[..len]), Some(0), "{magic:x} {len}");
        }
        assert_eq!(look(&broken[..55]), None);
        let mut of_no_frame = broken.clone();
        of_no_frame[32..].fill(0);
        assert_eq!(look(&of_no_frame), None);
        // The salts are what is damaged: with those of the frames its checksum is right.
        let mut salted = whole.clone();
        salted[18] ^= 1;
        assert_eq!(look(&salted), Some(0), "{magic:x}");
        // Torn when the log was begun anew: the frames behind it are in the database already.
        salted[26] ^= 1;
        assert_eq!(look(&salted), None, "{magic:x}");
    }
}

#[test]
fn a_blank_header_before_anything_is_damage_however_far_away_that_is() {
    let mut bytes = vec![0; 200_000];
    assert_eq!(look(&bytes), None);
    for at in [40, 70_000, 199_999] {
        bytes[at] = 1;
        assert_eq!(look(&bytes), Some(0), "{at}");
        bytes[at] = 0;
    }
}

#[test]
fn a_header_with_a_size_of_pages_that_no_database_has_is_damage() {
    let (bytes, frames) = log();
    for size in [0, 256, 1_000, 131_072_u32] {
        let mut other = bytes.clone();
        other[8..12].copy_from_slice(&size.to_be_bytes());
        let other = with_magic(&other, &frames, 0x377f_0682);
        assert_eq!(look(&other), Some(0), "{size}");
    }
}
