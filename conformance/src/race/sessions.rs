//! Whether a history of sessions is one that a set of names can have.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Op, What};
use crate::breach::{Held, ensure};

/// A name that was wanted by several.
pub(super) const TAKEN: &str = "a name was taken";

/// Whether a life was ended, or may have been.
pub(super) fn deleted(ops: &[Op], name: &str, life: u64) -> bool {
    gone(ops, name, life).is_some()
}

fn gone<'a>(ops: &'a [Op], name: &str, life: u64) -> Option<&'a Op> {
    ops.iter().find(|op| match &op.what {
        What::Delete {
            name: n,
            life: l,
            gone,
        } => n == name && *l == life && *gone != Some(false),
        _ => false,
    })
}

/// One life of a name: when it was made, and when it ended.
struct Life<'a> {
    made: &'a Op,
    gone: Option<&'a Op>,
}

impl Life<'_> {
    /// Whether it was there during all of another operation.
    fn throughout(&self, op: &Op) -> bool {
        let before = self.made.ended.is_some_and(|ended| ended < op.began);
        let after = |gone: &Op| op.ended.is_some_and(|ended| ended < gone.began);
        before && self.gone.is_none_or(after)
    }

    /// Whether it can have been there at any moment of another operation.
    fn sometime(&self, op: &Op) -> bool {
        let begun = op.ended.is_none_or(|ended| self.made.began < ended);
        let over = self
            .gone
            .and_then(|gone| gone.ended)
            .is_some_and(|ended| ended < op.began);
        begun && !over
    }
}

/// A breach unless each list has what was there all the while, and nothing that was not.
pub(super) fn set(ops: &[Op]) -> Held {
    let mut lives: BTreeMap<&str, Vec<Life<'_>>> = BTreeMap::new();
    for op in ops {
        let What::Create { name, life, made } = &op.what else {
            continue;
        };
        let gone = gone(ops, name, *life);
        if *made != Some(false) {
            lives.entry(name).or_default().push(Life { made: op, gone });
        }
    }
    for op in ops {
        match &op.what {
            What::List { names: Some(names) } => {
                let listed: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                ensure!(
                    listed.len() == names.len(),
                    "a name is listed twice: {op:?}"
                );
                for (name, all) in &lives {
                    let must = all.iter().any(|life| life.throughout(op));
                    ensure!(
                        !must || listed.contains(name),
                        "a list has forgotten {name}: {op:?}"
                    );
                }
                for name in &listed {
                    let all = lives.get(name);
                    let may = all.is_some_and(|all| all.iter().any(|life| life.sometime(op)));
                    ensure!(may, "a list has {name}, which is not there: {op:?}");
                }
            }
            What::Create {
                name,
                made: Some(false),
                ..
            } => {
                let all = lives.get(name.as_str());
                let there = all.is_some_and(|all| all.iter().any(|life| life.sometime(op)));
                ensure!(there, "a name is in use, and is not there: {op:?}");
            }
            What::Create {
                name,
                made: Some(true),
                ..
            } => {
                let all = lives.get(name.as_str()).into_iter().flatten();
                let mut others = all.filter(|life| life.made != op);
                let taken = others
                    .find(|life| life.throughout(op))
                    .map(|life| life.made);
                ensure!(
                    taken.is_none(),
                    "a name was made twice: {op:?} beside {taken:?}"
                );
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(began: u64, ended: u64, what: What) -> Op {
        Op {
            who: 1,
            n: began,
            began,
            ended: Some(ended),
            what,
        }
    }

    fn create(made: bool) -> What {
        What::Create {
            name: "s".into(),
            life: 1,
            made: Some(made),
        }
    }

    fn delete() -> What {
        What::Delete {
            name: "s".into(),
            life: 1,
            gone: Some(true),
        }
    }

    fn list(names: &[&str]) -> What {
        What::List {
            names: Some(names.iter().map(|n| (*n).to_owned()).collect()),
        }
    }

    #[test]
    fn a_list_has_what_was_there_all_the_while() {
        let lives = [op(1, 2, create(true)), op(9, 10, delete())];
        let with = |began, ended, names: &[&str]| {
            set(&[&lives[..], &[op(began, ended, list(names))]].concat()).is_ok()
        };
        assert!(with(3, 4, &["s"]));
        assert!(!with(3, 4, &[]), "forgotten");
        assert!(!with(3, 4, &["s", "s"]), "twice");
        assert!(!with(3, 4, &["s", "t"]), "invented");
        assert!(with(3, 10, &[]) && with(3, 10, &["s"]));
        assert!(with(12, 13, &[]));
        assert!(!with(12, 13, &["s"]), "deleted");
    }

    #[test]
    fn a_name_in_use_is_refused_and_no_other() {
        assert!(set(&[op(1, 2, create(true)), op(3, 4, create(false))]).is_ok());
        assert!(set(&[op(3, 4, create(false))]).is_err());
        let twice = [op(1, 2, create(true)), op(3, 4, create(true))];
        assert!(set(&twice).is_err());
    }
}
