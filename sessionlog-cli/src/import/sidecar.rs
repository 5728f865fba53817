//! kvit-coder's `meta.json`, beside the history.

use std::path::Path;

use serde_json::json;
use serde_json::value::RawValue;
use sessionlog::transcript::{SessionStarted, Source, Title, TitleBy, Usage, UsageMode, kinds};
use sessionlog::{Kind, Result};

use super::Format;
use super::clock::Clock;
use super::dialect::Mapped;
use super::feed::Draft;
use super::fields::Fields;
use super::payload::{Kept, payload};
use super::relation::Sidecar;
use super::write::unreadable;

/// A larger file of that name is not one of kvit-coder's.
const LARGEST: u64 = 1 << 20;
const NAME: &str = "meta.json";

/// Reads the file, if it is there and is text. A link is not followed, as nowhere in a folder, and a
/// pipe would be waited for.
pub(crate) fn read(path: &Path) -> Result<Option<Sidecar>> {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(path, e)),
    };
    if !meta.is_file() || meta.len() > LARGEST {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, e))?;
    Ok(String::from_utf8(bytes)
        .ok()
        .map(|text| Sidecar { name: NAME, text }))
}

/// The events that the file becomes: the first keeps its text. `first` when the session begins with
/// it; later it only says what changed.
pub(crate) fn drafts(sidecar: &Sidecar, clock: &mut Clock, first: bool) -> Result<Vec<Draft>> {
    let meta = serde_json::from_str::<&RawValue>(&sidecar.text)
        .map(Fields::of)
        .unwrap_or_default();
    let time = if first { "created" } else { "updated" };
    let at = meta.time(time);
    let mut all = Vec::new();
    let mut add = |kind: Kind, value: serde_json::Value, kept: Kept<'_>| -> Result<()> {
        let mapped = Mapped::record(None).means(kind, &value);
        let source = Source {
            format: Format::KvitCoder.name().to_owned(),
            file: Some(sidecar.name.to_owned()),
            part: u32::try_from(all.len()).unwrap_or(u32::MAX),
            ..Source::default()
        };
        let at = clock.next(at);
        all.push(Draft {
            kind: mapped.kind,
            at,
            data: payload(&mapped.neutral, &source, kept)?,
            clock: *clock,
            len: 0,
            damage: None,
            unknown: None,
        });
        Ok(())
    };
    let text = Kept::Text(&sidecar.text);
    let value = |payload: serde_json::Result<serde_json::Value>| payload.unwrap_or_default();
    if first && !meta.is_empty() {
        let started = value(serde_json::to_value(started(&meta)));
        add(kinds::SESSION_STARTED, started, text)?;
    } else {
        add(kinds::IMPORT_RECORD, json!({}), text)?;
    }
    if let Some(title) = meta.filled("title") {
        let by = TitleBy::Derived;
        let title = value(serde_json::to_value(Title { title, by }));
        add(kinds::SESSION_TITLED, title, Kept::Nothing)?;
    }
    if let Some(cost) = meta.float("cost").filter(|cost| *cost > 0.0) {
        let usage = Usage {
            mode: UsageMode::Cumulative,
            cost: Some(cost),
            ..Usage::default()
        };
        add(
            kinds::USAGE_REPORTED,
            value(serde_json::to_value(usage)),
            Kept::Nothing,
        )?;
    }
    if let Some(next) = meta.filled("succeeded_by") {
        add(
            kinds::SESSION_SUCCEEDED,
            json!({ "by": next }),
            Kept::Nothing,
        )?;
    }
    Ok(all)
}

fn started(meta: &Fields<'_>) -> SessionStarted {
    SessionStarted {
        directory: meta.filled("workspace"),
        harness: Some("kvit-coder".to_owned()),
        model: meta.filled("model"),
        parent: meta.filled("parent"),
        ..SessionStarted::default()
    }
}
