//! Going over a tree of which parts can't be read.

use std::ops::Range;

use sessionlog_core::Result;

/// What is wanted of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Only its key: whether the tree can be read there.
    Key,
    /// All of it.
    Entry,
}

/// Takes every entry from a key on that can be read, in order. Gives the ranges of keys that can't be.
///
/// `next` finds the first entry at or behind a key, takes it if it is wanted, and gives its key; `None`
/// behind the last one. Where it says `Corrupt`, keys further and further away are tried, each by an
/// eighth of the way so far, and then the gap is made as small as it can be.
///
/// # Errors
/// Whatever else `next` gives.
pub fn around(
    mut from: u64,
    mut next: impl FnMut(u64, Want) -> Result<Option<u64>>,
) -> Result<Vec<Range<u64>>> {
    let mut gaps = Vec::new();
    loop {
        match next(from, Want::Entry) {
            Ok(Some(key)) if key < u64::MAX => from = key + 1,
            Ok(_) => return Ok(gaps),
            Err(error) if error.is_corrupt() => {
                let to = match next(from, Want::Key) {
                    // Its place can be read, the entry itself can't.
                    Ok(Some(key)) => key.saturating_add(1),
                    Ok(None) => return Ok(gaps),
                    Err(_) => behind(from, |key| next(key, Want::Key).map(drop))?,
                };
                gaps.push(from..to);
                from = to;
                if to == u64::MAX {
                    return Ok(gaps);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// The first key behind `bad` where the tree can be read again; the largest one if there is none. `look`
/// says `Corrupt` where it can't.
///
/// # Errors
/// Whatever else `look` gives.
pub fn behind(bad: u64, mut look: impl FnMut(u64) -> Result<()>) -> Result<u64> {
    let mut readable = |key| match look(key) {
        Ok(()) => Ok(true),
        Err(error) if error.is_corrupt() => Ok(false),
        Err(error) => Err(error),
    };
    let (start, mut bad, mut distance) = (bad, bad, 1_u64);
    let mut good = loop {
        let probe = start.saturating_add(distance);
        if readable(probe)? {
            break probe;
        }
        if probe == u64::MAX {
            return Ok(u64::MAX);
        }
        bad = probe;
        distance = distance.saturating_add((distance / 8).max(1));
    };
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if readable(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessionlog_core::{Error, Place};

    /// Entries at every key but some, on pages of ten keys of which some are damaged.
    fn walk(pages: &[u64], last: u64) -> (Vec<u64>, Vec<Range<u64>>) {
        let mut taken = Vec::new();
        let gaps = around(0, |from, want| {
            let Some(key) = (from..=last).find(|key| key % 7 != 3) else {
                return Ok(None);
            };
            if pages.contains(&(from / 10)) || pages.contains(&(key / 10)) {
                return Err(Error::corrupt(Place::default(), "a page"));
            }
            if want == Want::Entry {
                taken.push(key);
            }
            Ok(Some(key))
        });
        (taken, gaps.unwrap())
    }

    #[test]
    fn everything_around_damaged_pages_is_taken_once() {
        for pages in [
            vec![],
            vec![0],
            vec![3],
            vec![2, 3, 4],
            vec![1, 3, 5],
            vec![0, 9],
        ] {
            let (taken, gaps) = walk(&pages, 99);
            let whole: Vec<u64> = (0..100)
                .filter(|key| key % 7 != 3 && !pages.contains(&(key / 10)))
                .collect();
            assert_eq!(taken, whole, "{pages:?}");
            let lost = |key: &u64| gaps.iter().any(|gap| gap.contains(key));
            assert!(whole.iter().all(|key| !lost(key)), "{pages:?}: {gaps:?}");
        }
    }

    #[test]
    fn a_tree_of_which_nothing_can_be_read_comes_to_an_end() {
        let all: Vec<u64> = (0..10).collect();
        let nowhere = around(0, |_, _| Err(Error::corrupt(Place::default(), "a page")));
        assert_eq!(nowhere.unwrap(), vec![0..u64::MAX]);
        let (taken, gaps) = walk(&all, 99);
        assert!(taken.is_empty());
        assert_eq!(gaps.first().map(|gap| gap.start), Some(0));
    }

    #[test]
    fn an_entry_that_can_be_found_and_not_read_is_passed_over() {
        let entries = [5, 1 << 40, 1 << 50];
        let mut taken = Vec::new();
        let gaps = around(0, |from, want| {
            let key = entries.iter().copied().find(|key| *key >= from);
            if want == Want::Entry && key == Some(1 << 40) {
                return Err(Error::corrupt(Place::default(), "the rest of an entry"));
            }
            taken.extend(key.filter(|_| want == Want::Entry));
            Ok(key)
        });
        assert_eq!(gaps.unwrap(), vec![6..(1 << 40) + 1]);
        assert_eq!(taken, [5, 1 << 50]);
    }

    #[test]
    fn other_errors_end_it() {
        let error = around(0, |_, _| Err(Error::unavailable("no disk"))).unwrap_err();
        assert!(!error.is_corrupt());
    }

    #[test]
    fn a_gap_is_no_larger_than_it_must_be_and_soon_found() {
        let damaged = || Err(Error::corrupt(Place::default(), "a page"));
        for (bad, good) in [
            (0, 1),
            (5, 6),
            (0, 1000),
            (7, 123_456),
            (3, u64::MAX - 1),
            (9, u64::MAX),
        ] {
            let mut looks = 0;
            let found = behind(bad, |key| {
                looks += 1;
                if key < good { damaged() } else { Ok(()) }
            });
            assert_eq!(found.unwrap(), good, "behind {bad}");
            assert!(looks < 500, "{looks} looks from {bad} to {good}");
        }
        assert_eq!(behind(4, |_| damaged()).unwrap(), u64::MAX);
        let gone = behind(4, |_| Err(Error::unavailable("no disk")));
        assert!(!gone.unwrap_err().is_corrupt());
    }

    #[test]
    fn a_disk_that_is_gone_for_a_moment_leaves_no_gap() {
        let gone = around(0, |from, want| match want {
            Want::Entry => Err(Error::unavailable("no disk")),
            Want::Key => Ok(Some(from)),
        });
        assert!(!gone.unwrap_err().is_corrupt());
    }

    #[test]
    fn the_last_key_of_all_has_nothing_behind_it() {
        for damaged in [false, true] {
            let mut taken = Vec::new();
            let gaps = around(0, |from, want| {
                if want == Want::Entry && damaged && from > 3 {
                    return Err(Error::corrupt(Place::default(), "the rest of an entry"));
                }
                let key = if from <= 3 { 3 } else { u64::MAX };
                taken.extend((want == Want::Entry).then_some(key));
                Ok(Some(key))
            });
            let lost = 4..u64::MAX;
            assert_eq!(gaps.unwrap(), if damaged { vec![lost] } else { vec![] });
            assert_eq!(taken, if damaged { vec![3] } else { vec![3, u64::MAX] });
        }
    }
}
