//! The importers: whatever is in a file, it is kept, and given back byte for byte.
#![no_main]

use pollster::block_on;
use sessionlog::transcript::Transcript;
use sessionlog::{Memory, Store};
use sessionlog_cli::export::original;
use sessionlog_cli::import::{Format, Options, Status, import_file, scan};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [which, content @ ..] = data else {
        return;
    };
    let formats = Format::ALL.iter().map(|format| Some(*format)).chain([None]);
    let format = formats.cycle().nth(usize::from(*which)).flatten();
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("rollout-0.jsonl");
    std::fs::write(&path, content).expect("a file");
    let store = Store::new(Memory::new());
    let Ok(found) = scan(&[path], format) else {
        return;
    };
    let options = Options {
        format,
        ..Options::default()
    };
    for candidate in &found.candidates {
        let Ok(outcome) = block_on(import_file(&store, candidate, &options, &mut |_| ())) else {
            continue;
        };
        let Some(id) = outcome
            .session
            .filter(|_| outcome.status == Status::Imported)
        else {
            continue;
        };
        let session = block_on(store.open(&id)).expect("what was imported is there");
        let mut back = Vec::new();
        block_on(original(&session, &mut back)).expect("what was imported can be exported");
        assert!(back == content, "the file came back with other bytes");
        let again = block_on(import_file(&store, candidate, &options, &mut |_| ()));
        let again = again.expect("an import can be repeated");
        assert_eq!(
            again.session,
            Some(id),
            "a repeated import is another session"
        );
        block_on(session.project::<Transcript>()).expect("an import can be replayed");
        block_on(store.cards()).expect("an import can be listed");
    }
});
