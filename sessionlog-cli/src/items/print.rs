//! Items for people to read.

use std::io::{self, Write};

use serde_json::value::RawValue;
use sessionlog::Timestamp;
use sessionlog::transcript::{Item, Origin, Role, text_of};

use super::mark;
use crate::text::{Paint, block, line};

/// What an item does not say of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) at: Option<Timestamp>,
    /// Ids of the calls whose tool failed.
    pub(crate) failed: Vec<String>,
}

/// Prints an item with what the provider said.
pub(crate) fn print(
    out: &mut dyn Write,
    paint: Paint,
    item: &Item<'_>,
    natives: &[&RawValue],
    about: &About,
) -> io::Result<()> {
    heading(out, paint, item, about)?;
    let mut said = false;
    for native in natives {
        said |= words(out, &text_of(native))?;
    }
    said |= words(out, item.text.unwrap_or_default())?;
    for (id, name) in &item.calls {
        let (id, name) = (paint.dim(line(id)), line(name));
        writeln!(out, "{} {id}", paint.tool(format_args!("→ {name}")))?;
    }
    for id in &item.answers {
        write!(out, "{} {}", paint.tool("←"), paint.dim(line(id)))?;
        if about.failed.iter().any(|failed| failed == id) {
            write!(out, " {}", paint.bad("failed"))?;
        }
        writeln!(out)?;
    }
    if !said && item.calls.is_empty() && item.answers.is_empty() {
        writeln!(out, "{}", paint.dim(mark(natives.iter().copied())))?;
    }
    writeln!(out)
}

/// Who speaks, what is to be known of it, when and where in the log.
fn heading(out: &mut dyn Write, paint: Paint, item: &Item<'_>, about: &About) -> io::Result<()> {
    // Some providers put the results of tools into the mouth of the user.
    let tool = item.role == Role::User && !item.answers.is_empty();
    let role = if tool { Role::Tool } else { item.role };
    match (role, role.as_str()) {
        (Role::User, name) => write!(out, "{}", paint.strong(paint.good(name)))?,
        (Role::Assistant, name) => write!(out, "{}", paint.strong(paint.tool(name)))?,
        (_, name) => write!(out, "{}", paint.strong(name))?,
    }
    let mut told = Vec::new();
    told.extend(about.agent.as_deref().map(line));
    told.extend(about.model.as_deref().map(line));
    match item.origin {
        Origin::Closing => told.push("closed by replay".to_owned()),
        Origin::Checkpoint => told.push("checkpoint".to_owned()),
        Origin::Log => {}
    }
    if item.injected && item.origin != Origin::Closing {
        told.push("injected".to_owned());
    }
    if item.cut {
        told.push("broke off".to_owned());
    }
    told.extend(about.at.map(second));
    told.push(match item.parts.last() {
        Some(last) if *last != item.seq => format!("#{}…#{last}", item.seq),
        _ => format!("#{}", item.seq),
    });
    let told: String = told.iter().map(|part| format!(" · {part}")).collect();
    writeln!(out, "{}", paint.dim(told))
}

/// A time to the second, in UTC.
pub(crate) fn second(at: Timestamp) -> String {
    let at = at.to_string().replace('T', " ");
    at.get(..19).unwrap_or_default().to_owned()
}

/// Prints words, and whether there are any.
fn words(out: &mut dyn Write, text: &str) -> io::Result<bool> {
    let text = block(text.trim_end());
    if text.is_empty() {
        return Ok(false);
    }
    writeln!(out, "{text}")?;
    Ok(true)
}
