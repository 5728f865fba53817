//! A provider's message, read as far as replay needs it: its shape and its blocks.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{Fields, items, string};

/// Whose words a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A role and text: right for any of them.
    Plain,
    /// Anthropic messages.
    Anthropic,
    /// `OpenAI` chat completions.
    Chat,
    /// Items of `OpenAI` responses.
    Responses,
    /// None that is known.
    Unknown,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    pub(super) what: What<'a>,
    /// The whole piece as it was written; of a text that is the message's content, the string.
    pub(super) raw: &'a RawValue,
    /// Whose words the piece uses.
    of: Shape,
}

impl Block<'_> {
    /// Whether it is a string and no object.
    pub(super) fn is_loose(&self) -> bool {
        self.raw.get().starts_with('"')
    }
}

#[derive(Clone, Debug)]
pub(super) enum What<'a> {
    /// The JSON string.
    Text(&'a RawValue),
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        /// An object, or a string that holds one.
        input: Option<&'a RawValue>,
    },
    Result {
        id: Cow<'a, str>,
        content: Option<&'a RawValue>,
        error: bool,
    },
    /// Where the image is: an address, or base64 with its media type.
    Image(Image<'a>),
    Thought,
    /// Something that has no counterpart elsewhere.
    Other,
    /// No block at all: not an object, or one without a type.
    Junk,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Image<'a> {
    /// An address, `data:` included.
    Url(Cow<'a, str>),
    Base64 {
        media: Cow<'a, str>,
        data: Cow<'a, str>,
    },
    Opaque,
}

/// A provider's message.
#[derive(Clone, Debug)]
pub(super) struct Native<'a> {
    pub(super) shape: Shape,
    pub(super) fields: Fields<'a>,
    pub(super) blocks: Vec<Block<'a>>,
}

impl<'a> Native<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Self {
        let fields = Fields::of(raw);
        let mut blocks = Vec::new();
        let mut shape = if fields.0.is_empty() {
            loose(raw, &mut blocks)
        } else {
            message(raw, &fields, &mut blocks)
        };
        let role = fields.text("role");
        if shape == Shape::Plain && role.is_none() {
            shape = Shape::Unknown;
        }
        Self {
            shape,
            fields,
            blocks,
        }
    }

    /// Whether one of its blocks can stand in a message of this shape as it is.
    pub(super) fn owns(&self, block: &Block<'_>, shape: Shape) -> bool {
        match block.of {
            Shape::Plain => true,
            Shape::Unknown => self.shape == shape && !matches!(block.what, What::Junk),
            of => of == shape,
        }
    }

    /// Whether its content is one string, or blocks and nothing else.
    pub(super) fn is_clean(&self) -> bool {
        let string = self
            .fields
            .get("content")
            .is_some_and(|c| c.get().starts_with('"'));
        let block = |b: &Block<'_>| !matches!(b.what, What::Junk) && (string || !b.is_loose());
        self.blocks.iter().all(block)
    }

    /// Ids and names of the calls in it, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match &block.what {
            What::Call { id, name, .. } => Some((&**id, &**name)),
            _ => None,
        })
    }

    /// Ids of the calls that it answers, in order, and whether the tool failed.
    pub(super) fn results(&self) -> impl Iterator<Item = (&str, bool)> {
        self.blocks.iter().filter_map(|block| match &block.what {
            What::Result { id, error, .. } => Some((&**id, *error)),
            _ => None,
        })
    }
}

/// Content without a message around it.
fn loose<'a>(raw: &'a RawValue, blocks: &mut Vec<Block<'a>>) -> Shape {
    content(raw, blocks);
    Shape::Unknown
}

fn message<'a>(raw: &'a RawValue, fields: &Fields<'a>, blocks: &mut Vec<Block<'a>>) -> Shape {
    let kind = fields.text("type").unwrap_or_default();
    if let Some(item) = response_item(&kind, fields) {
        blocks.push(Block {
            what: item,
            raw,
            of: Shape::Responses,
        });
        return Shape::Responses;
    }
    if fields.text("role").as_deref() == Some("tool") || fields.get("tool_call_id").is_some() {
        let what = What::Result {
            id: fields.text("tool_call_id").unwrap_or_default(),
            content: fields.get("content"),
            error: false,
        };
        let of = Shape::Chat;
        blocks.push(Block { what, raw, of });
        return of;
    }
    if fields.get("role").is_none() && fields.get("content").is_none() {
        return bare(raw, blocks);
    }
    let mut shape = fields
        .get("content")
        .map_or(Shape::Plain, |c| content(c, blocks));
    let calls = fields.items("tool_calls");
    for call in &calls {
        let of = Fields::of(call);
        let function = of.get("function").or_else(|| of.get("custom"));
        let function = function.map(Fields::of).unwrap_or_default();
        let what = What::Call {
            id: of.text("id").unwrap_or_default(),
            name: function.text("name").unwrap_or_default(),
            input: function.get("arguments").or_else(|| function.get("input")),
        };
        blocks.push(Block {
            what,
            raw: call,
            of: Shape::Chat,
        });
    }
    if !calls.is_empty() || fields.get("reasoning_content").is_some() {
        shape = Shape::Chat;
    }
    shape
}

/// A block without a message around it, or an item of a kind that is not known.
fn bare<'a>(raw: &'a RawValue, blocks: &mut Vec<Block<'a>>) -> Shape {
    let (what, of) = block(raw);
    let (of, shape) = match (&what, of) {
        (What::Other, Some(Shape::Unknown)) => (Shape::Responses, Shape::Responses),
        (_, of) => (of.unwrap_or(Shape::Plain), Shape::Unknown),
    };
    blocks.push(Block { what, raw, of });
    shape
}

/// Items of the responses shape that are no messages.
fn response_item<'a>(kind: &str, fields: &Fields<'a>) -> Option<What<'a>> {
    let id = fields.text("call_id");
    let own = matches!(kind, "local_shell_call" | "tool_search_call");
    let id = id.or_else(|| fields.text("id").filter(|_| own));
    match (kind, id) {
        ("function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call", id) => {
            Some(call(kind, id.unwrap_or_default(), fields))
        }
        ("function_call_output" | "custom_tool_call_output", id) => {
            Some(output(id.unwrap_or_default(), fields))
        }
        // Of a kind that is not known: a call if another item can answer it.
        (_, Some(id)) if kind.ends_with("_call") => Some(call(kind, id, fields)),
        (_, Some(id)) if kind.ends_with("_output") => Some(output(id, fields)),
        ("reasoning", _) => Some(What::Thought),
        ("item_reference", _) => Some(What::Other),
        _ if kind.ends_with("_call") || kind.ends_with("_output") => Some(What::Other),
        _ => None,
    }
}

fn call<'a>(kind: &str, id: Cow<'a, str>, fields: &Fields<'a>) -> What<'a> {
    let stem = || kind.trim_end_matches("_call").to_owned().into();
    let input = ["arguments", "input", "action"].iter();
    What::Call {
        id,
        name: fields.text("name").unwrap_or_else(stem),
        input: input.filter_map(|name| fields.get(name)).next(),
    }
}

fn output<'a>(id: Cow<'a, str>, fields: &Fields<'a>) -> What<'a> {
    What::Result {
        id,
        content: fields.get("output"),
        error: false,
    }
}

fn content<'a>(raw: &'a RawValue, blocks: &mut Vec<Block<'a>>) -> Shape {
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            blocks.push(Block {
                what: What::Text(raw),
                raw,
                of: Shape::Plain,
            });
            Shape::Plain
        }
        Some(b'[') => {
            let mut shape = Shape::Plain;
            for item in items(raw).unwrap_or_default() {
                let (what, of) = block(item);
                // A block of a kind that is not known does not change whose message it is.
                shape = match (shape, of) {
                    (Shape::Plain, Some(of)) => of,
                    (Shape::Unknown, Some(of)) => of,
                    (shape, _) => shape,
                };
                let of = of.unwrap_or(Shape::Plain);
                blocks.push(Block {
                    what,
                    raw: item,
                    of,
                });
            }
            shape
        }
        Some(b'n') => Shape::Plain,
        _ => Shape::Unknown,
    }
}

/// A block of content, and the shape that it gives away.
fn block(raw: &RawValue) -> (What<'_>, Option<Shape>) {
    if raw.get().starts_with('"') {
        return (What::Text(raw), Some(Shape::Unknown));
    }
    let fields = Fields::of(raw);
    let kind = fields.text("type").unwrap_or_default();
    let text = || {
        let text = fields
            .get("text")
            .filter(|text| text.get().starts_with('"'));
        text.map_or(What::Junk, What::Text)
    };
    match &*kind {
        "" => (What::Junk, None),
        "text" => (text(), None),
        "input_text" | "output_text" => (text(), Some(Shape::Responses)),
        "tool_use" => {
            let what = What::Call {
                id: fields.text("id").unwrap_or_default(),
                name: fields.text("name").unwrap_or_default(),
                input: fields.get("input"),
            };
            (what, Some(Shape::Anthropic))
        }
        "tool_result" => {
            let what = What::Result {
                id: fields.text("tool_use_id").unwrap_or_default(),
                content: fields.get("content"),
                error: fields.get("is_error").is_some_and(|e| e.get() == "true"),
            };
            (what, Some(Shape::Anthropic))
        }
        "image" => (
            What::Image(anthropic_image(&fields)),
            Some(Shape::Anthropic),
        ),
        "image_url" => {
            let url = fields.get("image_url").map(Fields::of).unwrap_or_default();
            let image = url.text("url").map_or(Image::Opaque, Image::Url);
            (What::Image(image), Some(Shape::Chat))
        }
        "input_image" => {
            let image = fields.text("image_url").map_or(Image::Opaque, Image::Url);
            (What::Image(image), Some(Shape::Responses))
        }
        "thinking" | "redacted_thinking" => (What::Thought, Some(Shape::Anthropic)),
        "refusal" | "input_audio" | "audio" => (What::Other, Some(Shape::Chat)),
        "document" | "server_tool_use" | "search_result" => (What::Other, Some(Shape::Anthropic)),
        _ if kind.ends_with("_tool_result") => (What::Other, Some(Shape::Anthropic)),
        _ => (What::Other, Some(Shape::Unknown)),
    }
}

fn anthropic_image<'a>(fields: &Fields<'a>) -> Image<'a> {
    let source = fields.get("source").map(Fields::of).unwrap_or_default();
    match (
        source.text("url"),
        source.text("media_type"),
        source.text("data"),
    ) {
        (Some(url), ..) => Image::Url(url),
        (None, Some(media), Some(data)) => Image::Base64 { media, data },
        _ => Image::Opaque,
    }
}

/// Whether a text says anything; one that can't be read as characters does.
pub(super) fn says_something(text: &RawValue) -> bool {
    string(text).is_none_or(|text| !text.trim().is_empty())
}
