use super::*;
use proptest::prelude::*;
use sessionlog_core::{Head, Incarnation, NewEvent, SessionId};

fn json() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"null".to_vec()),
        Just(b"{\n  \"a\": [1,\r\n\t2]\n}".to_vec()),
        Just(b"\r1".to_vec()),
        "[a-zA-Z0-9 ,:{}\\[\\]äöü\u{2028}]{0,80}".prop_map(|s| format!("\"{s}\"").into_bytes()),
        "[a-z]{0,8}".prop_map(|s| format!("{{\"k\":\n\"{s}\\\\ \\\" \\u0000\"}}").into_bytes()),
        prop::collection::vec(any::<i64>(), 0..20).prop_map(|v| serde_json::to_vec(&v).unwrap()),
    ]
}

prop_compose! {
    fn events()(
        all in prop::collection::vec(
            (any::<[u8; 16]>(), -62_000_000_000_000_000..253_000_000_000_000_000_i64, "[a-z][a-z0-9_]{0,20}(\\.[a-z]{1,5})?", json()),
            1..5,
        ),
    ) -> Vec<NewEvent> {
        all.into_iter().map(|(id, at, kind, data)| NewEvent {
            id: EventId::from_bytes(id),
            at: Timestamp::from_micros(at).unwrap(),
            kind: Kind::new(&kind).unwrap(),
            data: Data::from_json(data).unwrap(),
        }).collect()
    }
}

fn genesis() -> Head {
    let id = SessionId::new("s").unwrap();
    Head::genesis(&id, Incarnation::from_bytes([7; 16]))
}

/// The events of a commit as lines.
fn lines(events: Vec<NewEvent>) -> (Vec<Event>, Vec<u8>) {
    let mut head = genesis();
    let sealed: Vec<_> = events.into_iter().map(|e| head.seal(e)).collect();
    let mut out = Vec::new();
    let mut part = Part {
        at: 1,
        of: sealed.len() as u64,
    };
    for event in &sealed {
        encode(&mut out, event, part);
        part = part.next();
    }
    (sealed, out)
}

/// What a reader makes of these bytes; `None` as soon as anything is wrong.
fn read(bytes: Vec<u8>) -> Option<Vec<Event>> {
    let id = SessionId::new("s").unwrap();
    let bytes = Bytes::from(bytes);
    let mut kinds = Kinds::default();
    let (mut head, mut all, mut start) = (genesis(), Vec::new(), 0);
    let mut due = None;
    for end in memchr::memchr_iter(b'\n', &bytes) {
        let line = scan(&bytes, start..end, &mut kinds)?;
        if line.part
            != due.unwrap_or(Part {
                at: 1,
                of: line.part.of,
            })
        {
            return None;
        }
        due = (!line.part.is_last()).then(|| line.part.next());
        head.verify(&id, &line.event).ok()?;
        all.push(line.event);
        start = end + 1;
    }
    (start == bytes.len() && due.is_none()).then_some(all)
}

proptest! {
    #[test]
    fn a_commit_round_trips_and_is_valid_json_lines(events in events()) {
        let (sealed, bytes) = lines(events);
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap();
            prop_assert!(value["data"] != serde_json::Value::Null || value["text"].is_string()
                || line.windows(11).any(|w| w == b"\"data\":null"));
        }
        prop_assert_eq!(read(bytes), Some(sealed));
    }

    #[test]
    fn any_changed_byte_is_found(events in events(), at in any::<prop::sample::Index>(), byte: u8) {
        let (_, mut bytes) = lines(events);
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        prop_assert_eq!(read(bytes), None);
    }

    #[test]
    fn any_missing_or_doubled_byte_is_found(events in events(), at in any::<prop::sample::Index>()) {
        let (sealed, bytes) = lines(events);
        let at = at.index(bytes.len());
        let mut missing = bytes.clone();
        missing.remove(at);
        prop_assert_ne!(read(missing), Some(sealed.clone()));
        let mut doubled = bytes;
        doubled.insert(at, doubled[at]);
        prop_assert_ne!(read(doubled), Some(sealed));
    }
}

#[test]
fn every_flipped_bit_of_a_commit_is_found() {
    let event = |n: u8, text: &'static str| {
        NewEvent::json(Kind::from_static("message.part"), text)
            .unwrap()
            .with_id(EventId::from_bytes([9 - n; 16]))
    };
    let (_, bytes) = lines(vec![
        event(0, r#"{"a":"x"}"#),
        event(1, "[1,\n2]"),
        event(2, "-0"),
    ]);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert_eq!(read(changed), None, "byte {at} bit {bit}");
        }
    }
}

#[test]
fn a_payload_with_lines_has_one_form_as_text() {
    let mut out = Vec::new();
    let payload = b"{\n\r\t\"\\\x00\x1f\x20\x7f\xc3\xa4";
    escape(&mut out, payload);
    assert_eq!(out, b"{\\n\\r\\t\\\"\\\\\\u0000\\u001f\x20\x7f\xc3\xa4");
    assert_eq!(unescape(&out).as_deref(), Some(&payload[..]));
    for other in [&b"\\n\\u000a"[..], b"\\n\\/", b"\\n\\", b"no line"] {
        assert_eq!(unescape(other), None, "{other:?}");
    }
}

#[test]
fn the_longest_kind_is_read() {
    let kind = Kind::new(&"k".repeat(Kind::MAX_LEN)).unwrap();
    let (sealed, bytes) = lines(vec![NewEvent::json(kind, "{}").unwrap()]);
    assert_eq!(read(bytes), Some(sealed));
}

#[test]
fn numbers_have_one_form() {
    for n in [0, 7, 10, 12345, u64::MAX] {
        let mut out = Vec::new();
        number(&mut out, n);
        assert_eq!(out, n.to_string().into_bytes());
        assert_eq!(read_number(&out), Some((n, &b""[..])));
    }
    for bad in ["", "01", "-1", "18446744073709551616", "x"] {
        assert_eq!(read_number(bad.as_bytes()), None, "{bad}");
    }
}

/// A line of which nothing but the position and the part is of interest.
fn with_part(seq: u64, part: &str) -> Option<Line> {
    let (_, line) = lines(vec![
        NewEvent::json(Kind::from_static("message"), "{}").unwrap(),
    ]);
    let line = String::from_utf8(line).unwrap();
    let line = line.replace("\"seq\":0", &format!("\"seq\":{seq}"));
    let line = line.replace(",\"data\"", &format!("{part},\"data\""));
    let bytes = Bytes::from(line);
    scan(&bytes, 0..bytes.len() - 1, &mut Kinds::default())
}

#[test]
fn a_part_that_no_commit_has_is_not_read() {
    for (seq, part, at, of) in [
        (0, "", 1, 1),
        (7, "", 1, 1),
        (0, ",\"part\":[1,2]", 1, 2),
        (1, ",\"part\":[2,2]", 2, 2),
        (9, ",\"part\":[2,3]", 2, 3),
    ] {
        let line = with_part(seq, part).unwrap();
        assert_eq!(line.part, Part { at, of }, "{part}");
        assert_eq!(line.commit_start(), SeqNum::new(seq + 1 - at));
    }
    for (seq, part) in [
        // Alone, it is not written; none has no number, none is behind the last, none before 0.
        (9, ",\"part\":[1,1]"),
        (9, ",\"part\":[0,2]"),
        (9, ",\"part\":[3,2]"),
        (0, ",\"part\":[2,2]"),
        (1, ",\"part\":[3,3]"),
        (9, ",\"part\":[2]"),
        (9, ",\"part\":[2,3"),
    ] {
        assert_eq!(with_part(seq, part), None, "{seq} {part}");
    }
}

#[test]
fn behind_a_part_its_commit_goes_on_or_another_begins() {
    let part = |at, of| Part { at, of };
    assert_eq!(Due::behind(part(1, 1)), Due::First);
    assert_eq!(Due::behind(part(3, 3)), Due::First);
    assert_eq!(Due::behind(part(1, 3)), Due::Part(part(2, 3)));
    for (due, allowed, refused) in [
        (None, vec![part(1, 1), part(2, 3)], vec![]),
        (
            Some(Due::First),
            vec![part(1, 1), part(1, 3)],
            vec![part(2, 3)],
        ),
        (
            Some(Due::Part(part(2, 3))),
            vec![part(2, 3)],
            vec![part(1, 1), part(1, 3), part(2, 4), part(3, 3)],
        ),
    ] {
        assert!(
            allowed.iter().all(|part| Due::allows(due, *part)),
            "{due:?}"
        );
        assert!(
            !refused.iter().any(|part| Due::allows(due, *part)),
            "{due:?}"
        );
    }
}

/// Ids of which the larger one comes first: the second line has the first one's as its `top`.
#[test]
fn an_envelope_tells_the_largest_id_so_far() {
    let event = |id: u8| NewEvent {
        id: EventId::from_bytes([id; 16]),
        ..NewEvent::json(Kind::from_static("message"), "{}").unwrap()
    };
    let (_, bytes) = lines(vec![event(5), event(3)]);
    let tops: Vec<_> = bytes
        .split(|b| *b == b'\n')
        .filter_map(|line| Envelope::read(line)?.0.top())
        .collect();
    assert_eq!(tops, [EventId::from_bytes([5; 16]); 2]);
}
