//! Going over a tree of which parts can't be read.

use std::ops::Range;

use sessionlog_core::{Error, Place, Result};

/// How far a walk over a tree has come.
#[derive(Debug)]
pub struct Way {
    /// `None` behind the largest key.
    next: Option<u64>,
}

impl Way {
    /// The key to go on at.
    pub fn next(&self) -> u64 {
        self.next.unwrap_or(u64::MAX)
    }

    /// Comes to an entry.
    ///
    /// # Errors
    /// `Corrupt` if the walk is behind this key already: where a tree's keys are out of order, it could
    /// come to the same entries for ever.
    pub fn at(&mut self, key: u64) -> Result<()> {
        if self.next.is_none_or(|next| key < next) {
            return Err(Error::corrupt(Place::default(), "keys are out of order"));
        }
        self.next = key.checked_add(1);
        Ok(())
    }
}

/// Takes every entry from a key on that can be read, in order. Gives the ranges of keys that can't be.
///
/// `walk` takes entries from [`Way::next`] on, up to the last one, and says [`Way::at`] of each before it
/// takes it. Where it says `Corrupt`, it is asked to go on. If it can't, `first` gives the key of the
/// first entry at or behind a key, and that entry is passed over; where this can't be told either, keys
/// further and further away are tried, each by an eighth of the way so far, and then the gap is made as
/// small as it can be.
///
/// # Errors
/// Whatever else the two give.
pub fn around(
    from: u64,
    mut walk: impl FnMut(&mut Way) -> Result<()>,
    mut first: impl FnMut(u64) -> Result<Option<u64>>,
) -> Result<Vec<Range<u64>>> {
    let mut gaps = Vec::new();
    let mut way = Way { next: Some(from) };
    while let Some(start) = way.next {
        match walk(&mut way) {
            Ok(()) => break,
            Err(error) if error.is_corrupt() => {}
            Err(error) => return Err(error),
        }
        if way.next != Some(start) {
            continue;
        }
        let to = match in_order(&mut first, start) {
            // Its place can be read, the entry itself can't.
            Ok(Some(key)) => key.saturating_add(1),
            Ok(None) => break,
            Err(error) if error.is_corrupt() => {
                behind(start, |key| in_order(&mut first, key).map(drop))?
            }
            Err(error) => return Err(error),
        };
        gaps.push(start..to);
        way.next = Some(to).filter(|to| *to < u64::MAX);
    }
    Ok(gaps)
}

/// The first key at or behind another, if it is.
fn in_order(first: &mut impl FnMut(u64) -> Result<Option<u64>>, from: u64) -> Result<Option<u64>> {
    let key = first(from)?;
    if let Some(key) = key {
        Way { next: Some(from) }.at(key)?;
    }
    Ok(key)
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

    fn damaged<T>() -> Result<T> {
        Err(Error::corrupt(Place::default(), "a page"))
    }

    /// A tree: its entries by key, some of which can be found and not read.
    struct Tree<'a> {
        entries: &'a [u64],
        unreadable: fn(u64) -> bool,
        taken: Vec<u64>,
    }

    impl Tree<'_> {
        fn walk(&mut self, way: &mut Way, page: impl Fn(u64) -> bool) -> Result<()> {
            let from = way.next();
            if page(from) {
                return damaged();
            }
            for key in self.entries.iter().copied().filter(|key| *key >= from) {
                if page(key) || (self.unreadable)(key) {
                    return damaged();
                }
                way.at(key)?;
                self.taken.push(key);
            }
            Ok(())
        }

        fn first(&self, from: u64, page: impl Fn(u64) -> bool) -> Result<Option<u64>> {
            let key = self.entries.iter().copied().find(|key| *key >= from);
            if page(from) || key.is_some_and(page) {
                return damaged();
            }
            Ok(key)
        }
    }

    /// Goes over a tree of which some pages can't be read at all.
    fn over(
        entries: &[u64],
        unreadable: fn(u64) -> bool,
        page: impl Fn(u64) -> bool + Copy,
    ) -> (Vec<u64>, Vec<(u64, u64)>) {
        let tree = std::cell::RefCell::new(Tree {
            entries,
            unreadable,
            taken: Vec::new(),
        });
        let gaps = around(
            0,
            |way| tree.borrow_mut().walk(way, page),
            |from| tree.borrow().first(from, page),
        );
        let bounds = gaps.unwrap().into_iter().map(|gap| (gap.start, gap.end));
        (tree.into_inner().taken, bounds.collect())
    }

    const WHOLE: fn(u64) -> bool = |_| false;

    #[test]
    fn everything_around_damaged_pages_is_taken_once() {
        let entries: Vec<u64> = (0..100).filter(|key| key % 7 != 3).collect();
        for pages in [
            vec![],
            vec![0],
            vec![3],
            vec![2, 3, 4],
            vec![1, 3, 5],
            vec![0, 9],
        ] {
            let page = |key: u64| pages.contains(&(key / 10));
            let (taken, gaps) = over(&entries, WHOLE, page);
            let whole: Vec<u64> = entries.iter().copied().filter(|key| !page(*key)).collect();
            assert_eq!(taken, whole, "{pages:?}");
            let lost = |key: &u64| gaps.iter().any(|(from, to)| (from..to).contains(&key));
            assert!(whole.iter().all(|key| !lost(key)), "{pages:?}: {gaps:?}");
        }
    }

    #[test]
    fn a_tree_of_which_nothing_can_be_read_comes_to_an_end() {
        let (taken, gaps) = over(&[1, 2], WHOLE, |_| true);
        assert_eq!((taken, gaps), (vec![], vec![(0, u64::MAX)]));
        let (taken, gaps) = over(&[1, 2], WHOLE, |key| key < 100);
        assert_eq!((taken, gaps), (vec![], vec![(0, 100)]));
    }

    #[test]
    fn an_entry_that_can_be_found_and_not_read_is_passed_over() {
        let (taken, gaps) = over(&[5, 1 << 40, 1 << 50], |key| key == 1 << 40, |_| false);
        assert_eq!(gaps, [(6, (1 << 40) + 1)]);
        assert_eq!(taken, [5, 1 << 50]);
    }

    #[test]
    fn entries_that_only_a_walk_meets_are_taken_and_none_twice() {
        // A separator says that what is behind 3 is before 1000: a search there ends at the wrong page,
        // and a walk from its end comes to the next one.
        let entries = [1, 2, 3, 4, 5, 6];
        for broken in [None, Some(5)] {
            let sought = |from: u64| match from {
                0..4 | 1000.. => from,
                _ => 4,
            };
            let mut taken = Vec::new();
            let gaps = around(
                0,
                |way| {
                    let from = sought(way.next());
                    for key in entries.into_iter().filter(|key| *key >= from) {
                        if Some(key) == broken {
                            return damaged();
                        }
                        way.at(key)?;
                        taken.push(key);
                    }
                    Ok(())
                },
                |from| Ok(entries.into_iter().find(|key| *key >= sought(from))),
            );
            match broken {
                None => {
                    assert_eq!(gaps.unwrap(), vec![]);
                    assert_eq!(taken, entries);
                }
                // No search finds what is behind it, and the walk comes to an end.
                Some(_) => {
                    assert_eq!(gaps.unwrap(), vec![5..1000]);
                    assert_eq!(taken, [1, 2, 3, 4]);
                }
            }
        }
    }

    #[test]
    fn a_walk_that_goes_round_is_ended() {
        let mut walks = 0;
        let gaps = around(
            0,
            |way| {
                walks += 1;
                assert!(walks < 1000);
                (0..10).cycle().try_for_each(|key| way.at(key))
            },
            |_| Ok(Some(0)),
        );
        assert_eq!(gaps.unwrap(), vec![10..u64::MAX]);
    }

    #[test]
    fn other_errors_end_it() {
        let gone = || Err(Error::unavailable("no disk"));
        let walked = around(0, |_| gone(), |from| Ok(Some(from)));
        assert!(!walked.unwrap_err().is_corrupt());
        let sought = around(0, |_| damaged(), |_| Err(Error::unavailable("no disk")));
        assert!(!sought.unwrap_err().is_corrupt());
        // For a moment, where it is asked for the place of an entry.
        let mut asked = 0;
        let moment = around(
            0,
            |_| damaged(),
            |from| {
                asked += 1;
                if asked == 1 {
                    return Err(Error::unavailable("no disk"));
                }
                Ok(Some(from))
            },
        );
        assert!(!moment.unwrap_err().is_corrupt());
        let tried = |from| {
            if from == 0 {
                damaged()
            } else {
                Err(Error::unavailable("no disk"))
            }
        };
        let probed = around(0, |_| damaged(), tried);
        assert!(!probed.unwrap_err().is_corrupt());
    }

    #[test]
    fn a_gap_is_no_larger_than_it_must_be_and_soon_found() {
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
    fn the_last_key_of_all_has_nothing_behind_it() {
        for broken in [false, true] {
            let unreadable: fn(u64) -> bool = if broken { |key| key > 3 } else { WHOLE };
            let (taken, gaps) = over(&[3, u64::MAX], unreadable, |_| false);
            let lost = [(4, u64::MAX)];
            assert_eq!(gaps, if broken { &lost[..] } else { &[] });
            assert_eq!(taken, if broken { vec![3] } else { vec![3, u64::MAX] });
        }
        let mut way = Way { next: None };
        assert!(way.at(u64::MAX).unwrap_err().is_corrupt());
    }
}
