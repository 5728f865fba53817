//! What a list needs of a session, in one small file: a snapshot, and how the log looked when it was
//! saved. A cache: it is believed of a log that looks the same, and of no other.

use std::fs::{self, Metadata};
use std::io::Read;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use sessionlog_core::{Head, Kind, SeqNum, SessionId, SessionRef, Snapshot, Sum};
use sessionlog_local::files::{Identity, open_read, replace};

use crate::dir::{EVENTS, SNAPSHOTS, SessionDir};
use crate::life::Life;

/// No such file is larger.
const MOST: usize = 8 << 10;
const MAGIC: &str = "sessionlog latest 1";

/// The name of the file for a projection, within the folder of snapshots.
pub(crate) fn name(projection: &str, version: u32) -> String {
    format!("{projection}-v{version}.last")
}

/// Whether a file is one by its name.
pub(crate) fn is_name(text: &str) -> bool {
    let parts = text.strip_suffix(".last").and_then(|t| t.rsplit_once("-v"));
    parts.is_some_and(|(projection, version)| {
        let version = version.parse();
        Kind::new(projection).is_ok() && version.is_ok_and(|v| name(projection, v) == text)
    })
}

/// How a log looks from outside. Every append makes it longer, unless it is written into space that
/// was written ahead: then it is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    len: u64,
    file: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

impl Stamp {
    fn of(meta: &Metadata) -> Option<Self> {
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            len: meta.len(),
            file: Identity::of(meta).number(),
            modified: u64::try_from(modified.as_nanos()).ok()?,
        })
    }
}

/// The end of a log that looked so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) session: SessionRef,
    pub(crate) head: Head,
    stamp: Stamp,
}

impl Ended {
    /// Whether the log still looks so.
    pub(crate) fn holds(&self, dir: &SessionDir) -> bool {
        let meta = fs::symlink_metadata(dir.join(EVENTS)).ok();
        let meta = meta.filter(Metadata::is_file);
        meta.and_then(|meta| Stamp::of(&meta)) == Some(self.stamp)
    }

    fn encode(&self, dir: &SessionDir, snapshot: &[u8]) -> Vec<u8> {
        let Self {
            session,
            head,
            stamp,
        } = self;
        let fields = format!(
            "{MAGIC} {} {} {} {} {} {} {} {}",
            session.id,
            session.incarnation,
            head.tail,
            head.sum,
            head.top,
            stamp.len,
            stamp.file,
            stamp.modified
        );
        let sum = dir.seed().then(fields.as_bytes()).then(snapshot);
        let mut bytes = format!("{fields} {sum}\n").into_bytes();
        bytes.extend_from_slice(snapshot);
        bytes
    }
}

/// Reads what [`Ended::encode`] wrote for the session of a folder; `None` for anything else.
fn decode(dir: &SessionDir, id: &SessionId, bytes: &Bytes) -> Option<(Ended, Snapshot)> {
    let end = memchr::memchr(b'\n', bytes)?;
    let snapshot = bytes.slice(end + 1..);
    let (fields, sum) = std::str::from_utf8(bytes.get(..end)?)
        .ok()?
        .rsplit_once(' ')?;
    let whole = dir.seed().then(fields.as_bytes()).then(&snapshot);
    if Sum::from_text(sum.as_bytes()) != Some(whole) {
        return None;
    }
    let mut fields = fields.strip_prefix(MAGIC)?.strip_prefix(' ')?.split(' ');
    let named = fields.next()? == id.as_str();
    let incarnation = fields.next()?.parse().ok()?;
    let tail = fields.next()?.parse().ok()?;
    let sum = Sum::from_text(fields.next()?.as_bytes())?;
    let top = fields.next()?.parse().ok()?;
    let mut number = || fields.next()?.parse().ok();
    let ended = Ended {
        session: SessionRef {
            id: id.clone(),
            incarnation,
        },
        head: Head::new(SeqNum::new(tail), sum, top),
        stamp: Stamp {
            len: number()?,
            file: number()?,
            modified: number()?,
        },
    };
    let snapshot = Snapshot::from_bytes(&snapshot).ok()?;
    named.then_some((ended, snapshot))
}

/// What is recorded for a projection; `None` if there is nothing, or it is damaged.
pub(crate) fn load(dir: &SessionDir, id: &SessionId, name: &str) -> Option<(Ended, Snapshot)> {
    let mut file = open_read(&dir.join(SNAPSHOTS).join(name)).ok()?;
    let mut bytes = [0; MOST];
    // One call: what it does not give is missed by the checksum.
    let len = file.read(&mut bytes).ok()?;
    let found = decode(dir, id, &Bytes::copy_from_slice(bytes.get(..len)?))?;
    (self::name(found.1.projection.as_str(), found.1.version) == name).then_some(found)
}

/// Records a snapshot that was saved, while the append lock is held. Best effort: without it a list
/// looks at the log.
pub(crate) fn record(life: &Life, snapshot: &Snapshot) {
    let recorded = || {
        let bytes = snapshot.to_bytes();
        if bytes.len() > MOST - 512 {
            return None;
        }
        let (end, None) = life.look().ok()? else {
            return None;
        };
        let stamp = Stamp::of(&life.file.metadata().ok()?)?;
        if stamp.len != end.offset {
            return None;
        }
        let ended = Ended {
            session: life.session.clone(),
            head: end.head,
            stamp,
        };
        let name = name(snapshot.projection.as_str(), snapshot.version);
        let bytes = ended.encode(&life.dir, &bytes);
        replace(&life.dir.join(SNAPSHOTS), &name, &bytes, false).ok()
    };
    // What is there already is of an older snapshot, or of another log: both are seen.
    recorded().unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn given() -> (SessionDir, SessionId, Ended, Snapshot) {
        let session = SessionRef::fresh(SessionId::new("Some.id").unwrap());
        let dir = SessionDir::new(Path::new("/x"), &session.id);
        let snapshot = Snapshot {
            projection: Kind::from_static("card"),
            version: 2,
            covers: SeqNum::new(3),
            log: Sum::from_u64(7),
            state: Bytes::from_static(b"{\"a\":1}\n"),
        };
        let head = Head::new(
            SeqNum::new(5),
            Sum::from_u64(0xab),
            sessionlog_core::EventId::from_bytes([3; 16]),
        );
        let stamp = Stamp {
            len: 1,
            file: 2,
            modified: u64::MAX,
        };
        let id = session.id.clone();
        let ended = Ended {
            session,
            head,
            stamp,
        };
        (dir, id, ended, snapshot)
    }

    #[test]
    fn it_comes_back_and_every_changed_bit_is_found() {
        let (dir, id, ended, snapshot) = given();
        let bytes = ended.encode(&dir, &snapshot.to_bytes());
        let read = |bytes: &[u8]| decode(&dir, &id, &Bytes::copy_from_slice(bytes));
        assert_eq!(read(&bytes), Some((ended, snapshot)));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(read(&changed), None, "{at} {bit}");
            }
            assert_eq!(read(&bytes[..at]), None);
        }
        assert_eq!(read(&[&bytes[..], b"x"].concat()), None);
    }

    #[test]
    fn another_session_does_not_take_it() {
        let (dir, id, ended, snapshot) = given();
        let bytes = Bytes::from(ended.encode(&dir, &snapshot.to_bytes()));
        let other = SessionId::new("other").unwrap();
        let there = SessionDir::new(Path::new("/x"), &other);
        assert_eq!(decode(&there, &other, &bytes), None);
        assert_eq!(decode(&there, &id, &bytes), None);
        assert_eq!(decode(&dir, &other, &bytes), None);
    }

    #[test]
    fn names() {
        assert!(is_name("card-v2.last") && is_name("a.b_c-v0.last"));
        for other in ["card-v02.last", "card.last", "Card-v1.last", "-v1.last"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
