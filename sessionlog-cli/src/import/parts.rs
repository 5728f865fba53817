//! What stands on a line: a record, several that were glued together, or bytes that are none.

use std::str;

use serde_json::value::RawValue;

use super::fields::Fields;

/// A piece of a line. The pieces of a line, one behind the other, are the line.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Nothing but white space.
    Blank(&'a str),
    /// A JSON value with the white space around it.
    Record {
        before: &'a str,
        text: &'a str,
        fields: Fields<'a>,
        behind: &'a str,
    },
    /// Bytes that are no record.
    Damaged { bytes: &'a [u8], reason: String },
}

impl Part<'_> {
    /// Its length on the line, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Blank(text) => text.len(),
            Self::Record {
                before,
                text,
                behind,
                ..
            } => before.len() + text.len() + behind.len(),
            Self::Damaged { bytes, .. } => bytes.len(),
        }
    }
}

/// More records than this on one line are not told apart.
const MOST: usize = 1000;
const BOM: &str = "\u{feff}";

/// Splits a line. `is_record` says of an object whether it is a record of the format: behind bytes
/// that are none, only such a one is believed to be whole, since any object may be a piece of a
/// larger one.
pub(crate) fn split<'a>(
    line: &'a [u8],
    first: bool,
    is_record: &dyn Fn(&Fields<'_>) -> bool,
) -> Vec<Part<'a>> {
    if let Ok(text) = str::from_utf8(line)
        && let Some(part) = whole(text, first)
    {
        return vec![part];
    }
    salvage(line, first, is_record)
}

/// The usual case: one value, and white space.
fn whole(line: &str, first: bool) -> Option<Part<'_>> {
    let start = lead(line.as_bytes(), first);
    let (before, rest) = line.split_at_checked(start)?;
    let value = rest.trim_end_matches(is_space);
    if value.is_empty() {
        return Some(Part::Blank(line));
    }
    let behind = rest.get(value.len()..)?;
    // Reading the fields also checks all of the text; what has none is checked by itself.
    let fields = serde_json::from_str(value)
        .or_else(|_| serde_json::from_str::<&RawValue>(value).map(|_| Fields::default()))
        .ok()?;
    Some(Part::Record {
        before,
        text: value,
        fields,
        behind,
    })
}

/// The length of the white space in front, and of a byte order mark in front of the file.
fn lead(line: &[u8], first: bool) -> usize {
    let mark = if first && line.starts_with(BOM.as_bytes()) {
        BOM.len()
    } else {
        0
    };
    mark + spaces(line.get(mark..).unwrap_or_default())
}

fn spaces(bytes: &[u8]) -> usize {
    let is = |b: &&u8| is_space(char::from(**b));
    bytes.iter().take_while(is).count()
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn salvage<'a>(
    line: &'a [u8],
    first: bool,
    is_record: &dyn Fn(&Fields<'_>) -> bool,
) -> Vec<Part<'a>> {
    // How much may be read again in the search for whole records, so that no line can cost more.
    let mut budget = line.len().saturating_mul(32).saturating_add(1 << 20);
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut at = 0;
    while at < line.len() && parts.len() < MOST {
        let before = if parts.is_empty() {
            lead(line, first)
        } else {
            0
        };
        let behind_a_record = !matches!(parts.last(), Some(Part::Damaged { .. }));
        let accept = |fields: &Fields<'_>, from: usize| {
            behind_a_record && from == at + before
                || is_record(fields)
                || from.checked_sub(1).and_then(|i| line.get(i)) == Some(&0)
        };
        if let Some(part) = record(line, at, before, &accept, &mut budget) {
            at += part.len();
            parts.push(part);
            continue;
        }
        let end = next_record(line, at, &accept, &mut budget);
        parts.push(damaged(line, at, end));
        at = end;
    }
    if at < line.len() {
        parts.push(Part::Damaged {
            bytes: line.get(at..).unwrap_or_default(),
            reason: format!("more than {MOST} records on one line"),
        });
    }
    parts
}

/// The record that begins at `at`, with the white space behind it.
fn record<'a>(
    line: &'a [u8],
    at: usize,
    before: usize,
    accept: &dyn Fn(&Fields<'_>, usize) -> bool,
    budget: &mut usize,
) -> Option<Part<'a>> {
    let start = at.checked_add(before)?;
    let value = object(line.get(start..)?, budget)?;
    let fields = Fields::of(value);
    if !accept(&fields, start) {
        return None;
    }
    let text = value.get();
    let end = start + text.len();
    let behind = spaces(line.get(end..)?);
    Some(Part::Record {
        before: str::from_utf8(line.get(at..start)?).ok()?,
        text,
        fields,
        behind: str::from_utf8(line.get(end..end + behind)?).ok()?,
    })
}

/// The object at the start of these bytes.
fn object<'a>(bytes: &'a [u8], budget: &mut usize) -> Option<&'a RawValue> {
    if bytes.first() != Some(&b'{') || *budget == 0 {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    match values.next()? {
        Ok(text) => {
            *budget = budget.saturating_sub(text.get().len());
            Some(text)
        }
        Err(e) => {
            *budget = budget.saturating_sub(e.column());
            None
        }
    }
}

/// Where the next record behind `at` begins; the end of the line if there is none.
fn next_record(
    line: &[u8],
    at: usize,
    accept: &dyn Fn(&Fields<'_>, usize) -> bool,
    budget: &mut usize,
) -> usize {
    let from = at + 1;
    let rest = line.get(from..).unwrap_or_default();
    memchr::memmem::find_iter(rest, b"{\"")
        .map(|found| from + found)
        .find(|start| {
            let text = line.get(*start..).and_then(|rest| object(rest, budget));
            text.is_some_and(|text| accept(&Fields::of(text), *start))
        })
        .unwrap_or(line.len())
}

fn damaged(line: &[u8], start: usize, end: usize) -> Part<'_> {
    let bytes = line.get(start..end).unwrap_or_default();
    Part::Damaged {
        bytes,
        reason: reason(bytes, start),
    }
}

/// What is wrong with the bytes that begin at `start` of their line.
fn reason(bytes: &[u8], start: usize) -> String {
    let column = start + 1;
    if bytes.iter().all(|b| *b == 0) {
        return format!("{} NUL bytes at column {column}", bytes.len());
    }
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => return format!("invalid UTF-8 at column {}", start + e.valid_up_to() + 1),
    };
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => format!("a value that is no record at column {column}"),
        Err(e) => {
            let told = e.to_string();
            let what = told.split(" at line ").next().unwrap_or(&told);
            format!("not JSON: {what} at column {}", start + e.column())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as text: records in `<>`, damage in `!!`, and together they are the line.
    fn told(line: &[u8]) -> String {
        let parts = split(line, true, &|fields| fields.has("type"));
        let mut out = String::new();
        let mut len = 0;
        for part in &parts {
            len += part.len();
            match part {
                Part::Blank(text) => out.push_str(&format!("blank{text:?}")),
                Part::Record {
                    before,
                    text,
                    behind,
                    ..
                } => {
                    out.push_str(&format!("{before}<{text}>{behind}"));
                }
                Part::Damaged { bytes, .. } => {
                    out.push_str(&format!("!{}!", bytes.escape_ascii()));
                }
            }
        }
        assert_eq!(len, line.len());
        out
    }

    #[test]
    fn one_record_keeps_the_white_space_around_it() {
        assert_eq!(told(b"{\"a\":1}"), "<{\"a\":1}>");
        assert_eq!(told(b" {\"a\":1}\t\r"), " <{\"a\":1}>\t\r");
        assert_eq!(told("\u{feff}{}".as_bytes()), "\u{feff}<{}>");
        assert_eq!(told(b"17"), "<17>");
        assert_eq!(told(b" \r"), "blank\" \\r\"");
        assert_eq!(told(b""), "blank\"\"");
    }

    #[test]
    fn glued_records_are_told_apart() {
        assert_eq!(
            told(br#"{"a":1}{"b":2} {"c":3}"#),
            r#"<{"a":1}><{"b":2}> <{"c":3}>"#
        );
        assert_eq!(told(br#"{"a":1}}"#), r#"<{"a":1}>!}!"#);
    }

    #[test]
    fn a_fragment_does_not_hide_the_record_behind_it() {
        assert_eq!(
            told(br#"{"type":"us{"type":"user","m":{"x":1}}"#),
            r#"!{\"type\":\"us!<{"type":"user","m":{"x":1}}>"#
        );
        // A piece of a torn record is not a record.
        assert_eq!(
            told(br#"{"type":"user","m":{"x":1"#),
            r#"!{\"type\":\"user\",\"m\":{\"x\":1!"#
        );
        assert_eq!(told(br#"xx,"m":{"x":1}}"#), r#"!xx,\"m\":{\"x\":1}}!"#);
    }

    #[test]
    fn nul_runs_and_bad_bytes_are_damage_and_nothing_else_is() {
        assert_eq!(told(b"\0\0{\"a\":1}"), "!\\x00\\x00!<{\"a\":1}>");
        assert_eq!(told(b"{\"a\":1}\0\0"), "<{\"a\":1}>!\\x00\\x00!");
        assert_eq!(told(b"{\"a\":\"\xff\"}"), "!{\\\"a\\\":\\\"\\xff\\\"}!");
        assert_eq!(told(b"{\"a\":NaN}"), "!{\\\"a\\\":NaN}!");
        assert_eq!(told(b"1 2"), "!1 2!");
    }

    #[test]
    fn reasons_name_their_column() {
        let reason = |line: &[u8]| match split(line, false, &|_| false).pop() {
            Some(Part::Damaged { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            reason(b"{\"a\":NaN}"),
            "not JSON: expected value at column 6"
        );
        assert_eq!(reason(b"{}\0\0"), "2 NUL bytes at column 3");
        assert_eq!(reason(b"{}ab\xff"), "invalid UTF-8 at column 5");
    }

    #[test]
    fn a_hostile_line_is_not_read_for_ever() {
        let nested = "{\"a\":".repeat(200_000);
        assert_eq!(split(nested.as_bytes(), false, &|_| true).len(), 1);
        let many = "{}".repeat(5000);
        assert_eq!(split(many.as_bytes(), false, &|_| true).len(), MOST + 1);
    }
}
