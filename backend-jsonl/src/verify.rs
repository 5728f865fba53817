//! Looking for damage: every place, with its offset and its position.

use std::fs;
use std::io::ErrorKind as Io;

use sessionlog_core::{Error, Finding, Place, Result, SeqNum, SessionId, Severity, span};

use crate::blob::{Reading, blobs};
use crate::dir::{
    self, APPEND_LOCK, BLOBS, EVENTS, KEPT, LEASE, LEASE_LOCK, MARKER, SNAPSHOTS, SessionDir,
    TEMPORARY,
};
use crate::inspect::Inspected;
use crate::latest;
use crate::root::{is_leftover, is_session};
use crate::salvage::{Lost, Met};
use crate::slots::Slots;
use crate::snapshot::{self, Name};
use crate::store::Jsonl;
use sessionlog_local::files::{failed, wide};

/// Everything that is wrong with a session's folder.
pub(crate) fn session(dir: &SessionDir, id: &SessionId) -> Result<Vec<Finding>> {
    let finding = |severity, name: &str, len, message: String| {
        let place = Place::file(dir.relative(name)).with_session(id);
        let found = Finding::new(severity, place, message);
        match len {
            Some(len) => found.with_len(len),
            None => found,
        }
    };
    let mut found = log(dir, id)?;
    match Slots::read(dir) {
        Ok(slots) if slots.is_damaged() => found.push(finding(
            Severity::Damage,
            LEASE,
            None,
            "one of the two grants is damaged: the next token is larger by two".into(),
        )),
        Ok(_) => {}
        Err(e) if e.is_corrupt() => found.push(finding(
            Severity::Damage,
            LEASE,
            None,
            format!(
                "{}: repair goes on with a token larger than any before",
                e.message()
            ),
        )),
        Err(e) => return Err(e),
    }
    for (folder, name) in entries(dir)? {
        let path = dir.join(&folder).join(&name);
        let relative = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        let plain = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
        let note = |what: &str| finding(Severity::Note, &relative, None, what.into());
        match folder.as_str() {
            _ if name.starts_with(TEMPORARY) => {
                found.push(note("a file that is being written, or was left by a crash"));
            }
            SNAPSHOTS if plain && Name::read(&name).is_some() => {
                if Name::read(&name).is_some_and(|n| snapshot::load(&path, &n).is_none()) {
                    let what = "the snapshot is damaged: it is passed over, repair removes it";
                    found.push(finding(Severity::Derived, &relative, None, what.into()));
                }
            }
            SNAPSHOTS if plain && latest::is_name(&name) => {
                if latest::load(dir, id, &name).is_none() {
                    let what =
                        "the record for lists is damaged: it is passed over, repair removes it";
                    found.push(finding(Severity::Derived, &relative, None, what.into()));
                }
            }
            BLOBS if plain && name.parse::<sessionlog_core::BlobId>().is_ok() => {}
            KEPT if plain => {}
            _ => found.push(note(
                "a foreign file or link: it is neither read nor deleted",
            )),
        }
    }
    for blob in blobs(dir)? {
        let mut reading = Reading::open(dir, blob.id, 0..u64::MAX)?;
        if let Some(error) = std::iter::from_fn(|| reading.next()).find_map(Result::err) {
            found.push(finding(
                Severity::Damage,
                &format!("{BLOBS}/{}", blob.id),
                Some(blob.len),
                error.message().to_owned(),
            ));
        }
    }
    Ok(found)
}

/// What lies in a session's folder and in its folders, but for what must be there.
fn entries(dir: &SessionDir) -> Result<Vec<(String, String)>> {
    let list = |name: &str| {
        let path = dir.join(name);
        let listed = match fs::read_dir(&path) {
            Err(e) if matches!(e.kind(), Io::NotFound | Io::NotADirectory) => return Ok(Vec::new()),
            listed => listed.map_err(failed("list", &path))?,
        };
        listed
            .map(|entry| {
                let entry = entry.map_err(failed("list", &path))?;
                Ok(entry.file_name().to_string_lossy().into_owned())
            })
            .collect::<Result<Vec<_>>>()
    };
    let mut all = Vec::new();
    for name in list("")? {
        let is_dir = sessionlog_local::files::is_dir(&dir.join(&name));
        match name.as_str() {
            EVENTS | APPEND_LOCK | LEASE | LEASE_LOCK if !is_dir => {}
            SNAPSHOTS | BLOBS | KEPT if is_dir => {
                all.extend(list(&name)?.into_iter().map(|inner| (name.clone(), inner)));
            }
            _ => all.push((String::new(), name)),
        }
    }
    Ok(all)
}

fn log(dir: &SessionDir, id: &SessionId) -> Result<Vec<Finding>> {
    let inspected = Inspected::new(dir, id)?;
    let place = |offset: u64, seq: SeqNum| {
        Place::file(dir.relative(EVENTS))
            .with_session(id)
            .with_offset(offset)
            .with_seq(seq)
    };
    let mut found = Vec::new();
    if let Some(what) = &inspected.header {
        let message = format!("{what}: repair writes a new first line");
        found.push(
            Finding::new(Severity::Damage, place(0, SeqNum::ZERO), message)
                .with_len(inspected.from),
        );
    }
    let mut next = SeqNum::ZERO;
    let walked: std::io::Result<()> = inspected.walk(|met| {
        match met {
            Met::Event(event) => next = event.seq.plus(1),
            Met::Mended(event) => {
                next = event.seq.plus(1);
                let place = Place::file(dir.relative(EVENTS));
                found.push(Finding::new(
                    Severity::Damage,
                    place.with_session(id).with_seq(event.seq),
                    "what surrounds a whole event on its line is damaged: repair writes it anew",
                ));
            }
            Met::Moved(piece) => {
                let place = place(piece.start, next);
                let len = piece.end - piece.start;
                found.push(Finding::new(Severity::Damage, place, MOVED).with_len(len));
            }
            Met::Lost(lost) => {
                next = lost.until;
                let place = place(lost.offset, lost.from);
                found.push(
                    Finding::new(Severity::Damage, place, describe(&lost)).with_len(lost.len),
                );
            }
        }
        Ok(())
    });
    walked.map_err(failed("read", &dir.join(EVENTS)))?;
    if let Some(torn) = &inspected.torn {
        let message = "a torn tail, the remains of an append that was never acknowledged: the next \
                       append keeps it aside and cuts it";
        found.push(
            Finding::new(Severity::Note, place(inspected.until, next), message)
                .with_len(wide(torn.len())),
        );
    }
    Ok(found)
}

/// What a piece in another place means.
pub(crate) const MOVED: &str = "the log goes on here, where it should not: pieces of it changed places, repair puts them in order";

/// What a damaged stretch means.
pub(crate) fn describe(lost: &Lost) -> String {
    let Lost {
        from,
        until,
        reason,
        ..
    } = lost;
    match span(&(*from..*until)) {
        0 => format!("{reason}: no event is lost, repair takes it out"),
        1 => format!("{reason}: event {from} is lost, repair says so in its place"),
        n => format!(
            "{reason}: {n} events are lost, {from} to {}, repair says so in their place",
            until.minus(1)
        ),
    }
}

/// What lies in a store but belongs to no session.
pub(crate) fn strays(store: &Jsonl) -> Result<Vec<Finding>> {
    if !store.root().is_there()? {
        return Ok(Vec::new());
    }
    let path = store.path();
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed("list", path))? {
        let name = entry.map_err(failed("list", path))?.file_name();
        let name = name.to_string_lossy().into_owned();
        let is_dir = sessionlog_local::files::is_dir(&path.join(&name));
        let note =
            |name: String, message: &str| Finding::new(Severity::Note, Place::file(name), message);
        if matches!(name.as_str(), dir::NEW | dir::TRASH) && is_dir {
            let inner = fs::read_dir(path.join(&name))
                .into_iter()
                .flatten()
                .flatten();
            for left in inner {
                found.push(note(
                    format!("{name}/{}", left.file_name().to_string_lossy()),
                    "left by a session that was being made or deleted: the next one clears it",
                ));
            }
        } else if is_leftover(&name) {
            if name.starts_with(TEMPORARY) {
                found.push(note(
                    name,
                    "a file that is being written, or was left by a crash",
                ));
            }
        } else if name != MARKER
            && !(dir::session(&name).is_some() && is_session(&path.join(&name)))
        {
            found.push(note(
                name,
                "a foreign file, folder or link: it is neither followed nor deleted",
            ));
        }
    }
    Ok(found)
}

/// The error for a session of which there is no trace.
pub(crate) fn nothing(id: &SessionId) -> Error {
    Error::not_found(format!("there is no such session: {id}"))
}
