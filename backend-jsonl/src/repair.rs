//! Mending a session: what is whole goes to its place in a new log, the old one is kept.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind as Io, Write};
use std::ops::Range;
use std::time::Duration;

use futures_timer::Delay;
use sessionlog_core::{
    Data, Error, Event, EventId, FencingToken, Head, Kind, NewEvent, Owner, Repair, Result, SeqNum,
    SessionId, Timestamp, held_error,
};

use crate::dir::{APPEND_LOCK, EVENTS, KEPT, LEASE, LEASE_LOCK, SNAPSHOTS, SessionDir, TEMPORARY};
use crate::format::{Part, encode};
use crate::header::Header;
use crate::inspect::Inspected;
use crate::latest;
use crate::salvage::{Lost, Met};
use crate::slots::Slots;
use crate::snapshot::{self, Name};
use crate::tail::End;
use crate::verify::describe;
use sessionlog_local::files::{
    create_new, failed, failed_to_move, open_or_create, open_read, open_write, sync_dir, unique,
};
use sessionlog_local::lock::{Held, Probe, probe_whole};

/// The kind of the events that stand for lost ones.
const LOST: Kind = Kind::from_static("repair.lost");

/// Mends a session's folder, or says how it would be mended.
pub(crate) async fn session(dir: &SessionDir, id: &SessionId, apply: bool) -> Result<Repair> {
    let _lock = if apply { Some(lock(dir).await?) } else { None };
    let slots = match Slots::read(dir) {
        Ok(slots) => Some(slots),
        Err(e) if e.is_corrupt() => None,
        Err(e) => return Err(e),
    };
    refuse_if_driven(dir, slots.as_ref())?;
    let mut repair = Repair::default();
    log(dir, id, apply, &mut repair)?;
    token(dir, slots.as_ref(), apply, &mut repair)?;
    snapshots(dir, id, apply, &mut repair)?;
    Ok(repair)
}

/// Waits for the append lock, which may belong to a log that can't be opened.
async fn lock(dir: &SessionDir) -> Result<Held> {
    let path = dir.join(APPEND_LOCK);
    for _ in 0..1000 {
        let file = open_or_create(&path).map_err(failed("open", &path))?;
        if let Some(lock) = Held::whole(file).map_err(failed("lock", &path))? {
            return Ok(lock);
        }
        Delay::new(Duration::from_millis(10)).await;
    }
    Err(Error::unavailable(format!(
        "another process has been writing to the session for 10 seconds and holds its lock: {}",
        path.display()
    )))
}

fn refuse_if_driven(dir: &SessionDir, slots: Option<&Slots>) -> Result<()> {
    let holder = match slots {
        Some(slots) => crate::lease::held(dir, slots)?,
        None => match open_read(&dir.join(LEASE_LOCK)).map(|f| probe_whole(&f)) {
            Ok(Ok(Probe::Held)) => Some(crate::lease::holder(&Slots::default())?),
            _ => None,
        },
    };
    holder.map_or(Ok(()), |holder| Err(held_error(holder, None)))
}

fn log(dir: &SessionDir, id: &SessionId, apply: bool, repair: &mut Repair) -> Result<()> {
    let mut inspected = Inspected::new(dir, id)?;
    if inspected.header.is_some() && !inspected.proves_incarnation() {
        inspected.distrust();
    }
    let mut stretches: Vec<Lost> = Vec::new();
    let mut moved: Vec<Range<u64>> = Vec::new();
    let (mut mended, mut next) = (0_u64, SeqNum::ZERO);
    let path = dir.join(EVENTS);
    let walked: std::io::Result<()> = inspected.walk(|met| {
        match met {
            Met::Event(event) => {
                repair.events += 1;
                next = event.seq.plus(1);
            }
            Met::Mended(event) => {
                repair.events += 1;
                mended += 1;
                next = event.seq.plus(1);
            }
            Met::Moved(piece) => moved.push(piece),
            Met::Lost(lost) => {
                repair.lost += lost.until.get() - lost.from.get();
                next = lost.until;
                stretches.push(lost);
            }
        }
        Ok(())
    });
    walked.map_err(failed("read", &path))?;
    if let Some(what) = &inspected.header {
        repair.steps.push(format!("write a new first line: {what}"));
    }
    repair.steps.extend(stretches.iter().map(describe));
    repair.steps.extend(moved.iter().map(|piece| {
        format!(
            "put {} bytes from byte {} where the log goes on with them",
            piece.end - piece.start,
            piece.start
        )
    }));
    if mended > 0 {
        repair.steps.push(format!(
            "write the checksums of whole events anew: {mended}"
        ));
    }
    let rewrite =
        inspected.header.is_some() || mended > 0 || !stretches.is_empty() || !moved.is_empty();
    if let Some(torn) = &inspected.torn {
        repair.steps.push(format!(
            "cut a torn tail of {} bytes from byte {}",
            torn.len(),
            inspected.until
        ));
    }
    if !apply {
        return Ok(());
    }
    if rewrite {
        rewrite_log(dir, &inspected, repair)
    } else if let Some(torn) = &inspected.torn {
        let end = End {
            offset: inspected.until,
            head: {
                let mut head = Head::genesis(id, inspected.session.incarnation);
                head.tail = next;
                head
            },
        };
        let kept = crate::kept::keep_tail(dir, end, torn)?;
        repair.kept.push(dir.relative(&kept));
        open_write(&path)
            .and_then(|file| {
                file.set_len(inspected.until)?;
                file.sync_data()
            })
            .map_err(failed("cut", &path))
    } else {
        Ok(())
    }
}

/// Writes a new log beside the old one, keeps the old one, and puts the new one in its place.
fn rewrite_log(dir: &SessionDir, inspected: &Inspected, repair: &mut Repair) -> Result<()> {
    let path = dir.join(EVENTS);
    let kept = format!("events-{}.jsonl", unique());
    let relative = format!("{KEPT}/{kept}");
    let temporary = dir.join(&format!("{TEMPORARY}{}", unique()));
    let written = write_log(&temporary, inspected, &relative)
        .map_err(failed("write", &temporary))
        .and_then(|()| {
            if inspected.file.is_some() {
                let folder = crate::kept::folder(dir)?;
                let keep = folder.join(&kept);
                fs::hard_link(&path, &keep)
                    .or_else(|_| fs::copy(&path, &keep).map(drop))
                    .and_then(|()| File::open(&keep)?.sync_all())
                    .and_then(|()| sync_dir(&folder))
                    .map_err(failed("keep the damaged log as", &keep))?;
                repair.kept.push(dir.relative(&relative));
            }
            fs::rename(&temporary, &path)
                .and_then(|()| sync_dir(dir.path()))
                .map_err(failed_to_move(
                    "put the mended log in its place",
                    &temporary,
                ))
        });
    if written.is_err() {
        // The damaged log is still in its place; a copy that is left over is in nobody's way.
        drop(fs::remove_file(&temporary));
    }
    written
}

fn write_log(path: &std::path::Path, inspected: &Inspected, kept: &str) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, create_new(path)?);
    let header = Header {
        session: inspected.session.clone(),
        created: Timestamp::now(),
    };
    out.write_all(&header.encode())?;
    let mut head = Head::genesis(&inspected.session.id, inspected.session.incarnation);
    let mut line = Vec::new();
    let mut put = |out: &mut BufWriter<File>, new: NewEvent| {
        line.clear();
        encode(&mut line, &head.seal(new), Part::ALONE);
        out.write_all(&line)
    };
    inspected.walk(|met| match met {
        Met::Event(event) | Met::Mended(event) => put(&mut out, Event::into_new(event)),
        Met::Moved(_) => Ok(()),
        Met::Lost(lost) => (lost.from.get()..lost.until.get())
            .try_for_each(|_| put(&mut out, stand_in(&lost, kept)?)),
    })?;
    out.into_inner()?.sync_all()
}

/// The event that stands for one that is lost.
fn stand_in(lost: &Lost, kept: &str) -> std::io::Result<NewEvent> {
    let data = serde_json::json!({
        "reason": lost.reason,
        "kept": kept,
        "offset": lost.offset,
        "len": lost.len,
    });
    Ok(NewEvent {
        id: EventId::generate(),
        at: Timestamp::now(),
        kind: LOST,
        data: Data::from_value(&data).map_err(std::io::Error::other)?,
    })
}

/// Makes sure that tokens go on growing.
fn token(dir: &SessionDir, slots: Option<&Slots>, apply: bool, repair: &mut Repair) -> Result<()> {
    let owner = Owner::new("repair")?;
    let (slots, token) = match slots {
        Some(slots) if slots.is_damaged() => (slots, slots.newest()),
        Some(_) => return Ok(()),
        // Grants are counted, so the clock is far ahead of any of them.
        None => {
            let now = u64::try_from(Timestamp::now().as_micros()).unwrap_or(0);
            (&Slots::default(), FencingToken::new(now))
        }
    };
    repair
        .steps
        .push(format!("go on with lease token {token} in {LEASE}"));
    if apply {
        slots.write(dir, token, &owner)?;
    }
    Ok(())
}

/// Removes damaged snapshots and records of them: they are a cache.
fn snapshots(dir: &SessionDir, id: &SessionId, apply: bool, repair: &mut Repair) -> Result<()> {
    let Some(folder) = dir.folder(SNAPSHOTS) else {
        return Ok(());
    };
    let listed = match fs::read_dir(&folder) {
        Err(e) if e.kind() == Io::NotFound => return Ok(()),
        listed => listed.map_err(failed("list", &folder))?,
    };
    for entry in listed.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let damaged = match Name::read(&file) {
            Some(name) => snapshot::load(&entry.path(), &name).is_none(),
            None => latest::is_name(&file) && latest::load(dir, id, &file).is_none(),
        };
        if damaged {
            repair
                .steps
                .push(format!("remove a damaged snapshot: {file}"));
            if apply {
                fs::remove_file(entry.path()).map_err(failed("remove", &entry.path()))?;
            }
        }
    }
    Ok(())
}
