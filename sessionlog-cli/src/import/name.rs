//! From the name that another tool gave a session to an id.

use sessionlog::SessionId;
use twox_hash::XxHash3_64;

/// How much of a name is kept when it has to be changed.
const KEPT: usize = 100;

/// The id for a name, and whether it is another text than the name: characters that an id can't
/// have become dashes, and a hash of the name keeps it apart from all that look the same then.
pub(crate) fn session_id(name: &str) -> (SessionId, bool) {
    if let Ok(id) = SessionId::new(name) {
        return (id, false);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mapped: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .take(KEPT)
        .collect();
    let mapped = mapped.trim_start_matches(['.', '-']);
    let start = if mapped.is_empty() { "session" } else { mapped };
    let id = format!("{start}-{}", short(XxHash3_64::oneshot(name.as_bytes())));
    // It is made of nothing but characters that an id can have.
    (
        SessionId::new(&id).unwrap_or_else(|_| SessionId::generate()),
        true,
    )
}

/// The id for another history under the same name.
pub(crate) fn beside(id: &SessionId, line: u64, content: &[u8]) -> SessionId {
    let hash = XxHash3_64::oneshot(&[&line.to_le_bytes(), content].concat());
    let name = format!("{id}-{}", short(hash));
    SessionId::new(&name).unwrap_or_else(|_| session_id(&name).0)
}

fn short(hash: u64) -> String {
    format!("{:08x}", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_become_equal() {
        assert_eq!(session_id("a.b-1").0.as_str(), "a.b-1");
        let mut ids: Vec<_> = [
            "a/b",
            "a b",
            "../a",
            "ä",
            "",
            "-x",
            &"y".repeat(200),
            "日本",
            "中文",
        ]
        .map(|name| session_id(name).0)
        .into();
        assert!(ids[0].as_str().starts_with("a-b-"), "{}", ids[0]);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 9);
        let long = SessionId::new(&"x".repeat(128)).unwrap();
        assert_ne!(beside(&long, 1, b"a"), beside(&long, 2, b"a"));
    }
}
