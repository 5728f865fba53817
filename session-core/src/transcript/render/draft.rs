//! A message of the Anthropic shape while its blocks are gathered.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::text::block;
use crate::SeqNum;
use crate::transcript::fields::Fields;
use crate::transcript::native::{Block, Native};

/// A block of content, ready to be sent.
pub(super) struct Piece<'a> {
    pub(super) json: Cow<'a, str>,
    /// The message that it is a block of, untouched; which block, and of how many.
    pub(super) from: Option<(&'a RawValue, usize, usize)>,
    pub(super) thought: bool,
}

/// A message while its blocks are gathered.
pub(super) struct Draft<'a> {
    pub(super) role: &'static str,
    pub(super) seq: SeqNum,
    pub(super) pieces: Vec<Piece<'a>>,
}

/// A block that replay wrote.
pub(super) fn fresh<'a>(json: String) -> Piece<'a> {
    Piece {
        json: json.into(),
        from: None,
        thought: false,
    }
}

impl<'a> Draft<'a> {
    /// The message as it went in, if all of it is here, in order, and nothing else: whole, or its
    /// content where the API takes no more than that.
    pub(super) fn untouched(&self) -> Option<(&'a RawValue, bool)> {
        let (raw, _, total) = self.pieces.first()?.from?;
        let in_order = self.pieces.iter().enumerate().all(|(nth, piece)| {
            piece
                .from
                .is_some_and(|(of, at, _)| at == nth && std::ptr::eq(of, raw))
        });
        if !in_order || total != self.pieces.len() {
            return None;
        }
        let fields = Fields::of(raw);
        let content = fields.get("content")?;
        let same = fields.text("role").as_deref() == Some(self.role);
        let whole = same && fields.only(&["role", "content"]) && fields.0.len() == 2;
        Some(if whole { (raw, true) } else { (content, false) })
    }
}

/// A block as it went in.
pub(super) fn untouched<'a>(
    raw: &'a RawValue,
    nth: usize,
    native: &Native<'a>,
    it: &Block<'a>,
) -> Piece<'a> {
    let json = it.raw.get();
    let json = if it.is_loose() {
        block(json).into()
    } else {
        json.into()
    };
    Piece {
        json,
        from: Some((raw, nth, native.blocks.len())),
        thought: false,
    }
}

/// A message with this content.
pub(super) fn message(role: &str, content: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{content}}}")
}
