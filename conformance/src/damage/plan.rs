//! Which harms are tried: of each file every kind, at places that a seed decides.

use std::path::{Path, PathBuf};

use super::built::Built;
use super::harm::{Harm, Image, What};
use super::tree::Tree;
use crate::Budget;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = z ^ (z >> 31);
        usize::try_from(z % (n.max(1) as u64)).unwrap_or(0)
    }

    /// Puts a list in another order.
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// Files up to this size have every bit flipped in a deep run.
const SMALL: usize = 2 << 10;

/// The harms of a law, in the order in which they are tried. Laws have different seeds, so that
/// together they try more places.
pub(super) fn harms(built: &Built, law: &str, budget: Budget, images: &[Image]) -> Vec<Harm> {
    let mut dice = Dice(xxhash_rust::xxh3::xxh3_64(law.as_bytes()));
    let rounds = budget.of(2, 3, 40);
    // Harms to the whole of a file, and to places in it.
    let (mut whole, mut placed, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for image in images {
        let tree = built.image(*image);
        for (file, bytes) in &tree.files {
            let known = *image == Image::Killed
                && built.image(Image::Closed).files.get(file) == Some(bytes);
            if known && images.len() > 1 {
                continue;
            }
            let harm = |what| Harm {
                image: *image,
                file: file.clone(),
                what,
            };
            whole.extend(
                whole_file(built, tree, file, &mut dice)
                    .into_iter()
                    .map(harm),
            );
            for _ in 0..rounds {
                placed.extend(at_places(bytes, &mut dice).into_iter().map(harm));
            }
            if budget == Budget::Deep && bytes.len() <= SMALL {
                let bits =
                    (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| What::Flip { at, bit }));
                all.extend(bits.map(harm));
            }
        }
    }
    dice.shuffle(&mut whole);
    dice.shuffle(&mut placed);
    if budget != Budget::Deep {
        let most = usize::try_from(budget.of(32, 40, 0)).unwrap_or(0);
        whole.truncate(most);
        placed.truncate(most + most / 2);
    }
    [whole, placed, all].concat()
}

fn whole_file(built: &Built, tree: &Tree, file: &Path, dice: &mut Dice) -> Vec<What> {
    let mut list = vec![
        What::Missing,
        What::Empty,
        What::Foreign,
        What::OfStore,
        What::Grow {
            by: 1 + dice.below(9_000),
        },
        What::Garbage {
            by: 1 + dice.below(600),
        },
    ];
    // A file of another session that plays the same part.
    let alike = |other: &&PathBuf| {
        other.as_path() != file
            && (other.file_name() == file.file_name() || other.extension() == file.extension())
    };
    let alike: Vec<_> = tree.files.keys().filter(alike).collect();
    if let Some(other) = alike.get(dice.below(alike.len())) {
        list.push(What::OfFile {
            other: (*other).clone(),
        });
    }
    let now = tree.files.get(file);
    let mut seen: Vec<&Vec<u8>> = Vec::new();
    for (stage, older) in built.stages.iter().enumerate() {
        let older = older.tree.files.get(file);
        if let Some(older) = older.filter(|o| now != Some(*o) && !seen.contains(o)) {
            seen.push(older);
            list.push(What::Older { stage });
        }
    }
    list
}

fn at_places(bytes: &[u8], dice: &mut Dice) -> Vec<What> {
    let len = bytes.len();
    if len == 0 {
        return Vec::new();
    }
    let mut list = Vec::new();
    // Anywhere, near the ends, and where something was written.
    let filled = |from: usize| {
        (from..len)
            .chain(0..from)
            .find(|at| bytes.get(*at) != Some(&0))
    };
    let from = dice.below(len);
    let places = [
        dice.below(len),
        dice.below(len.min(128)),
        len - 1 - dice.below(len.min(128)),
        filled(from).unwrap_or(from),
    ];
    for at in places {
        let bit = u8::try_from(dice.below(8)).unwrap_or(0);
        list.push(What::Flip { at, bit });
    }
    for block in [512, 4_096] {
        let blocks = len.div_ceil(block);
        let at = dice.below(blocks) * block;
        list.push(What::Zero { at, len: block });
        if blocks > 2 {
            list.push(What::Swap {
                one: dice.below(blocks) * block,
                other: dice.below(blocks) * block,
                len: block,
            });
        }
    }
    let at = dice.below(len);
    list.push(What::Zero {
        at,
        len: 1 + dice.below(700),
    });
    list.push(What::Cut {
        len: dice.below(len),
    });
    list.push(What::Cut {
        len: len - 1 - dice.below(len.min(200)),
    });
    list.push(What::Cut {
        len: dice.below(len.div_ceil(512)) * 512,
    });
    list
}
