//! Items as JSON.

use serde::Serialize;
use serde_json::value::RawValue;
use sessionlog::transcript::{Item, Origin, Role};

/// An item as JSON.
#[derive(Serialize)]
pub(crate) struct Fields<'a> {
    r#type: &'static str,
    role: Role,
    origin: &'static str,
    seq: u64,
    parts: Vec<u64>,
    natives: Vec<Box<RawValue>>,
    text: Option<&'a str>,
    calls: Vec<Call<'a>>,
    answers: &'a [&'a str],
    cut: bool,
    injected: bool,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(item: &'a Item<'a>) -> Self {
        Self::with(item, &item.natives)
    }

    /// With what the provider said in full.
    pub(crate) fn with(item: &'a Item<'a>, natives: &[&RawValue]) -> Self {
        let natives = natives.iter().map(|native| one_line(native));
        let calls = item.calls.iter().map(|(id, name)| Call { id, name });
        Self {
            r#type: "item",
            role: item.role,
            origin: match item.origin {
                Origin::Log => "log",
                Origin::Checkpoint => "checkpoint",
                Origin::Closing => "closing",
            },
            seq: item.seq.get(),
            parts: item.parts.iter().map(|seq| seq.get()).collect(),
            natives: natives.collect(),
            text: item.text,
            calls: calls.collect(),
            answers: &item.answers,
            cut: item.cut,
            injected: item.injected,
        }
    }
}

/// The same JSON, with each line break between its tokens written as a space.
fn one_line(native: &RawValue) -> Box<RawValue> {
    let text = native.get().replace(['\n', '\r'], " ");
    RawValue::from_string(text).unwrap_or_else(|_| native.to_owned())
}
