//! Payloads around records: the text is put together by hand, so that the record inside keeps its
//! bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sessionlog::transcript::Source;
use sessionlog::{BlobId, Data, Error, Result};

/// What a payload keeps of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<'a> {
    /// A JSON value.
    Record(&'a str),
    /// Text that is no record.
    Text(&'a str),
    /// Bytes that are no text, or would be much longer as text.
    Base64(&'a [u8]),
    /// Too large to be here.
    Blob { id: BlobId, len: u64 },
    /// It is kept in another event.
    Nothing,
}

impl<'a> Kept<'a> {
    /// Bytes that are no record, in the form that is shorter; as text if that is not much longer.
    pub(crate) fn bytes(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if escaped_len(text) <= text.len() + text.len() / 3 + 16 => Self::Text(text),
            _ => Self::Base64(bytes),
        }
    }
}

fn escaped_len(text: &str) -> usize {
    let cost = |b: u8| match b {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(cost).sum()
}

/// The payload with the neutral fields in front, and what is kept behind them.
pub(crate) fn payload(neutral: &[u8], source: &Source, kept: Kept<'_>) -> Result<Data> {
    let fields = neutral.strip_suffix(b"}").unwrap_or(b"{");
    let size = match kept {
        Kept::Record(text) | Kept::Text(text) => text.len(),
        Kept::Base64(bytes) => bytes.len() / 3 * 4,
        Kept::Blob { .. } => 64,
        Kept::Nothing => 0,
    };
    let mut out = Vec::with_capacity(fields.len() + size + 256);
    out.extend_from_slice(fields);
    if fields.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(b"\"source\":");
    write(&mut out, source)?;
    match kept {
        Kept::Nothing => {}
        Kept::Record(text) => {
            out.extend_from_slice(b",\"record\":");
            out.extend_from_slice(text.as_bytes());
        }
        Kept::Text(text) => {
            out.extend_from_slice(b",\"text\":");
            write(&mut out, text)?;
        }
        Kept::Base64(bytes) => {
            out.extend_from_slice(b",\"base64\":\"");
            out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
            out.push(b'"');
        }
        Kept::Blob { id, len } => {
            out.extend_from_slice(b",\"blob\":");
            write(&mut out, &id)?;
            out.extend_from_slice(b",\"bytes\":");
            write(&mut out, &len)?;
        }
    }
    out.push(b'}');
    Data::from_json(out)
}

fn write<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(out, value)
        .map_err(|e| Error::internal("a payload can't be written as JSON").with_source(e))
}

/// The bytes of a `base64` field.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(neutral: &str, kept: Kept<'_>) -> String {
        let source = Source {
            format: "lines".to_owned(),
            line: 7,
            ..Source::default()
        };
        payload(neutral.as_bytes(), &source, kept)
            .unwrap()
            .to_string()
    }

    #[test]
    fn the_record_keeps_its_bytes() {
        let source = r#""source":{"format":"lines","line":7}"#;
        assert_eq!(
            text("{}", Kept::Record(r#"{ "a":1e400,"a":2 }"#)),
            format!(r#"{{{source},"record":{{ "a":1e400,"a":2 }}}}"#)
        );
        assert_eq!(
            text(r#"{"role":"user"}"#, Kept::Text("a\"\r")),
            format!(r#"{{"role":"user",{source},"text":"a\"\r"}}"#)
        );
        assert_eq!(
            text("{}", Kept::bytes(b"a\xff")),
            format!(r#"{{{source},"base64":"Yf8="}}"#)
        );
    }

    #[test]
    fn runs_of_nul_do_not_swell() {
        assert!(matches!(Kept::bytes(&[0; 9000]), Kept::Base64(_)));
        assert!(matches!(Kept::bytes(b"{\"a\":\"b"), Kept::Text(_)));
    }
}
