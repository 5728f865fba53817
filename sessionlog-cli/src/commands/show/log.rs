//! The log, event by event.

use std::ops::Range;

use sessionlog::{Error, Events, Kind, SeqNum, Session};

use crate::context::Context;
use crate::failure::Outcome;
use crate::json;
use crate::view::View;

/// Says why there is nothing to show.
pub(super) async fn nothing(session: &Session, cx: &mut Context<'_, '_>) -> Outcome<()> {
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
pub(super) fn range(text: &str) -> sessionlog::Result<Range<SeqNum>> {
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
