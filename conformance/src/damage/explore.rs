//! One state after the other: a folder is laid down, and somebody acts on the store in it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use sessionlog_core::Result;

use super::built::Built;
use super::harm::{Harm, Image};
use super::plan::harms;
use super::tree::{Saved, Tree};
use crate::Place;
use crate::artefact::Artefact;
use crate::bench::{Bench, Handle};
use crate::breach::{End, Held, breach};
use crate::kill::happened;
use crate::patience::{patient, words_of};
use crate::subject::Erased;

/// One damaged store, and all that is known of it.
pub(super) struct Context {
    pub(super) subject: Erased,
    pub(super) built: Arc<Built>,
    pub(super) harm: Harm,
    /// The folder with the harm done.
    pub(super) tree: Tree,
    pub(super) place: Place,
}

/// What happened, in words that the counters of the law have.
pub(super) type Happened = Vec<&'static str>;

/// What is done with a damaged store, and how it is judged.
pub(super) type Act = fn(Arc<Context>) -> LocalBoxFuture<'static, Held<Happened>>;

/// The damage was told.
pub(super) const DETECTED: &str = "damage detected";
/// Everything came back in spite of it.
pub(super) const HARMLESS: &str = "damage harmless";

impl Context {
    pub(super) async fn open(&self) -> Result<Handle> {
        (self.subject.open)(&self.place).await
    }
}

/// A harm in a saved failure, with the folder, whose bytes another run may not make again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Harmed {
    harm: Harm,
    tree: Saved,
}

/// Tries the harms of a law, and wants each of `names` to happen.
pub(super) async fn explore(
    bench: &Bench,
    images: &[Image],
    act: Act,
    names: &[&'static str],
) -> Held {
    let built = Arc::new(Built::new(bench).await?);
    // A law builds its store by hundreds of steps: a failure is told by the harm alone.
    bench.trail.clear();
    if let Some(replay) = Artefact::asked(bench)? {
        let saved = replay.harmed.and_then(|h| Some((h.harm, h.tree.tree()?)));
        let (harm, tree) =
            saved.ok_or_else(|| End::Broken("the file to replay has no damaged store".into()))?;
        return state(bench, &built, harm, tree, act);
    }
    for harm in harms(&built, bench.law, bench.options.budget, images) {
        if let Some(tree) = harm.done(&built) {
            state(bench, &built, harm, tree, act)?;
        }
    }
    happened(bench, names)
}

/// One state, on a thread of its own, so that what never ends is seen.
fn state(bench: &Bench, built: &Arc<Built>, harm: Harm, tree: Tree, act: Act) -> Held {
    let did = harm.to_string();
    bench.sometimes("states", 1);
    let context = Arc::new(Context {
        subject: bench.subject,
        built: Arc::clone(built),
        place: tree.lay(&bench.options.ground)?,
        harm,
        tree,
    });
    let harmed = Arc::clone(&context);
    let (send, outcome) = channel();
    let (patience, block_on) = (bench.options.patience, bench.subject.block_on);
    let thread = std::thread::Builder::new().name(bench.law.to_owned());
    thread.spawn(move || {
        let mut held = None;
        let run = async { held = patient(patience, act(context)).await };
        let ran = catch_unwind(AssertUnwindSafe(|| block_on(Box::pin(run))));
        let held = match ran {
            Err(panic) => Err(breach(format!("a panic: {}", words_of(&*panic)))),
            Ok(()) => held.unwrap_or_else(|| Err(breach("it waits, and nobody wakes it"))),
        };
        // The law may have given up.
        drop(send.send(held));
    })?;
    let limit = Duration::from_millis(10) * bench.options.patience;
    let held = outcome.recv_timeout(limit);
    let held = held.unwrap_or_else(|_| Err(breach("it works on and on, and comes to no end")));
    match held {
        Ok(list) => {
            list.into_iter().for_each(|what| bench.sometimes(what, 1));
            Ok(())
        }
        Err(end) => {
            bench.trail.line(did.clone());
            let harmed = Harmed {
                harm: harmed.harm.clone(),
                tree: Saved::from(&harmed.tree),
            };
            Err(Artefact::of_harm(harmed).attach(bench, end, &did))
        }
    }
}
