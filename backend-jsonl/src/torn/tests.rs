use super::*;
use crate::format::encode;
use sessionlog_core::{EventId, Incarnation, Kind, NewEvent};

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn genesis() -> Head {
    Head::genesis(&id(), Incarnation::from_bytes([7; 16]))
}

/// The bytes of commits with so many events each, of `len` bytes and more.
fn commits(sizes: &[u64], len: usize) -> Vec<u8> {
    let mut head = genesis();
    let mut out = Vec::new();
    let mut n = 0;
    for of in sizes {
        for at in 1..=*of {
            n += 1;
            let text = format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x\\\"y".repeat(len / 4));
            let new = NewEvent::json(Kind::from_static("message"), text)
                .unwrap()
                .with_id(EventId::from_bytes([n; 16]));
            encode(&mut out, &head.seal(new), Part { at, of: *of });
        }
    }
    out
}

fn rest(bytes: Vec<u8>, offset: u64) -> Rest {
    classify(&bytes.into(), offset, genesis(), &id())
}

#[test]
fn one_commit_cut_at_any_byte_is_torn() {
    for sizes in [&[1][..], &[3]] {
        let whole = commits(sizes, 300);
        for offset in [150, 511, 512, 7000] {
            assert_eq!(rest(Vec::new(), offset), Rest::Empty);
            for cut in 1..whole.len() {
                let mut bytes = whole[..cut].to_vec();
                assert_eq!(rest(bytes.clone(), offset), Rest::Torn, "{cut}");
                if bytes.last() == Some(&b'}') && whole.get(cut) == Some(&b'\n') {
                    continue; // with a newline behind it, it is whole
                }
                bytes.extend_from_slice(&[b'\n'; 900]);
                assert_eq!(rest(bytes, offset), Rest::Torn, "{cut} before space");
            }
        }
    }
}

/// The payload ends as a line does, and the write was cut right behind it.
#[test]
fn a_payload_with_the_look_of_a_checksum_was_once_damage_when_it_was_cut() {
    let mut whole = Vec::new();
    let text = r#"{"a":1,"sum":"0123456789abcdef"}"#;
    let new = NewEvent::json(Kind::from_static("message"), text).unwrap();
    encode(&mut whole, &genesis().seal(new), Part::ALONE);
    for cut in 1..whole.len() {
        assert_eq!(rest(whole[..cut].to_vec(), 150), Rest::Torn, "{cut}");
    }
    let cut = memchr::memmem::find(&whole, text.as_bytes()).unwrap() + text.len();
    let mut bytes = whole[..cut].to_vec();
    bytes.push(b'\n');
    assert_eq!(rest(bytes.clone(), 150), damaged(0, MISMATCH));
    bytes.push(b'x');
    assert_eq!(rest(bytes, 150), damaged(0, MISMATCH));
}

#[test]
fn a_whole_commit_before_another_line_is_no_torn_tail() {
    let first = commits(&[1], 40).len();
    let whole = commits(&[1, 1], 40);
    assert_eq!(rest(whole, 150), damaged(first, FOREIGN));
}

#[test]
fn two_commits_are_not_torn_but_damaged() {
    let whole = commits(&[2, 2], 100);
    let first = commits(&[2], 100).len();
    for cut in first + 1..whole.len() {
        let mut bytes = whole[..cut].to_vec();
        bytes[10] ^= 1;
        assert!(matches!(rest(bytes, 300), Rest::Damaged { .. }), "{cut}");
    }
}

#[test]
fn sectors_that_were_not_written_are_torn() {
    for (offset, len) in [(150, 1500), (512, 700), (1000, 40)] {
        let whole = commits(&[4], len);
        let pieces = whole.len().div_ceil(512);
        for lost in 0..pieces {
            for filler in [0, b'\n'] {
                let mut bytes = whole.clone();
                let start = (lost * 512).saturating_sub(offset % 512);
                let end = ((lost + 1) * 512 - offset % 512).min(bytes.len());
                bytes[start..end].fill(filler);
                if bytes == whole {
                    continue;
                }
                let found = rest(bytes.clone(), offset as u64);
                assert_eq!(found, Rest::Torn, "sector {lost} of {pieces} is {filler}");
                bytes.extend_from_slice(&[b'\n'; 2000]);
                assert_eq!(rest(bytes, offset as u64), Rest::Torn, "{lost} with space");
            }
        }
    }
}

#[test]
fn a_longer_file_without_its_bytes_is_torn() {
    // Space written ahead that ends within a sector, and the file grew beyond it.
    for ahead in [0, 1, 362, 500, 1000, 5000] {
        for behind in [1, 511, 5000] {
            let mut bytes = vec![b'\n'; ahead];
            bytes.extend(std::iter::repeat_n(0, behind));
            assert_eq!(rest(bytes, 150), Rest::Torn, "{ahead} and {behind}");
        }
    }
}

#[test]
fn a_commit_with_gaps_in_it_and_in_the_space_behind_it_is_torn() {
    let mut bytes = commits(&[4], 700);
    bytes.extend_from_slice(&[b'\n'; 3000]);
    bytes[362..874].fill(0);
    let end = bytes.len();
    let gap = (end - 2000 + 150).next_multiple_of(512) - 150;
    bytes[gap..gap + 512].fill(0);
    assert_eq!(rest(bytes, 150), Rest::Torn);
}

/// What lies between two sectors that were not written was written: it must be of the commit.
#[test]
fn what_lies_between_lost_sectors_is_looked_at() {
    let whole = commits(&[30], 40);
    for filler in [0, b'\n'] {
        let mut bytes = whole.clone();
        bytes[..512].fill(filler);
        bytes[2560..3072].fill(filler);
        assert_eq!(rest(bytes.clone(), 512), Rest::Torn);
        let cut = bytes[..bytes.len() - 20].to_vec();
        assert_eq!(rest(cut, 512), Rest::Torn);
        let line = memchr::memmem::find(&bytes[1024..], b"\n{\"seq\"").unwrap() + 1025;
        let mut changed = bytes.clone();
        changed[line + 3] ^= 1;
        let found = rest(changed, 512);
        assert_eq!(found, damaged(line, NO_EVENT), "filler {filler}");
        bytes[line + 3] = 0;
        assert_eq!(rest(bytes, 512), damaged(line + 3, NULS), "filler {filler}");
    }
}

#[test]
fn a_lost_sector_before_another_commit_is_damage() {
    let whole = commits(&[1, 1, 2], 700);
    for filler in [0, b'\n'] {
        let mut bytes = whole.clone();
        bytes[362..874].fill(filler);
        assert!(matches!(rest(bytes, 150), Rest::Damaged { .. }));
        let mut bytes = whole.clone();
        let first = commits(&[1], 700).len();
        bytes[..first.next_multiple_of(512) + 362].fill(filler);
        assert!(matches!(rest(bytes, 150), Rest::Damaged { .. }));
    }
}

#[test]
fn every_flipped_bit_of_a_whole_commit_is_damage() {
    for sizes in [&[1][..], &[3]] {
        let whole = commits(sizes, 40);
        for filler in [0, 700] {
            for offset in [150, (512 - (whole.len() as u64 - 1) % 512) % 512] {
                for at in 0..whole.len() {
                    for bit in 0..8 {
                        let mut bytes = whole.clone();
                        bytes[at] ^= 1 << bit;
                        bytes.extend(std::iter::repeat_n(b'\n', filler));
                        let found = rest(bytes, offset);
                        assert!(
                            matches!(found, Rest::Damaged { .. }),
                            "byte {at} of {} bit {bit} offset {offset} filler {filler}: {found:?}",
                            whole.len()
                        );
                    }
                }
            }
        }
    }
}

/// The payload has line feeds, so that a changed byte can make it no text at all.
#[test]
fn every_flipped_bit_of_a_payload_with_lines_is_damage() {
    let mut whole = Vec::new();
    let text = "{\n\"a\": \"x\\\"y\",\r\n\t\"b\": 1\n}";
    let new = NewEvent::json(Kind::from_static("message"), text).unwrap();
    let new = new.with_id(EventId::from_bytes([1; 16]));
    encode(&mut whole, &genesis().seal(new), Part::ALONE);
    for filler in [0, 700] {
        for at in 0..whole.len() - 1 {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                bytes.extend(std::iter::repeat_n(b'\n', filler));
                let found = rest(bytes, 150);
                assert!(
                    matches!(found, Rest::Damaged { .. }),
                    "byte {at} bit {bit} filler {filler}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn a_line_beside_a_lost_sector_that_was_written_is_looked_at() {
    let (line, lost) = ([b'x'; 511], [0; 512]);
    let before = [&line[..], b"\n", &lost, b"y"].concat();
    assert_eq!(rest(before, 512), damaged(0, NO_EVENT));
    let behind = [&lost[..], b"\nxx\ny"].concat();
    assert_eq!(rest(behind, 512), damaged(513, NO_EVENT));
    // An empty line is space only if nothing but space follows.
    let empty = [&lost[..], b"\n\nx"].concat();
    assert_eq!(rest(empty, 512), damaged(513, NO_EVENT));
}

#[test]
fn a_line_that_is_no_event_before_another_is_damage() {
    // An escape that the end of a line follows: as a beginning it could go on.
    let mut bytes = commits(&[1], 40);
    let at = bytes.len() - 40;
    bytes[at..at + 2].copy_from_slice(b"\\\n");
    assert_eq!(rest(bytes[..at + 10].to_vec(), 150), damaged(0, NO_EVENT));
}

#[test]
fn bytes_of_others_are_damage() {
    for (bytes, what) in [
        (&b"garbage"[..], FOREIGN),
        (b"garbage\n", FOREIGN),
        (b"\n\n{\"seq\":0", NO_EVENT),
        (b"{\"seq\":1,\"id\"", NO_EVENT),
    ] {
        assert_eq!(rest(bytes.to_vec(), 150), damaged(0, what), "{bytes:?}");
    }
    assert_eq!(rest(b"x\0\0".to_vec(), 150), damaged(1, NULS));
    assert_eq!(rest(vec![b'\n'; 5000], 150), Rest::Empty);
    assert_eq!(rest(vec![0; 5000], 150), Rest::Torn);
}

#[test]
fn a_changed_byte_far_behind_in_space_is_found_in_one_pass() {
    // Looking for the end of the space anew at each byte of it would take minutes.
    let mut rest = vec![b'\n'; 8 << 20];
    let at = rest.len() - 10;
    rest[at] = b'x';
    let found = classify(&Bytes::from(rest), 4_096, genesis(), &id());
    assert!(
        matches!(found, Rest::Damaged { .. } | Rest::Torn),
        "{found:?}"
    );
}
