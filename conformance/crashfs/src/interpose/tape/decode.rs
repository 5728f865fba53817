//! From what the hooks wrote down to ops: inodes become ids.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, sync::Arc};

use super::{
    event::{Head, Tag},
    note::allocation,
};
use crate::{
    Call, FileId, Name, Op, Place,
    interpose::stat::Inode,
    tape::Tape,
    tree::{Inodes, Start},
};

const CALLS: [Call; 12] = [
    Call::Create,
    Call::Write,
    Call::Truncate,
    Call::Allocate,
    Call::Rename,
    Call::Link,
    Call::Unlink,
    Call::Mkdir,
    Call::Rmdir,
    Call::Flush,
    Call::FlushFolder,
    Call::FlushAll,
];

/// Every op of a record. The error says which op is about a file that nobody saw coming.
///
/// # Safety
///
/// As [`Tape::events`].
pub(crate) unsafe fn decode(tape: &Tape, first: usize, start: &Start) -> Result<Vec<Op>, String> {
    let mut files = Files {
        ids: start.ids.clone(),
        next: start.next,
    };
    // SAFETY: as the caller's.
    unsafe { tape.events(first) }
        .enumerate()
        .map(|(n, (head, name, other))| {
            files.op(&head, name, other).ok_or_else(|| {
                format!(
                    "op {n} ({:?} {}) is about something that nobody saw coming into the root",
                    head.tag,
                    String::from_utf8_lossy(if head.tag == Tag::Write { b"" } else { name })
                )
            })
        })
        .collect()
}

struct Files {
    ids: Inodes,
    next: u32,
}

impl Files {
    fn op(&mut self, head: &Head, name: &[u8], other: &[u8]) -> Option<Op> {
        let [a, b, c, d] = head.nodes;
        let op = match head.tag {
            Tag::Create => {
                let place = self.place(b, name)?;
                Op::Create {
                    file: self.made(a),
                    place,
                }
            }
            Tag::CreateUnnamed => Op::CreateUnnamed { file: self.made(a) },
            Tag::Write => Op::Write {
                file: self.known(a)?,
                at: head.x,
                data: Arc::from(name),
            },
            Tag::Truncate => Op::Truncate {
                file: self.known(a)?,
                len: head.x,
            },
            Tag::Allocate => Op::Allocate {
                file: self.known(a)?,
                at: head.x,
                len: head.y,
                how: allocation(head.code)?,
            },
            Tag::Flush => Op::Flush {
                file: self.known(a)?,
                data_only: head.y != 0,
                ok: head.x != 0,
            },
            Tag::FlushFolder => Op::FlushFolder {
                dir: self.known(a)?,
                ok: head.x != 0,
            },
            Tag::FlushAll => Op::FlushAll { ok: head.x != 0 },
            Tag::Rename => Op::Rename {
                node: self.known(a)?,
                from: self.place(b, name)?,
                to: self.place(c, other)?,
                replaced: if d == Inode::default() {
                    None
                } else {
                    Some(self.known(d)?)
                },
            },
            Tag::Exchange => Op::Exchange {
                a: self.known(a)?,
                a_place: self.place(b, name)?,
                b: self.known(d)?,
                b_place: self.place(c, other)?,
            },
            Tag::Link => Op::Link {
                file: self.known(a)?,
                place: self.place(b, name)?,
            },
            Tag::Unlink => Op::Unlink {
                node: self.known(a)?,
                place: self.place(b, name)?,
            },
            Tag::Mkdir => {
                let place = self.place(b, name)?;
                Op::Mkdir {
                    dir: self.made(a),
                    place,
                }
            }
            Tag::Rmdir => Op::Rmdir {
                dir: self.known(a)?,
                place: self.place(b, name)?,
            },
            Tag::Symlink => {
                let place = self.place(b, name)?;
                let target = Name::from(OsStr::from_bytes(other));
                Op::Symlink {
                    link: self.made(a),
                    place,
                    target,
                }
            }
            Tag::Failed => Op::Failed {
                call: *CALLS.iter().find(|call| **call as u64 == head.x)?,
                on: self.known(a),
                errno: head.code,
            },
        };
        Some(op)
    }

    fn known(&self, inode: Inode) -> Option<FileId> {
        self.ids.get(&(inode.dev, inode.ino)).copied()
    }

    /// A new file, even where its inode was another's before.
    fn made(&mut self, inode: Inode) -> FileId {
        let id = FileId(self.next);
        self.next += 1;
        self.ids.insert((inode.dev, inode.ino), id);
        id
    }

    fn place(&self, dir: Inode, name: &[u8]) -> Option<Place> {
        Some(Place {
            dir: self.known(dir)?,
            name: Name::from(OsStr::from_bytes(name)),
        })
    }
}
