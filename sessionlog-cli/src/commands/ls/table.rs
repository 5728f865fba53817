//! The list as a table.

use comfy_table::{ContentArrangement, Table, presets};
use sessionlog::{Liveness, Timestamp};

use super::Row;
use crate::context::Context;
use crate::failure::Outcome;
use crate::text::{Short, ago, count, line};

/// Prints the sessions, a line each.
pub(super) fn print(rows: &[Row], short: &Short, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // On a terminal a session is a line; elsewhere nothing is cut.
    match cx.terminal().width.filter(|_| cx.terminal().out) {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width.max(60));
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    let header = [
        "ID",
        "UPDATED",
        "TITLE",
        "DIRECTORY",
        "MODEL",
        "MSGS",
        "TOKENS",
        "LIVE",
    ];
    table.set_header(header);
    let now = Timestamp::now();
    for row in rows {
        let mut cells = comfy_table::Row::from(cells(row, short, now));
        cells.max_height(1);
        table.add_row(cells);
    }
    let paint = cx.paint();
    let mut marks = rows.iter().map(|row| row.listed.card.is_err());
    for (at, text) in table.lines().enumerate() {
        let text = text.strip_prefix(' ').unwrap_or(&text).trim_end();
        if at == 0 {
            writeln!(cx.out(), "{}", paint.strong(text))?;
        } else if marks.next().unwrap_or(false) {
            writeln!(cx.out(), "{}", paint.bad(text))?;
        } else {
            writeln!(cx.out(), "{text}")?;
        }
    }
    Ok(())
}

fn cells(row: &Row, short: &Short, now: Timestamp) -> Vec<String> {
    let id = short.cut(&row.listed.id).to_owned();
    let live = match &row.live {
        Ok(Liveness::Live(Some(holder))) => line(holder.owner.as_str()),
        Ok(Liveness::Live(None)) => "yes".to_owned(),
        Ok(Liveness::Idle) => String::new(),
        Ok(_) | Err(_) => "?".to_owned(),
    };
    match &row.listed.card {
        Ok(card) => vec![
            id,
            card.updated.map(|at| ago(at, now)).unwrap_or_default(),
            line(card.title.as_deref().unwrap_or("-")),
            line(card.directory.as_deref().unwrap_or_default()),
            line(card.model.as_deref().unwrap_or_default()),
            format!("{}/{}", card.prompts, card.replies),
            count(card.tokens().total()),
            live,
        ],
        Err(error) => {
            let told = line(&format!("{}: {error}", error.kind().name()));
            vec![id, String::new(), told]
        }
    }
}
