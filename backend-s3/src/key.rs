//! The names of objects: FORMAT.md as code.

use object_store::path::Path;
use sessionlog_core::{BlobId, Incarnation, Kind, SessionId, SessionRef, Timestamp};

/// The folder of the only layout that this version knows.
const LAYOUT: &str = "v1";
/// Behind every creation time, so that the newest comes first.
const NEWEST: i64 = 9_999_999_999_999;

/// The names of the objects of one store.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    root: String,
}

/// What an object is, as its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A marker of the index.
    Marker(SessionRef),
    /// Notice in the index of the deletion of a life.
    Notice(String, Incarnation),
    /// What a probe of the store left.
    Probe,
    /// Something of a session.
    Of(String, Part),
}

/// A part of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The head in a slot.
    Head(u64),
    /// A chunk of one life.
    Chunk(Incarnation, u64, u64),
    /// The snapshots of a projection.
    Snapshot(Incarnation),
    /// A copy of a blob.
    Blob(Incarnation, BlobId),
    /// Says that of one put of a blob the tries before this one do not count.
    Doubt(Incarnation, BlobId, u64),
}

impl Keys {
    /// The names below a prefix, which may be empty.
    pub(crate) fn new(prefix: &Path) -> Self {
        let root = match prefix.as_ref() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        Self { root }
    }

    fn path(&self, below: &str) -> Path {
        let key = format!("{}{LAYOUT}/{below}", self.root);
        // The root is encoded already.
        Path::parse(&key).unwrap_or_else(|_| Path::from(key))
    }

    /// Everything below the prefix, other layouts and foreign objects too.
    pub(crate) fn root(&self) -> Option<Path> {
        let root = self.root.trim_end_matches('/');
        (!root.is_empty()).then(|| Path::parse(root).unwrap_or_else(|_| Path::from(root)))
    }

    /// A key relative to the store.
    pub(crate) fn relative<'a>(&self, key: &'a Path) -> &'a str {
        key.as_ref()
            .strip_prefix(&self.root)
            .unwrap_or(key.as_ref())
    }

    /// The folder of all markers.
    pub(crate) fn index(&self) -> Path {
        self.path("i")
    }

    /// The marker of a session that was created then.
    pub(crate) fn marker(&self, session: &SessionRef, created: Timestamp) -> Path {
        let (name, life) = (without_case(&session.id), plain(session.incarnation));
        self.path(&format!("i/{}_{name}!{life}", upside_down(created)))
    }

    /// The notice that a life is deleted, or about to be. It stands before the markers of its time,
    /// so whoever has listed the marker has listed it, and does not tell the session's name.
    pub(crate) fn notice(&self, dir: &str, life: Incarnation, created: Timestamp) -> Path {
        self.path(&format!("i/{}!{dir}!{}", upside_down(created), plain(life)))
    }

    /// The folder of what probes leave.
    pub(crate) fn probes(&self) -> Path {
        self.path("probe")
    }

    /// The folder of the folders of all sessions.
    pub(crate) fn sessions(&self) -> Path {
        self.path("s")
    }

    /// The folder of everything of a session.
    pub(crate) fn session(&self, dir: &str) -> Path {
        self.path(&format!("s/{dir}"))
    }

    /// The folder of a session's heads.
    pub(crate) fn heads(&self, dir: &str) -> Path {
        self.path(&format!("s/{dir}/h"))
    }

    /// The head in a slot. Names run backwards, so that the newest comes first.
    pub(crate) fn head(&self, dir: &str, slot: u64) -> Path {
        self.path(&format!("s/{dir}/h/{:016x}", u64::MAX - slot))
    }

    /// A chunk.
    pub(crate) fn chunk(&self, dir: &str, life: Incarnation, first: u64, name: u64) -> Path {
        let life = plain(life);
        self.path(&format!("s/{dir}/d/{life}/c/{first:016x}-{name:016x}"))
    }

    /// The snapshots of a projection and version.
    pub(crate) fn snapshot(&self, session: &SessionRef, projection: &Kind, version: u32) -> Path {
        let (dir, life) = (dir_of(&session.id), plain(session.incarnation));
        self.path(&format!("s/{dir}/d/{life}/p/{projection}-{version:08x}"))
    }

    /// The folder of a life's blobs.
    pub(crate) fn blobs(&self, session: &SessionRef) -> Path {
        let (dir, life) = (dir_of(&session.id), plain(session.incarnation));
        self.path(&format!("s/{dir}/d/{life}/b"))
    }

    /// The folder of the copies of a blob, one for each put of it, and of other blobs. Where
    /// folders stay when they are empty, its name tells nothing.
    pub(crate) fn copies(&self, session: &SessionRef, id: BlobId) -> Path {
        let (dir, life) = (dir_of(&session.id), plain(session.incarnation));
        self.path(&format!("s/{dir}/d/{life}/b/{}", two(&id.to_string())))
    }

    /// A copy of a blob.
    pub(crate) fn copy(&self, session: &SessionRef, id: BlobId, name: u64) -> Path {
        let folder = self.copies(session, id);
        folder.join(format!("{id}-{name:016x}"))
    }

    /// The doubt in the tries of a put before the one of this name.
    pub(crate) fn doubt(&self, session: &SessionRef, id: BlobId, name: u64) -> Path {
        let folder = self.copies(session, id);
        folder.join(format!("{id}-{name:016x}!"))
    }

    /// A blob as it was put once: under the name that all puts of it shared.
    pub(crate) fn shared_blob(&self, session: &SessionRef, id: BlobId) -> Path {
        let (dir, life) = (dir_of(&session.id), plain(session.incarnation));
        self.path(&format!("s/{dir}/d/{life}/b/{id}"))
    }

    /// What an object below the prefix is; `None` for what is foreign.
    pub(crate) fn named(&self, key: &Path) -> Option<Named> {
        let below = self.relative(key).strip_prefix(LAYOUT)?.strip_prefix('/')?;
        let named = match below.split('/').collect::<Vec<_>>().as_slice() {
            ["i", name] => match session_in(name) {
                Some(session) => Named::Marker(session),
                None => notice_in(name)?,
            },
            ["probe", _] => Named::Probe,
            ["s", dir, "h", slot] => Named::Of(dir_in(dir)?, Part::Head(u64::MAX - hex(slot)?)),
            ["s", dir, "d", life, sort, name] => {
                let life = life_in(life)?;
                Named::Of(dir_in(dir)?, part(life, sort, name)?)
            }
            ["s", dir, "d", life, "b", folder, name] => {
                let (id, name) = name.split_once('-')?;
                let (life, blob) = (life_in(life)?, id.parse().ok()?);
                let part = match name.strip_suffix('!') {
                    Some(name) => Part::Doubt(life, blob, hex(name)?),
                    None => hex(name).map(|_| Part::Blob(life, blob))?,
                };
                (two(id) == *folder).then_some(Named::Of(dir_in(dir)?, part))?
            }
            _ => return None,
        };
        Some(named)
    }
}

/// A creation time, so that the newest comes first.
fn upside_down(created: Timestamp) -> String {
    let millis = NEWEST.saturating_sub(created.as_millis());
    format!("{:013}", millis.clamp(0, NEWEST))
}

fn part(life: Incarnation, sort: &str, name: &str) -> Option<Part> {
    match sort {
        "c" => {
            let (first, name) = name.split_once('-')?;
            Some(Part::Chunk(life, hex(first)?, hex(name)?))
        }
        "p" => {
            let (projection, version) = name.split_once('-')?;
            Kind::new(projection).ok()?;
            (version.len() == 8).then(|| u32::from_str_radix(version, 16).ok())??;
            Some(Part::Snapshot(life))
        }
        "b" => Some(Part::Blob(life, name.parse().ok()?)),
        _ => None,
    }
}

/// The name of a copy of a blob, if it has one of its own.
pub(crate) fn name_of(copy: &Path) -> Option<u64> {
    let (_, name) = copy.filename()?.split_once('-')?;
    hex(name)
}

/// The folder of a blob's copies.
fn two(blob: &str) -> &str {
    blob.get(..2).unwrap_or_default()
}

/// The name of a session's folder: a hash of its id. So it says nothing of the session when only
/// fences are left, it is safe on file systems that ignore case, and the keys of a busy store are
/// spread.
pub(crate) fn dir_of(id: &SessionId) -> String {
    let mut text = BlobId::of(id.as_str().as_bytes()).to_string();
    text.truncate(32);
    text
}

fn plain(life: Incarnation) -> String {
    life.to_string().replace('-', "")
}

fn dir_in(dir: &str) -> Option<String> {
    (dir.len() == 32 && dir.bytes().all(is_hex)).then(|| dir.to_owned())
}

fn life_in(text: &str) -> Option<Incarnation> {
    (text.len() == 32 && text.bytes().all(is_hex)).then(|| text.parse().ok())?
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn hex(text: &str) -> Option<u64> {
    (text.len() == 16 && text.bytes().all(is_hex)).then(|| u64::from_str_radix(text, 16).ok())?
}

/// An id in lower case, and a bit for each capital.
fn without_case(id: &SessionId) -> String {
    let name = id.as_str();
    let capitals = name
        .bytes()
        .enumerate()
        .filter(|(_, b)| b.is_ascii_uppercase());
    let bits = capitals.fold(0_u128, |bits, (at, _)| bits | 1 << at);
    format!("{}!{bits:x}", name.to_ascii_lowercase())
}

/// The session that a marker's name holds.
fn session_in(marker: &str) -> Option<SessionRef> {
    let (time, rest) = marker.split_once('_')?;
    let (name, life) = rest.rsplit_once('!')?;
    let (lower, capitals) = name.rsplit_once('!')?;
    let bits = u128::from_str_radix(capitals, 16).ok()?;
    let cased = |(at, c): (usize, char)| match bits.checked_shr(u32::try_from(at).ok()?)? & 1 {
        0 => Some(c),
        _ => Some(c.to_ascii_uppercase()),
    };
    let id: Option<String> = lower.chars().enumerate().map(cased).collect();
    let id = SessionId::new(&id?).ok()?;
    let incarnation = life_in(life)?;
    (is_time(time) && without_case(&id) == name).then_some(SessionRef { id, incarnation })
}

/// What the name of a notice says.
fn notice_in(name: &str) -> Option<Named> {
    let (time, rest) = name.split_once('!')?;
    let (dir, life) = rest.split_once('!')?;
    let notice = Named::Notice(dir_in(dir)?, life_in(life)?);
    is_time(time).then_some(notice)
}

fn is_time(text: &str) -> bool {
    text.len() == 13 && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_says_what_it_is() {
        let keys = Keys::new(&"a/b".into());
        let session = SessionRef::fresh("Ab.C_d-E".parse().unwrap());
        let (dir, life) = (dir_of(&session.id), session.incarnation);
        let blob = BlobId::of(b"x");
        let of = |part| Some(Named::Of(dir.clone(), part));
        let created = Timestamp::now();
        for (key, named) in [
            (
                keys.marker(&session, created),
                Some(Named::Marker(session.clone())),
            ),
            (
                keys.notice(&dir, life, created),
                Some(Named::Notice(dir.clone(), life)),
            ),
            (keys.head(&dir, 7), of(Part::Head(7))),
            (keys.chunk(&dir, life, 5, 9), of(Part::Chunk(life, 5, 9))),
            (
                keys.snapshot(&session, &Kind::from_static("a.b"), 3),
                of(Part::Snapshot(life)),
            ),
            (keys.shared_blob(&session, blob), of(Part::Blob(life, blob))),
            (keys.copy(&session, blob, 7), of(Part::Blob(life, blob))),
            (
                keys.doubt(&session, blob, 7),
                of(Part::Doubt(life, blob, 7)),
            ),
            (Path::from("a/b/v1/i/x!y"), None),
            (Path::from("a/b/notes.txt"), None),
            (Path::from("a/b/v2/i/x"), None),
            (Path::from("a/b/v1/s/x/h/0"), None),
        ] {
            assert_eq!(keys.named(&key), named, "{key}");
        }
    }

    #[test]
    fn the_newest_comes_first_in_order_of_names() {
        let keys = Keys::new(&Path::default());
        let at = |ms| Timestamp::from_millis(ms).unwrap();
        let s = SessionRef::fresh("s".parse().unwrap());
        assert!(keys.marker(&s, at(2_000)).as_ref() < keys.marker(&s, at(1_000)).as_ref());
        let notice = keys.notice("f", s.incarnation, at(2_000));
        assert!(notice.as_ref() < keys.marker(&s, at(2_000)).as_ref());
        assert!(notice.as_ref() > keys.marker(&s, at(2_001)).as_ref());
        assert!(keys.head("d", 9).as_ref() < keys.head("d", 8).as_ref());
    }

    #[test]
    fn names_that_differ_by_case_have_keys_that_differ_without_it() {
        let keys = Keys::new(&Path::default());
        let marker = |name: &str| {
            let session = SessionRef::fresh(name.parse().unwrap());
            let key = keys.marker(&session, Timestamp::EPOCH);
            assert_eq!(keys.named(&key), Some(Named::Marker(session)));
            let name = key.filename().unwrap().to_ascii_lowercase();
            assert!(name.len() < 255);
            name.rsplit_once('!').unwrap().0.to_owned()
        };
        assert_ne!(marker("ab"), marker("aB"));
        let long = "X".repeat(SessionId::MAX_LEN);
        assert_ne!(marker(&long), marker(&long.to_lowercase()));
    }
}
