//! `show`: a session for people to read, or its events as JSON.

use std::ops::Range;

use clap::Args;
use sessionlog::{Error, Events, Kind, SeqNum, Session};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::json;
use crate::view::View;

/// Show a session: its messages, calls and results, everything else on one line each
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog show 019ab3                      the whole session
  sessionlog show 019ab3 --last 20            its end; quick, however long it is
  sessionlog show 019ab3 --range 100..150     events 100 to 149
  sessionlog show 019ab3 --kind message       the conversation alone
  sessionlog show 019ab3 --json | jq .data    its events, one a line")]
pub(crate) struct Show {
    /// The session: its id, or the beginning of it
    id: String,

    /// Only these positions: a..b without b, a.., or ..b
    #[arg(long, value_name = "A..B", value_parser = range, conflicts_with = "last")]
    range: Option<Range<SeqNum>>,

    /// Only the last N events
    #[arg(long, short = 'n', value_name = "N")]
    last: Option<u64>,

    /// Only events of this kind; may be given several times
    #[arg(long, value_name = "KIND", value_parser = Kind::new)]
    kind: Vec<Kind>,
}

impl Show {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let events = match (self.last, &self.range) {
            (Some(n), _) => session.last(n).await?,
            (None, Some(range)) => session.read(range.clone()),
            (None, None) => session.read(SeqNum::all()),
        };
        let shown = print(events, &self.kind, cx).await?;
        if shown == 0 {
            nothing(&session, cx).await?;
        }
        Ok(Exit::OK)
    }
}

async fn nothing(session: &Session, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let tail = session.tail().await?;
    if tail == SeqNum::ZERO {
        cx.hint("this session has no events yet: sessionlog append adds some")
    } else {
        cx.hint(&format!(
            "nothing to show: the session has events 0..{tail}"
        ))
    }
}

/// Prints events as they come, and gives how many; all kinds if none is given.
pub(crate) async fn print(
    mut events: Events,
    kinds: &[Kind],
    cx: &mut Context<'_, '_>,
) -> Outcome<u64> {
    let view = View::new(cx.paint(), cx.terminal().width);
    let as_json = cx.json();
    let mut shown = 0;
    while let Some(chunk) = events.next_chunk().await {
        for event in chunk?
            .iter()
            .filter(|e| kinds.is_empty() || kinds.contains(&e.kind))
        {
            shown += 1;
            if as_json {
                json::event(cx.out(), event)?;
            } else {
                view.event(cx.out(), event)?;
            }
        }
    }
    Ok(shown)
}

/// A half-open range of positions.
fn range(text: &str) -> sessionlog::Result<Range<SeqNum>> {
    let Some((start, end)) = text.split_once("..") else {
        return Err(Error::invalid(
            "a range is written a..b, a.. or ..b, its end is not part of it",
        ));
    };
    let start = if start.is_empty() {
        SeqNum::ZERO
    } else {
        start.parse()?
    };
    let end = if end.is_empty() {
        SeqNum::MAX
    } else {
        end.parse()?
    };
    if start > end {
        return Err(Error::invalid("the range ends before it begins"));
    }
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open_and_may_be_open() {
        let of = |a, b| SeqNum::new(a)..SeqNum::new(b);
        assert_eq!(range("3..7").unwrap(), of(3, 7));
        assert_eq!(range("3..").unwrap(), of(3, u64::MAX));
        assert_eq!(range("..7").unwrap(), of(0, 7));
        assert_eq!(range("..").unwrap(), SeqNum::all());
        for bad in ["", "3", "7..3", "a..b", "-1..2", "1..=2", "1...2"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
