//! Looking for a power loss that a store does not survive.

use std::collections::HashSet;
use std::ops::RangeBounds;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sessionlog_crashfs::Tree;

use super::history::{History, Mark};
use super::image;
use super::names::Keeping;
use super::walk::{Choice, Walk};
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::model::random_seed;
use crate::patience::guarded;
use crate::talk::Dice;
use crate::{Budget, Place};

/// Folders that a power loss left and that were opened.
pub(crate) const IMAGES: &str = "power losses";
/// Of those, the ones that had parts of a write, or writes without earlier ones.
pub(crate) const TORN: &str = "torn writes";

/// A power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Crash {
    pub(crate) keeping: Keeping,
    /// How many calls were made before it.
    pub(crate) upto: usize,
    pub(crate) choice: Choice,
}

impl Crash {
    /// What it leaves.
    pub(crate) fn image(&self, history: &History) -> Tree {
        let mut walk = Walk::new(history, self.keeping);
        walk.go(self.upto);
        walk.image(self.choice)
    }
}

/// A search that looks at each folder once.
#[derive(Clone)]
pub(crate) struct Search<'b> {
    bench: &'b Bench,
    /// Folders, and how much was acknowledged.
    seen: HashSet<(u64, usize)>,
    /// How many folders are still looked at.
    pub(crate) left: u64,
    seed: u64,
}

impl<'b> Search<'b> {
    /// At most so many folders are looked at.
    pub(crate) fn new(bench: &'b Bench, most: u64) -> Self {
        // A failure is saved as its choice, so no seed is needed again.
        let seed = match bench.options.budget {
            Budget::Deep => {
                let seed = random_seed();
                seed.first_chunk()
                    .map_or(0, |half| u64::from_le_bytes(*half))
            }
            _ => 0,
        };
        Self {
            bench,
            seen: HashSet::new(),
            left: most,
            seed,
        }
    }

    /// Takes what a history can leave as looked at.
    pub(crate) fn pass_over(&mut self, history: &History, keeping: Keeping) {
        let mut walk = Walk::new(history, keeping);
        for (upto, choice) in self.plan(history, keeping, ..) {
            walk.go(upto);
            let key = image::hash(&walk.image(choice));
            self.seen.insert((key, history.acknowledged(upto).count()));
        }
    }

    /// Looks at what power losses behind so many calls leave. Gives the first that breaks the law.
    pub(crate) async fn explore(
        &mut self,
        history: &History,
        keeping: Keeping,
        behind: impl RangeBounds<usize>,
        check: &impl AsyncFn(&Place, &[Mark]) -> Held,
    ) -> Held<Option<(Crash, End)>> {
        let mut walk = Walk::new(history, keeping);
        for (upto, choice) in self.plan(history, keeping, behind) {
            walk.go(upto);
            let image = walk.image(choice);
            let marks: Vec<Mark> = history.acknowledged(upto).collect();
            if !self.seen.insert((image::hash(&image), marks.len())) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                break;
            };
            self.left = left;
            if choice.tears() {
                self.bench.sometimes(TORN, 1);
            }
            match look(self.bench, &image, &marks, check).await {
                Ok(()) => {}
                Err(End::Breach(why)) => {
                    let crash = Crash {
                        keeping,
                        upto,
                        choice,
                    };
                    return Ok(Some((crash, End::Breach(why))));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }

    /// All power losses, or of too many those that most often show something and some of the
    /// others, in the order of the calls.
    fn plan(
        &self,
        history: &History,
        keeping: Keeping,
        behind: impl RangeBounds<usize>,
    ) -> Vec<(usize, Choice)> {
        let random = self.bench.options.budget.of(1, 2, 8);
        let mut walk = Walk::new(history, keeping);
        let mut all = Vec::new();
        let prefixes = history.prefixes().into_iter();
        for upto in prefixes.filter(|upto| behind.contains(upto)) {
            walk.go(upto);
            let choices = walk.choices(random, self.seed);
            all.extend(choices.into_iter().map(|choice| (upto, choice)));
        }
        let plain = all.iter().filter(|(_, c)| c.is_plain()).count() as u64;
        let others = all.len() as u64 - plain;
        // A third of the room is kept for the others; many are the same as one before.
        let room = self.left.saturating_mul(2);
        let for_plain = plain.min(room * 2 / 3);
        let for_others = others.min(room.saturating_sub(for_plain));
        let mut dice = Dice::new(self.seed ^ all.len() as u64);
        all.retain(|(_, choice)| match choice.is_plain() {
            true => dice.below(plain) < for_plain,
            false => dice.below(others) < for_others,
        });
        all
    }
}

/// Writes what a power loss left into a fresh folder, and checks it.
pub(crate) async fn look(
    bench: &Bench,
    image: &Tree,
    marks: &[Mark],
    check: &impl AsyncFn(&Place, &[Mark]) -> Held,
) -> Held {
    let began = Instant::now();
    bench.trail.clear();
    bench.sometimes(IMAGES, 1);
    let place = Place::in_memory(&bench.options.ground)?;
    image.write(place.dir())?;
    let checked = check(&place, marks);
    let held = guarded(bench.options.patience, "the store", checked).await;
    drop(place);
    bench.took(began);
    held
}
