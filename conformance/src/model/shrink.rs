//! From a list of commands that fails to the shortest that is found.

use proptest::strategy::ValueTree;

use super::Command;
use crate::breach::{End, Held};

/// How many lists are tried on the way.
const TRIES: u32 = 400;

/// The shortest failing list that is found, and how it fails. `play` runs a list.
pub(crate) async fn shortest(
    mut tree: impl ValueTree<Value = Vec<Command>>,
    why: End,
    play: &impl AsyncFn(&[Command]) -> Held,
) -> (Vec<Command>, End) {
    let mut best = (tree.current(), why);
    let mut fails = true;
    for _ in 0..TRIES {
        let more = if fails {
            tree.simplify()
        } else {
            tree.complicate()
        };
        if !more {
            break;
        }
        let commands = tree.current();
        let outcome = play(&commands).await;
        fails = outcome.is_err();
        if let Err(end) = outcome {
            best = (commands, end);
        }
    }
    fewest(best, play).await
}

/// A failing list with one thing left out at a time, from the end, until none can be.
pub(crate) async fn fewest<T: Clone, E>(
    mut best: (Vec<T>, E),
    play: impl AsyncFn(&[T]) -> Result<(), E>,
) -> (Vec<T>, E) {
    let mut at = best.0.len();
    while at > 0 {
        at -= 1;
        let mut fewer = best.0.clone();
        fewer.remove(at);
        if let Err(end) = play(&fewer).await {
            best = (fewer, end);
            at = at.min(best.0.len());
        }
    }
    best
}
