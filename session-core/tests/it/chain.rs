//! The checksum is the one of the document, to the bit: logs of other versions are chained by it (G15).

use sessionlog_core::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const LIFE: [u8; 16] = [7; 16];

fn genesis() -> (SessionId, Head) {
    let id: SessionId = "s1".parse().unwrap();
    let head = Head::genesis(&id, Incarnation::from_bytes(LIFE));
    (id, head)
}

fn event(id: u8, kind: &str, data: &str) -> NewEvent {
    NewEvent {
        id: EventId::from_bytes([id; 16]),
        at: Timestamp::from_micros(1_700_000_000_123_456).unwrap(),
        kind: kind.parse().unwrap(),
        data: Data::from_json(data.to_owned()).unwrap(),
    }
}

/// The formula of [`Sum`], written a second time.
fn by_hand(before: u64, seq: u64, new: &NewEvent, top: Option<EventId>) -> u64 {
    let mut envelope = seq.to_le_bytes().to_vec();
    envelope.extend(new.id.as_bytes());
    envelope.extend(new.at.as_micros().to_le_bytes());
    envelope.extend(top.map_or([0; 16], |top| *top.as_bytes()));
    envelope.extend(new.kind.as_str().as_bytes());
    let seed = xxh3_64_with_seed(&envelope, before);
    xxh3_64_with_seed(new.data.as_bytes(), seed)
}

#[test]
fn a_genesis_is_of_the_name_and_the_life() {
    let (_, head) = genesis();
    let mut bytes = b"s1\0".to_vec();
    bytes.extend(LIFE);
    assert_eq!(head.sum.as_u64(), xxh3_64(&bytes));
    assert_eq!((head.tail, head.top), (SeqNum::ZERO, EventId::MIN));
    assert_eq!(head.sum.to_string(), "47ed2a2b52ac8047");
}

#[test]
fn a_sealed_event_has_the_sum_of_the_document() {
    let (id, mut head) = genesis();
    let mut reader = head;
    let long = format!("k{}", "x".repeat(Kind::MAX_LEN - 1));
    // Ascending, descending, equal to the largest so far, and the longest kind there is.
    let batch = [
        event(5, "message", r#"{"n":0}"#),
        event(9, "x", r#"{"n":1}"#),
        event(3, "message", r#"{"n":2}"#),
        event(9, "message", r#"{"n":3}"#),
        event(10, &long, r#"{"n":4}"#),
    ];
    // What each has as its `top`, and the largest id behind it.
    let tops = [(0, 5), (0, 9), (9, 9), (0, 9), (0, 10)];
    for (n, (new, (top, largest))) in (0_u64..).zip(batch.into_iter().zip(tops)) {
        let top = (top > 0).then(|| EventId::from_bytes([top; 16]));
        let before = head.sum.as_u64();
        let stored = head.seal(new.clone());
        assert_eq!((stored.seq.get(), stored.top), (n, top));
        assert_eq!(
            stored.sum.as_u64(),
            by_hand(before, n, &new, top),
            "event {n}"
        );
        assert_eq!(head, Head::after(&stored));
        assert_eq!(head.top, EventId::from_bytes([largest; 16]));
        reader.verify(&id, &stored).unwrap();
        assert_eq!(reader, head);
    }
    assert_eq!(head.tail, SeqNum::new(5));
    assert_eq!(head.sum.to_string(), "0caa830c7c5d401f");
}

#[test]
fn damage_names_its_session_and_its_place() {
    let (id, mut head) = genesis();
    let mut reader = head;
    let first = head.seal(event(1, "message", "{}"));
    let second = head.seal(event(2, "message", "{}"));
    let mut changed = first.clone();
    changed.top = Some(EventId::from_bytes([1; 16]));
    let mut summed = first.clone();
    summed.sum = first.sum.then(b"");
    for (event, says) in [
        (&second, "event 1 instead"),
        (&changed, "checksum"),
        (&summed, "checksum"),
    ] {
        let before = reader;
        let error = reader.verify(&id, event).unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert_eq!(
            *error.kind(),
            ErrorKind::Corrupt {
                place: Place::session(&id).with_seq(SeqNum::ZERO)
            }
        );
        assert_eq!(reader, before, "what is damaged is not passed");
    }
}

#[test]
fn a_sum_is_sixteen_digits_and_nothing_else() {
    let sum = Sum::from_u64(0x0123_4567_89ab_cdef);
    assert_eq!(sum.as_u64(), 0x0123_4567_89ab_cdef);
    assert_eq!(&sum.to_text(), b"0123456789abcdef");
    assert_eq!(sum.to_string(), "0123456789abcdef");
    assert_eq!(Sum::from_text(b"0123456789abcdef"), Some(sum));
    for text in [
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789ABCDEF",
        "0123456789abcdeg",
    ] {
        assert_eq!(Sum::from_text(text.as_bytes()), None, "{text}");
        assert!(Sum::try_from(text.to_owned()).is_err(), "{text}");
    }
    assert_eq!(Sum::try_from("0123456789abcdef".to_owned()).unwrap(), sum);
    assert_eq!(String::from(sum), "0123456789abcdef");
    assert_eq!(
        sum.then(b"x").as_u64(),
        xxh3_64_with_seed(b"x", sum.as_u64())
    );
}
