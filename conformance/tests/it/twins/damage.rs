//! Twins of the tutorial's backend that take a damaged journal for something else.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use sessionlog_conformance::{Capability, Medium, Options, Place, Subject};
use sessionlog_core::{Backend, Error, Result, Sum};

use super::{Fault, Faulty, must_fail_some, twins};
use crate::custom_backend::{Journal, Mine};

/// How much of a journal is whole lines that follow one another.
fn whole(text: &[u8]) -> usize {
    let (mut sum, mut len) = (Sum::from_u64(0), 0);
    for line in text.split_inclusive(|b| *b == b'\n') {
        let Some((said, json)) = line
            .strip_suffix(b"\n")
            .and_then(|l| l.split_at_checked(17))
        else {
            break;
        };
        sum = sum.then(json);
        if !said.starts_with(&sum.to_text()) {
            break;
        }
        len += line.len();
    }
    len
}

/// Whether there is damage: a last line that is torn is none, without its end or with zeros in it.
fn is_damaged(text: &[u8]) -> bool {
    let rest = &text[whole(text)..];
    match rest.iter().position(|b| *b == b'\n') {
        None => false,
        Some(end) => end + 1 < rest.len() || !rest.contains(&0),
    }
}

/// The same lines with the checksums that they should have.
fn resealed(text: &[u8]) -> Vec<u8> {
    let mut sum = Sum::from_u64(0);
    let line = |line: &[u8]| match line
        .strip_suffix(b"\n")
        .and_then(|l| l.split_at_checked(17))
    {
        Some((_, json)) => {
            sum = sum.then(json);
            [&sum.to_text()[..], b" ", json, b"\n"].concat()
        }
        None => line.to_vec(),
    };
    let lines: Vec<_> = text.split_inclusive(|b| *b == b'\n').map(line).collect();
    lines.concat()
}

/// What a twin takes the journal for.
fn taken(fault: Fault, mut text: Vec<u8>) -> Vec<u8> {
    match fault {
        Fault::ChecksNothing => resealed(&text),
        Fault::StopsAtDamage | Fault::CutsDamage if is_damaged(&text) => {
            text.truncate(whole(&text));
            text
        }
        Fault::PanicsOnDamage if is_damaged(&text) => panic!("a damaged journal"),
        _ => text,
    }
}

fn has_spoilt_tag(dir: &Path) -> bool {
    let mut entries = fs::read_dir(dir).unwrap().map(io::Result::unwrap);
    entries.any(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.starts_with("tag-") && entry.metadata().unwrap().len() > 0
    })
}

/// Whether a twin has a repair of its journal.
const fn mends(fault: Fault) -> bool {
    matches!(fault, Fault::RepairMiscounts | Fault::RepairCutsTheJournal)
}

/// Whether it says that it has one.
const fn salvages(fault: Fault) -> bool {
    mends(fault) || matches!(fault, Fault::RepairLeavesWritesRefused)
}

async fn open(place: &Place, fault: Fault) -> Result<Faulty> {
    let dir = place.dir();
    let path = dir.join("journal");
    let text = fs::read(&path).unwrap_or_default();
    if fault == Fault::CutsDamage && is_damaged(&text) {
        fs::write(&path, &text[..whole(&text)]).unwrap();
    }
    if fault == Fault::OneSpoilsAll && has_spoilt_tag(dir) {
        return Err(Error::unavailable("a tag has content"));
    }
    let opened = Journal::open_as(dir, |text| Ok(taken(fault, text))).await;
    let journal = match opened {
        Err(_) if mends(fault) && is_damaged(&text) => {
            let journal = Journal::open_as(dir, |text| {
                let len = whole(&text);
                Ok(text[..len].to_vec())
            });
            // A process that a test beside this one has just begun may have the lock still.
            let busy = |e| Error::unavailable("can't be opened").with_source(e);
            let journal = journal.await.map_err(busy)?;
            let mut twin = Faulty::new(Arc::new(journal) as Arc<dyn Backend>, fault);
            twin.dir = Some(dir.to_owned());
            twin.shared.busy.store(true, SeqCst);
            twin.shared.opened.store(1, SeqCst);
            return Ok(twin);
        }
        opened => opened.map_err(|e| Error::unavailable("can't be opened").with_source(e))?,
    };
    let mut twin = Faulty::new(Arc::new(journal) as Arc<dyn Backend>, fault);
    twin.dir = Some(dir.to_owned());
    let spoilt = fault == Fault::RepairLeavesWritesRefused && has_spoilt_tag(dir);
    twin.shared.busy.store(spoilt, SeqCst);
    Ok(twin)
}

macro_rules! over_damage {
    ($twin:ident, $fault:ident) => {
        impl Subject for $twin {
            type Backend = Faulty;
            const MEDIUM: Medium = Medium::Directory;
            const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
            const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
            const GROUP_COMMIT: Capability = Mine::GROUP_COMMIT;
            const ONE_WRITE_ONE_FLUSH: Capability = Mine::ONE_WRITE_ONE_FLUSH;
            const FINDS_LOST_ENDS: Capability = Mine::FINDS_LOST_ENDS;
            const SALVAGES: Capability = match salvages(Fault::$fault) {
                true => Capability::Yes,
                false => Mine::SALVAGES,
            };
            async fn open(place: &Place) -> Result<Faulty> {
                open(place, Fault::$fault).await
            }
        }
    };
}

twins! { "damage", over_damage;
    checks_nothing ChecksNothing [
        g01_an_append_to_a_damaged_store_is_right_or_refused,
        g15_damage_gives_the_right_answer_or_an_error,
        g15_verify_names_the_damage,
    ]
    stops_at_damage StopsAtDamage [
        g01_an_append_to_a_damaged_store_is_right_or_refused,
        g07_damage_brings_no_token_back,
        g15_damage_shortens_no_log_in_silence,
        g15_verify_names_the_damage,
    ]
    cuts_damage CutsDamage [
        g01_an_append_to_a_damaged_store_is_right_or_refused,
        g07_damage_brings_no_token_back,
        g15_damage_shortens_no_log_in_silence,
        g15_verify_names_the_damage,
        g16_damaged_files_stay_as_they_are,
    ]
    panics_on_damage PanicsOnDamage [
        g01_an_append_to_a_damaged_store_is_right_or_refused,
        g07_damage_brings_no_token_back,
        g15_damage_gives_the_right_answer_or_an_error,
        g15_damage_shortens_no_log_in_silence,
        g15_verify_names_the_damage,
        g16_damaged_files_stay_as_they_are,
    ]
    repair_miscounts RepairMiscounts [
        g15_repair_salvages_what_is_whole,
    ]
    repair_cuts_the_journal RepairCutsTheJournal [
        g15_repair_salvages_what_is_whole,
    ]
    repair_leaves_writes_refused RepairLeavesWritesRefused [
        g14_damage_to_one_session_leaves_the_others,
        g15_repair_salvages_what_is_whole,
    ]
    one_spoils_all OneSpoilsAll [
        g14_damage_to_one_session_leaves_the_others,
    ]
}

/// Who says that a list may have lost a name must tell of it.
#[test]
fn a_lost_name_that_nobody_tells_of_is_a_breach() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Faulty;
        const MEDIUM: Medium = Medium::Directory;
        const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
        const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
        const FINDS_LOST_ENDS: Capability = Mine::FINDS_LOST_ENDS;
        const FINDS_LOST_NAMES: Capability = Capability::No("a list reads tags");
        async fn open(place: &Place) -> Result<Faulty> {
            open(place, Fault::ListReadsTags).await
        }
    }
    const LAW: &str = "g15_damage_shortens_no_log_in_silence";
    must_fail_some::<Twin>(&Options::smoke(), &[LAW], |law| law.id == LAW);
}
