//! Payloads from a stream, a line each.

use std::io::{self, BufRead, Read};

use sessionlog::{Data, Error, Kind, Limits, NewEvent, Result};

use crate::failure::os_error;

/// Payloads, a line each.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    kind: &'a Kind,
    limits: Limits,
    /// The last line that was read.
    number: u64,
    /// A line that did not fit into the last batch.
    left: Option<NewEvent>,
    /// The end was seen: a terminal would go on behind it.
    ended: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, kind: &'a Kind) -> Self {
        let limits = Limits::default();
        Self {
            input,
            kind,
            limits,
            number: 0,
            left: None,
            ended: false,
        }
    }

    /// The next events, as many as may be appended at once; none at the end.
    pub(super) fn batch(&mut self) -> Result<Vec<NewEvent>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < self.limits.batch_events {
            let Some(event) = self.next()? else { break };
            bytes += event.data.len();
            if bytes > self.limits.batch_bytes {
                self.left = Some(event);
                break;
            }
            batch.push(event);
        }
        Ok(batch)
    }

    /// The number of the last line that was read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn next(&mut self) -> Result<Option<NewEvent>> {
        if let Some(event) = self.left.take() {
            return Ok(Some(event));
        }
        while !self.ended {
            let mut text = Vec::new();
            let most = self.limits.event_bytes;
            let room = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(3);
            let read = self.read_line(room, &mut text);
            let read = read.map_err(|e| os_error("standard input can't be read", e))?;
            if read == 0 {
                self.ended = true;
                break;
            }
            self.number += 1;
            while let Some(b'\n' | b'\r') = text.last() {
                text.pop();
            }
            if text.len() > most {
                return Err(Error::invalid(format!(
                    "line {} is too long for an event, of at most {most} bytes",
                    self.number
                )));
            }
            if !text.trim_ascii().is_empty() {
                let data = Data::from_json(text).map_err(|e| self.placed(&e))?;
                return Ok(Some(NewEvent::new(self.kind.clone(), data)));
            }
        }
        Ok(None)
    }

    fn read_line(&mut self, room: u64, text: &mut Vec<u8>) -> io::Result<usize> {
        Read::take(&mut *self.input, room).read_until(b'\n', text)
    }

    /// The error of one line, told with the number that the line has in the input.
    fn placed(&self, error: &Error) -> Error {
        let message = error.message();
        Error::invalid(match message.rsplit_once(" at line 1 column ") {
            Some((what, column)) => {
                format!("{what} at line {} column {column}", self.number)
            }
            None => format!("line {}: {message}", self.number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &str) -> Result<Vec<Vec<String>>> {
        let mut input = input.as_bytes();
        let kind = Kind::from_static("note");
        let mut lines = Lines::new(&mut input, &kind);
        lines.limits = Limits::default()
            .with_event_bytes(8)
            .with_batch_events(2)
            .with_batch_bytes(10);
        let mut all = Vec::new();
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                return Ok(all);
            }
            all.push(
                batch
                    .iter()
                    .map(|e| e.data.as_text().into_owned())
                    .collect(),
            );
        }
    }

    #[test]
    fn batches_keep_to_the_limits_and_lose_nothing() {
        let all = lines("1\r\n\n 2 \n3\n\"456789\"\n\"abc\"").unwrap();
        assert_eq!(
            all,
            [vec!["1", " 2 "], vec!["3", "\"456789\""], vec!["\"abc\""]]
        );
    }

    /// A terminal: it has lines behind each end.
    struct Keyboard(Vec<&'static [u8]>);

    impl Read for Keyboard {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let typed = self.0.remove(0);
            out[..typed.len()].copy_from_slice(typed);
            Ok(typed.len())
        }
    }

    #[test]
    fn one_end_of_a_terminal_is_enough() {
        let mut input = io::BufReader::new(Keyboard(vec![b"1\n", b"", b"2\n"]));
        let kind = Kind::from_static("note");
        let mut lines = Lines::new(&mut input, &kind);
        assert_eq!(lines.batch().unwrap().len(), 1);
        assert_eq!(lines.batch().unwrap().len(), 0);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_place() {
        let told = |input| lines(input).unwrap_err().to_string();
        assert!(
            told("1\n\n{\"a\" 1}").ends_with("at line 3 column 6"),
            "{}",
            told("1\n\n{\"a\" 1}")
        );
        assert!(told("1\n[").ends_with("at line 2 column 1"));
        assert!(told("123456789").contains("line 1 is too long"));
    }
}
