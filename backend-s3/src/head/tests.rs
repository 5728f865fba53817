//! Heads: their frames, and their places.

use super::*;

fn head(frames: &'static [u8]) -> (State, Bytes) {
    let session = SessionRef::fresh("s".parse().unwrap());
    let (writer, commit) = ([1; 16], [2; 16]);
    let mut state = State::begin(&session, 3, Stamp { writer, commit });
    state.tail = Tail::of(state.end, 3, frames);
    let bytes = state.encode("dir", frames);
    (state, bytes)
}

#[test]
fn frames_are_the_tails_if_length_and_checksum_say_so() {
    let (state, _) = head(b"abc");
    assert!(state.tail.is_of(b"abc"));
    for other in [&b"abd"[..], b"ab", b"abcd", b""] {
        assert!(!state.tail.is_of(other));
    }
}

#[test]
fn a_head_in_another_place_is_damaged() {
    let (state, bytes) = head(b"");
    assert_eq!(open(&bytes, "key", "dir", 3).unwrap().0, state);
    assert!(open(&bytes, "key", "dir", 4).is_err());
    assert!(open(&bytes, "key", "other", 3).is_err());
}

#[test]
fn a_head_has_no_frames_that_are_anothers() {
    let (mut state, bytes) = head(b"abc");
    assert_eq!(open(&bytes, "key", "dir", 3).unwrap().1, "abc");
    state.tail.slot = 2;
    let bytes = state.encode("dir", b"abc");
    assert!(open(&bytes, "key", "dir", 3).is_err());
    let bytes = state.encode("dir", b"");
    assert!(open(&bytes, "key", "dir", 3).is_ok());
}
