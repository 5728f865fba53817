//! From what the recorder gives to a history.

use std::collections::BTreeMap;
use std::path::Path;

use sessionlog_crashfs::{Allocation, Op, Record, Recorder};

use super::history::{Call, Entry, History, Mark, Start};
use crate::breach::{End, Held};

/// Linux's number of an interrupted call.
const EINTR: i32 = 4;

/// Begins to record a folder.
pub(crate) fn recorder(root: &Path) -> Held<Recorder> {
    sessionlog_crashfs::armed().map_err(|why| End::NotMeasured(why.to_string()))?;
    Recorder::new(root).map_err(|why| End::NotMeasured(format!("nothing is recorded: {why}")))
}

/// Ends a recording. One that is not complete shows nothing. `since` is a mark from which on it is
/// to be looked at.
pub(crate) fn finish(recorder: Recorder, marks: Vec<(usize, Mark)>, since: usize) -> Held<History> {
    let record = recorder.finish();
    let record = record.map_err(|why| End::NotMeasured(why.to_string()))?;
    history(record, marks, since)
}

fn history(record: Record, marks: Vec<(usize, Mark)>, since: usize) -> Held<History> {
    let mut history = History::default();
    let Start {
        names,
        files,
        links,
    } = &mut history.start;
    for (dir, entries) in &record.start.folders {
        for (name, node) in entries {
            let name = text(name)?;
            names.push((Entry { dir: dir.0, name }, node.0));
        }
    }
    for (file, bytes) in &record.start.files {
        files.insert(file.0, bytes.as_ref().clone().into());
    }
    for (link, to) in &record.start.links {
        links.insert(link.0, text(to)?);
    }
    // Some ops are two calls, and some none.
    let mut moved = BTreeMap::new();
    for (n, op) in record.ops.into_iter().enumerate() {
        moved.insert(n, history.calls.len());
        call(op, &mut history)?;
    }
    let all = history.calls.len();
    let at = |op: usize| moved.get(&op).copied().unwrap_or(all);
    history.marks = marks.into_iter().map(|(op, m)| (at(op), m)).collect();
    history.since = at(since);
    Ok(history)
}

fn call(op: Op, history: &mut History) -> Held {
    let call = match op {
        Op::Create { file, place } => Call::Create(entry(&place)?, file.0),
        Op::CreateUnnamed { file } => {
            // A file without a name is not there after a power loss.
            history.start.files.insert(file.0, Vec::new().into());
            return Ok(());
        }
        Op::Write { file, at, data } => Call::Write {
            file: file.0,
            at,
            bytes: data.to_vec().into(),
        },
        Op::Truncate { file, len } => Call::Resize { file: file.0, len },
        Op::Allocate { file, at, len, how } => {
            let file = file.0;
            let end = at.saturating_add(len);
            match how {
                Allocation::Reserve => return Ok(()),
                Allocation::Punch | Allocation::Zero { keep_size: true } => {
                    Call::Zero { file, at, len }
                }
                Allocation::Grow => Call::Grow { file, len: end },
                Allocation::Zero { keep_size: false } => {
                    history.calls.push(Call::Zero { file, at, len });
                    Call::Grow { file, len: end }
                }
                Allocation::Collapse | Allocation::Insert => {
                    return Err(End::NotMeasured(
                        "a range was taken out of a file, or put in: nothing is said about that \
                         and a power loss"
                            .into(),
                    ));
                }
            }
        }
        Op::Flush {
            file,
            data_only,
            ok,
        } => Call::Flush {
            file: file.0,
            data_only,
            ok,
        },
        Op::FlushFolder { dir, ok } => Call::FlushFolder { dir: dir.0, ok },
        Op::FlushAll { ok } => Call::FlushAll { ok },
        Op::Rename { node, from, to, .. } => Call::Rename {
            from: entry(&from)?,
            to: entry(&to)?,
            node: node.0,
        },
        Op::Exchange {
            a,
            a_place,
            b,
            b_place,
        } => Call::Exchange([(entry(&a_place)?, b.0), (entry(&b_place)?, a.0)]),
        Op::Link { file, place } => Call::Link(entry(&place)?, file.0),
        Op::Unlink { node, place } | Op::Rmdir { dir: node, place } => {
            Call::Unlink(entry(&place)?, node.0)
        }
        Op::Mkdir { dir, place } => Call::Folder(entry(&place)?, dir.0),
        Op::Symlink {
            link,
            place,
            target,
        } => Call::Symlink(entry(&place)?, link.0, text(&target)?),
        // An interrupted flush was not carried out, and left everything to be flushed: it may be
        // repeated.
        Op::Failed { errno: EINTR, .. } => {
            if history.calls.last().is_some_and(Call::fails) {
                history.calls.pop();
            }
            return Ok(());
        }
        Op::Failed { .. } => return Ok(()),
    };
    history.calls.push(call);
    Ok(())
}

fn entry(place: &sessionlog_crashfs::Place) -> Held<Entry> {
    Ok(Entry {
        dir: place.dir.0,
        name: text(&place.name)?,
    })
}

fn text(name: &std::ffi::OsStr) -> Held<String> {
    let text = name.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| End::NotMeasured(format!("a name that is not text: {}", name.display())))
}
