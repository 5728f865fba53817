//! Names as short as they can be without meaning two.

use sessionlog::SessionId;

/// How much of each name is enough to find its session.
pub(crate) struct Short {
    /// `None` where not all names are known.
    sorted: Option<Vec<SessionId>>,
}

/// Shorter than this no name is cut: it should stay unique for a while.
const LEAST: usize = 8;

impl Short {
    /// For these sessions: all of the store.
    pub(crate) fn of(mut ids: Vec<SessionId>) -> Self {
        ids.sort_unstable();
        Self { sorted: Some(ids) }
    }

    /// Where other sessions have names that are not known: none is cut.
    pub(crate) fn whole() -> Self {
        Self { sorted: None }
    }

    /// The shortest unique prefix of one of them.
    pub(crate) fn cut<'a>(&self, id: &'a SessionId) -> &'a str {
        let name = id.as_str();
        let Some(sorted) = &self.sorted else {
            return name;
        };
        let at = sorted.partition_point(|other| other < id);
        let before = at.checked_sub(1).and_then(|at| sorted.get(at));
        let shared = [before, sorted.get(at + 1)]
            .into_iter()
            .flatten()
            .map(|other| common(name, other.as_str()))
            .max();
        // Names are ASCII, so every place is between two characters.
        name.get(..shared.map_or(LEAST, |n| LEAST.max(n + 1)))
            .unwrap_or(name)
    }
}

fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_unique() {
        let ids: Vec<SessionId> = ["019a-0001-a", "019a-0001-b", "zz", "other-session", "zz.2"]
            .map(|id| id.parse().unwrap())
            .into();
        let short = Short::of(ids.clone());
        let cut: Vec<_> = ids.iter().map(|id| short.cut(id)).collect();
        assert_eq!(
            cut,
            ["019a-0001-a", "019a-0001-b", "zz", "other-se", "zz.2"]
        );
    }
}
