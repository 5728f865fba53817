//! No space is left: the append that failed is not there, and the next one works.

use std::fs;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_crashfs::{Fault, FaultKind, Op, Recorder, armed};
use sessionlog_testkit::child::{part, run_behind};

/// A limit on the length of files stands for a full disk: a write is cut short, the next fails.
#[test]
fn an_append_that_does_not_fit_leaves_the_log_as_it_was() {
    for ahead in ["0", "4096"] {
        let dir = tempfile::tempdir().unwrap();
        let (small, path) = ("trap '' XFSZ; ulimit -f 64", dir.path().join("store"));
        run_behind(small, "full::child_without_space", &path, ahead);
        let store = open(&dir);
        let (session, _) = block_on(store.head(&id("s"))).unwrap();
        assert_eq!(
            texts(&read(&store, &session).unwrap()),
            ["1", "2", "3", "4"]
        );
        assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    }
}

#[test]
fn child_without_space() {
    let Some((path, ahead)) = part() else {
        return;
    };
    let options = Options::default().write_ahead(ahead.parse().unwrap());
    let store = Jsonl::open(path, options).unwrap();
    let session = SessionRef::fresh(id("s"));
    block_on(store.create(&session)).unwrap();
    let huge = format!("\"{}\"", "x".repeat(200_000));
    for text in ["1", "2", "3"] {
        append(&store, &session, &[text]).unwrap();
        let log = fs::read(log_path(&store, "s")).unwrap();
        for _ in 0..2 {
            let error = append(&store, &session, &[&huge]).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(std::error::Error::source(&error).is_some());
        }
        let now = fs::read(log_path(&store, "s")).unwrap();
        assert_eq!(now.trim_ascii_end(), log.trim_ascii_end());
        assert_eq!(
            read(&store, &session).unwrap().len() as u64,
            tail(&store, &session)
        );
        let content = Box::pin(futures_util::stream::iter([Ok(huge.clone().into())]));
        assert!(block_on(store.put(&session, content, None)).is_err());
    }
    assert_eq!(
        fs::read_dir(store.path().join("s/blobs")).unwrap().count(),
        0
    );
    append(&store, &session, &["4"]).unwrap();
}

/// A commit is one write, whatever the system takes of it: a power loss could take either of two, and
/// nobody would know what is left for a commit that was broken off.
#[test]
fn a_write_of_which_a_part_was_taken_is_done_as_a_whole_or_not_at_all() {
    armed().unwrap();
    for (ahead, lasting) in [(0, false), (0, true), (4096, false), (4096, true)] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::default().write_ahead(ahead);
        let store = Jsonl::open(dir.path(), options).unwrap();
        let session = SessionRef::fresh(id("s"));
        block_on(store.create(&session)).unwrap();
        append(&store, &session, &["1"]).unwrap();
        let log = fs::read(log_path(&store, "s")).unwrap();
        let end = log.trim_ascii_end().len() as u64 + 1;

        let recorder = Recorder::new(dir.path()).unwrap();
        recorder.inject(Fault {
            kind: FaultKind::ShortWrite,
            at: 1,
            lasting,
        });
        let told = append(&store, &session, &["2"]);
        recorder.heal();
        let record = recorder.finish().unwrap();
        let calls = record.ops.iter().filter_map(|op| match op {
            Op::Write { at, .. } => Some(("write", *at)),
            Op::Truncate { len, .. } => Some(("cut", *len)),
            Op::Flush { .. } => Some(("flush", end)),
            _ => None,
        });
        let mut expected = vec!["write", "cut", "flush", "write"];
        match lasting {
            true => {
                let error = told.unwrap_err();
                assert_eq!(*error.kind(), ErrorKind::Unavailable);
                let source = std::error::Error::source(&error).unwrap();
                assert!(source.to_string().contains("the disk is full"), "{source}");
                expected.extend(["cut", "flush"]);
            }
            false => {
                told.unwrap();
                expected.push("flush");
            }
        }
        let expected: Vec<_> = expected.into_iter().map(|call| (call, end)).collect();
        assert_eq!(calls.collect::<Vec<_>>(), expected);

        append(&store, &session, &["3"]).unwrap();
        let all = if lasting {
            &["1", "3"][..]
        } else {
            &["1", "2", "3"]
        };
        assert_eq!(texts(&read(&store, &session).unwrap()), all);
    }
}
