//! Whether some bytes are the beginning of an event's line, cut anywhere.

use sessionlog_core::{EventId, Kind, SeqNum, Sum, Timestamp};

use crate::format::Part;

/// Why a match stopped.
enum Stop {
    /// The bytes came to their end: so far they fit.
    End,
    /// A byte does not fit.
    Other,
}

type Step<T = ()> = Result<T, Stop>;

/// Whether `bytes` begin the line of event `seq`, as part `due` of a commit if it is not the first.
/// A line that is whole but for its newline is more than a beginning: it should have verified.
pub(crate) fn begins_an_event(bytes: &[u8], seq: SeqNum, due: Option<Part>) -> bool {
    matches!(Cursor(bytes).event(seq, due), Err(Stop::End))
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn event(&mut self, seq: SeqNum, due: Option<Part>) -> Step {
        self.literal(format!("{{\"seq\":{seq},\"id\":\"").as_bytes())?;
        self.run(
            EventId::TEXT_LEN,
            |b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'),
        )?;
        self.literal(b"\",\"at\":\"")?;
        self.run(Timestamp::TEXT_LEN, |b| {
            matches!(b, b'0'..=b'9' | b'-' | b':' | b'.' | b'T' | b'Z')
        })?;
        self.literal(b"\",\"kind\":\"")?;
        for _ in 0..=Kind::MAX_LEN {
            match self.peek()? {
                b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' => self.skip(),
                _ => break,
            }
        }
        self.literal(b"\",\"")?;
        match due {
            Some(part) => {
                self.literal(format!("part\":[{},{}],\"", part.at, part.of).as_bytes())?;
            }
            None if self.peek()? == b'p' => {
                self.literal(b"part\":[1,")?;
                while self.peek()?.is_ascii_digit() {
                    self.skip();
                }
                self.literal(b"],\"")?;
            }
            None => {}
        }
        if self.0.starts_with(b"to") {
            self.literal(b"top\":\"")?;
            self.run(
                EventId::TEXT_LEN,
                |b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'),
            )?;
            self.literal(b"\",\"")?;
        }
        match self.peek()? {
            b'd' => {
                self.literal(b"data\":")?;
                self.value()?;
            }
            b't' if self.0.len() == 1 => return Err(Stop::End),
            _ => {
                self.literal(b"text\":\"")?;
                self.string()?;
            }
        }
        self.literal(b",\"sum\":\"")?;
        self.run(Sum::TEXT_LEN, |b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))?;
        self.literal(b"\"}")
    }

    fn peek(&self) -> Step<u8> {
        self.0.first().copied().ok_or(Stop::End)
    }

    fn skip(&mut self) {
        self.0 = self.0.get(1..).unwrap_or_default();
    }

    fn literal(&mut self, text: &[u8]) -> Step {
        text.iter().try_for_each(|expected| {
            if self.peek()? != *expected {
                return Err(Stop::Other);
            }
            self.skip();
            Ok(())
        })
    }

    fn run(&mut self, len: usize, allowed: impl Fn(u8) -> bool) -> Step {
        (0..len).try_for_each(|_| {
            if !allowed(self.peek()?) {
                return Err(Stop::Other);
            }
            self.skip();
            Ok(())
        })
    }

    /// A JSON value, as far as its nesting, its strings and its commas go.
    fn value(&mut self) -> Step {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                byte @ (b'{' | b'[') => {
                    self.skip();
                    self.space();
                    let close = if byte == b'{' { b'}' } else { b']' };
                    if self.peek()? == close {
                        self.skip();
                    } else {
                        open.push(close);
                        self.key(close)?;
                        continue;
                    }
                }
                b'"' => {
                    self.skip();
                    self.string()?;
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'-' | b'0'..=b'9' => {
                    while matches!(self.peek()?, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                        self.skip();
                    }
                }
                _ => return Err(Stop::Other),
            }
            loop {
                if open.is_empty() && self.0.starts_with(b",") {
                    return Ok(());
                }
                self.space();
                let byte = self.peek()?;
                match open.last() {
                    None => {
                        return if byte == b',' {
                            Ok(())
                        } else {
                            Err(Stop::Other)
                        };
                    }
                    Some(close) if byte == *close => {
                        self.skip();
                        open.pop();
                    }
                    Some(close) if byte == b',' => {
                        let close = *close;
                        self.skip();
                        self.key(close)?;
                        break;
                    }
                    Some(_) => return Err(Stop::Other),
                }
            }
        }
    }

    /// The key of an object's next member, with its colon.
    fn key(&mut self, close: u8) -> Step {
        if close == b'}' {
            self.space();
            self.literal(b"\"")?;
            self.string()?;
            self.space();
            self.literal(b":")?;
        }
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.0.first(), Some(b' ' | b'\t' | b'\r')) {
            self.skip();
        }
    }

    /// The rest of a string, with its closing quote.
    fn string(&mut self) -> Step {
        loop {
            let byte = self.peek()?;
            self.skip();
            match byte {
                b'"' => return Ok(()),
                b'\\' => {
                    self.peek()?;
                    self.skip();
                }
                0..0x20 => return Err(Stop::Other),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::encode;
    use sessionlog_core::{Head, Incarnation, NewEvent, SessionId};

    fn lines() -> Vec<(Vec<u8>, SeqNum, Option<Part>)> {
        let id = SessionId::new("s").unwrap();
        let mut head = Head::genesis(&id, Incarnation::from_bytes([7; 16]));
        let texts = [
            r#"{"a": [1, -2.5e+3, true, null, "x\"y\\ä"], "b": {}, "c": [ ]}"#,
            "[1,\n2]",
            "-0",
            r#""text""#,
            r#" [[[{"deep":[]}]]] "#,
        ];
        let of = texts.len() as u64;
        let mut part = Part { at: 1, of };
        let mut due = None;
        let mut all = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let new = NewEvent::json(Kind::from_static("message"), *text)
                .unwrap()
                .with_id(EventId::from_bytes([9 - u8::try_from(n).unwrap(); 16]));
            let event = head.seal(new);
            let mut line = Vec::new();
            encode(&mut line, &event, part);
            line.pop();
            all.push((line, event.seq, due));
            part = part.next();
            due = Some(part);
        }
        all
    }

    #[test]
    fn every_cut_of_a_line_begins_it() {
        for (line, seq, due) in lines() {
            for cut in 0..line.len() {
                let text = String::from_utf8_lossy(&line[..cut]).into_owned();
                assert!(begins_an_event(&line[..cut], seq, due), "{text}");
            }
        }
    }

    #[test]
    fn a_whole_line_with_a_flipped_bit_in_its_last_field_begins_none() {
        for (line, seq, due) in lines() {
            for at in line.len() - 26..line.len() {
                for bit in 0..8 {
                    let mut changed = line.clone();
                    changed[at] ^= 1 << bit;
                    let text = String::from_utf8_lossy(&changed).into_owned();
                    assert!(!begins_an_event(&changed, seq, due), "{text}");
                }
            }
            assert!(!begins_an_event(&line, seq, due));
            let mut more = line.clone();
            more.push(b'x');
            assert!(!begins_an_event(&more, seq, due));
            assert!(!begins_an_event(&line, seq.plus(1), due));
        }
        assert!(!begins_an_event(b"garbage", SeqNum::ZERO, None));
    }
}
