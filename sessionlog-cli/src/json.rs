//! Machine-readable output: one JSON value a line.

use std::io::{self, Write};

use serde::Serialize;
use sessionlog::{Event, Place};

/// Writes a value on a line of its own.
pub(crate) fn line<T: Serialize + ?Sized>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes an event on a line of its own, its payload byte for byte.
///
/// A payload of several lines is put on one by writing each line break as a space, which means the
/// same in JSON; its exact bytes are then beside it, in `text`, as a string.
pub(crate) fn event(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    let Event {
        seq,
        id,
        at,
        kind,
        data,
        top,
        sum,
        ..
    } = event;
    write!(
        out,
        r#"{{"seq":{seq},"id":"{id}","at":"{at}","kind":"{kind}","#
    )?;
    if let Some(top) = top {
        write!(out, r#""top":"{top}","#)?;
    }
    out.write_all(b"\"data\":")?;
    let mut rest = data.as_bytes();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, behind) = rest.split_at(at);
        out.write_all(before)?;
        out.write_all(b" ")?;
        rest = behind.get(1..).unwrap_or_default();
    }
    out.write_all(rest)?;
    if rest.len() < data.len() {
        out.write_all(b",\"text\":")?;
        serde_json::to_writer(&mut *out, &data.as_text())?;
    }
    writeln!(out, r#","sum":"{sum}"}}"#)
}

/// The place of damage.
#[derive(Serialize)]
pub(crate) struct Where {
    session: Option<String>,
    file: Option<String>,
    offset: Option<u64>,
    seq: Option<u64>,
}

impl From<&Place> for Where {
    fn from(place: &Place) -> Self {
        Self {
            session: place.session.as_ref().map(ToString::to_string),
            file: place.file.clone(),
            offset: place.offset,
            seq: place.seq.map(sessionlog::SeqNum::get),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessionlog::{Head, Kind, NewEvent, SessionRef};

    fn written(data: &str) -> serde_json::Value {
        let at = SessionRef::fresh("s".parse().unwrap());
        let new = NewEvent::json(Kind::from_static("a.b"), data.to_owned()).unwrap();
        let sealed = Head::genesis(&at.id, at.incarnation).seal(new);
        let mut out = Vec::new();
        event(&mut out, &sealed).unwrap();
        assert_eq!(out.iter().filter(|b| **b == b'\n').count(), 1);
        assert!(!out.contains(&b'\r'));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_payload_of_several_lines_is_one_line_and_has_its_bytes_beside_it() {
        let pretty = "{\r\n  \"a\": [\n1]\n}\n";
        let event = written(pretty);
        assert_eq!(event["data"]["a"][0], 1);
        assert_eq!(event["text"], pretty);
        let event = written(r#"{"a":"\n"}"#);
        assert_eq!(event["data"]["a"], "\n");
        assert!(event.get("text").is_none());
    }
}
