//! A conversation to go on with, item by item.

use serde::Serialize;
use serde_json::value::RawValue;
use sessionlog::transcript::{Conversation, Item, Origin, Role, text_of};

use crate::context::Context;
use crate::failure::Outcome;
use crate::text::{block, line};

/// An item as JSON.
#[derive(Serialize)]
struct Fields<'a> {
    r#type: &'static str,
    role: Role,
    origin: &'static str,
    seq: u64,
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

/// Prints a conversation: with `--json` an item a line.
pub(crate) fn print_items(
    conversation: &Conversation<'_>,
    cx: &mut Context<'_, '_>,
) -> Outcome<()> {
    for item in &conversation.items() {
        if cx.json() {
            cx.json_line(&Fields::of(item))?;
        } else {
            print(item, cx)?;
        }
    }
    Ok(())
}

fn print(item: &Item<'_>, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    let role = item.role.as_str();
    match item.role {
        Role::User => write!(out, "{}", paint.strong(paint.good(role)))?,
        Role::Assistant => write!(out, "{}", paint.strong(paint.tool(role)))?,
        _ => write!(out, "{}", paint.strong(role))?,
    }
    let (made, injected, cut) = match (item.origin, item.injected, item.cut) {
        (Origin::Closing, ..) => (" · closed by replay", false, false),
        (Origin::Checkpoint, injected, cut) => (" · checkpoint", injected, cut),
        (Origin::Log, injected, cut) => ("", injected, cut),
    };
    let injected = if injected { " · injected" } else { "" };
    let cut = if cut { " · broke off" } else { "" };
    let about = format_args!("{made}{injected}{cut} · #{}", item.seq);
    writeln!(out, "{}", paint.dim(about))?;
    for native in &item.natives {
        words(out, &text_of(native))?;
    }
    words(out, item.text.unwrap_or_default())?;
    for (id, name) in &item.calls {
        let (id, name) = (paint.dim(line(id)), line(name));
        writeln!(out, "{} {id}", paint.tool(format_args!("→ {name}")))?;
    }
    for id in &item.answers {
        writeln!(out, "{} {}", paint.tool("←"), paint.dim(line(id)))?;
    }
    Ok(writeln!(out)?)
}

fn words(out: &mut dyn std::io::Write, text: &str) -> std::io::Result<()> {
    let text = block(text.trim_end());
    if text.is_empty() {
        return Ok(());
    }
    writeln!(out, "{text}")
}

impl<'a> Fields<'a> {
    fn of(item: &'a Item<'a>) -> Self {
        let natives = item.natives.iter().map(|native| one_line(native));
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
