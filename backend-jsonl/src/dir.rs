//! Names in a store: how a session's id becomes the name of its folder, and what lies in it.

use std::path::{Path, PathBuf};

use sessionlog_core::{SessionId, Sum};

/// The file that says that a folder is a store.
pub(crate) const MARKER: &str = "sessionlog.json";
/// Sessions that are being made.
pub(crate) const NEW: &str = ".new";
/// Sessions that are being deleted.
pub(crate) const TRASH: &str = ".trash";
/// The log within a session's folder.
pub(crate) const EVENTS: &str = "events.jsonl";
/// The lock of whoever writes to the session.
pub(crate) const APPEND_LOCK: &str = "append.lock";
/// The last two grants of the lease.
pub(crate) const LEASE: &str = "lease.json";
/// The lock of whoever holds the lease.
pub(crate) const LEASE_LOCK: &str = "lease.lock";
/// The folder of snapshots.
pub(crate) const SNAPSHOTS: &str = "snapshots";
/// The folder of blobs.
pub(crate) const BLOBS: &str = "blobs";
/// The folder of bytes that repairs cut out.
pub(crate) const KEPT: &str = "kept";
/// How the name of a file begins that is being written.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// The folder of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionDir {
    path: PathBuf,
    /// The name relative to the store, for messages.
    name: String,
}

impl SessionDir {
    pub(crate) fn new(root: &Path, id: &SessionId) -> Self {
        let name = folder(id);
        Self {
            path: root.join(&name),
            name,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder within the folder, if it is there and no link.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = self.path.join(name);
        sessionlog_local::files::is_dir(&path).then_some(path)
    }

    /// The name of something in the folder, relative to the store.
    pub(crate) fn relative(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    /// What checksums of files begin with that are this session's alone.
    pub(crate) fn seed(&self) -> Sum {
        Sum::from_u64(0).then(self.name.as_bytes())
    }
}

/// The name of the folder of a session: no two differ by case alone, and none is a device.
pub(crate) fn folder(id: &SessionId) -> String {
    let id = id.as_str();
    let mut name = id.to_ascii_lowercase();
    let upper = id
        .bytes()
        .zip(0..)
        .filter(|(byte, _)| byte.is_ascii_uppercase())
        .fold(0_u128, |mask, (_, at)| mask | 1_u128 << at);
    if upper != 0 {
        name.push_str(&format!("={upper:x}"));
    } else if name.ends_with('.') {
        name.push_str("=0");
    }
    let stem = name.split(['.', '=']).next().unwrap_or_default();
    if name == MARKER || is_device(stem) {
        name.insert(0, '=');
    }
    name
}

/// The session whose folder has this name; `None` for a foreign name.
pub(crate) fn session(name: &str) -> Option<SessionId> {
    let plain = name.strip_prefix('=').unwrap_or(name);
    let (lower, mask) = plain.split_once('=').unwrap_or((plain, "0"));
    let mask = u128::from_str_radix(mask, 16).ok()?;
    let id: String = lower
        .chars()
        .zip(0..)
        .map(|(c, at)| match mask.checked_shr(at) {
            Some(bits) if bits & 1 == 1 => c.to_ascii_uppercase(),
            _ => c,
        })
        .collect();
    let id = SessionId::new(&id).ok()?;
    (folder(&id) == name).then_some(id)
}

fn is_device(stem: &str) -> bool {
    match stem {
        "con" | "prn" | "aux" | "nul" => true,
        _ => stem
            .strip_prefix("com")
            .or_else(|| stem.strip_prefix("lpt"))
            .is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'9'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names() {
        for (id, name) in [
            ("plain-1_a.b", "plain-1_a.b"),
            ("Ab", "ab=1"),
            ("aB", "ab=2"),
            ("AB", "ab=3"),
            ("dot.", "dot.=0"),
            ("Dot.", "dot.=1"),
            ("con", "=con"),
            ("CON", "=con=7"),
            ("com1.txt", "=com1.txt"),
            ("com10", "com10"),
            ("sessionlog.json", "=sessionlog.json"),
        ] {
            let id = SessionId::new(id).unwrap();
            assert_eq!(folder(&id), name);
            assert_eq!(session(name), Some(id));
        }
    }

    #[test]
    fn other_names_are_foreign() {
        for name in [
            "",
            "Ab",
            "ab=0",
            "ab=01",
            "ab=4",
            "=ab",
            "con",
            "dot.",
            "a b",
            ".x",
            "ab=g",
            "-a",
            "sessionlog.json",
        ] {
            assert_eq!(session(name), None, "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_id_comes_back(id in "[A-Za-z0-9_][A-Za-z0-9._-]{0,127}") {
            let id = SessionId::new(&id).unwrap();
            let name = folder(&id);
            proptest::prop_assert_eq!(name.to_ascii_lowercase(), name.clone());
            proptest::prop_assert!(name.len() < 200 && !name.ends_with('.'));
            proptest::prop_assert_eq!(session(&name), Some(id));
        }
    }
}
