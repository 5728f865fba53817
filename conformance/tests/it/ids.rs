//! Ids of laws are a promise: `laws.txt` has every one that there ever was in this major version.

use std::collections::BTreeSet;

const PROMISED: &str = include_str!("../../laws.txt");

#[test]
fn no_id_is_lost_and_none_is_new_without_a_line() {
    let promised: Vec<&str> = PROMISED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(
        promised.is_sorted_by(|a, b| a < b),
        "laws.txt is not sorted, or has a line twice"
    );
    let promised: BTreeSet<_> = promised.into_iter().collect();
    let laws: BTreeSet<_> = sessionlog_conformance::laws().map(|law| law.id).collect();
    let lost: Vec<_> = promised.difference(&laws).collect();
    assert!(
        lost.is_empty(),
        "ids that were promised are gone: {lost:#?}"
    );
    let new: Vec<_> = laws.difference(&promised).collect();
    assert!(
        new.is_empty(),
        "add these lines to conformance/laws.txt, which is sorted: {new:#?}"
    );
    let all = sessionlog_conformance::laws().count();
    assert_eq!(all, laws.len(), "two laws have the same id");
}
