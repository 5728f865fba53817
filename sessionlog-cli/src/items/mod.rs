//! The items of a conversation, for people and as JSON.

mod json;
mod marks;
mod print;

use sessionlog::transcript::Conversation;

pub(crate) use self::json::Fields;
pub(crate) use self::marks::mark;
pub(crate) use self::print::{About, print, second};

use crate::context::Context;
use crate::failure::Outcome;

/// Prints a conversation that is in memory: with `--json` an item a line.
pub(crate) fn print_all(conversation: &Conversation<'_>, cx: &mut Context<'_, '_>) -> Outcome<()> {
    for item in &conversation.items() {
        if cx.json() {
            cx.json_line(&Fields::of(item))?;
        } else {
            let paint = cx.paint();
            print(cx.out(), paint, item, &item.natives, &About::default())?;
        }
    }
    Ok(())
}
