//! A store with a program on it.

use std::ffi::OsString;

use serde_json::Value;
use sessionlog::{Kind, LeaseRequest, Memory, NewEvent, Owner, Session, Store, Timestamp, Writer};
use sessionlog_cli::{App, Terminal, run};

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output, when it worked.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The complaint, when it ended with this code.
    #[track_caller]
    pub(crate) fn failed(self, code: u8) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.err
    }

    /// The lines of JSON, when it worked.
    #[track_caller]
    pub(crate) fn json(self) -> Vec<Value> {
        json_lines(&self.ok())
    }
}

#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// A store in memory, and who sits at the program.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) terminal: Terminal,
    pub(crate) input: Vec<u8>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            store: Store::new(Memory::new()),
            terminal: Terminal::default(),
            input: Vec::new(),
        }
    }

    /// Runs the program with arguments, parted by spaces.
    pub(crate) fn run(&self, args: &str) -> Ran {
        let args = std::iter::once("sessionlog").chain(args.split_whitespace());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = run(
            args.map(OsString::from),
            &mut App {
                out: &mut out,
                err: &mut err,
                input: &mut &*self.input,
                terminal: self.terminal,
                vars: Vec::new(),
                store: Some(self.store.clone()),
            },
        )
        .code();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code,
            out: text(out),
            err: text(err),
        }
    }

    /// Makes a session with events, a minute apart.
    pub(crate) fn session(&self, id: &str, events: &[(&str, &str)]) -> Session {
        let session = pollster::block_on(self.store.create(id.parse().unwrap())).unwrap();
        let events = events.iter().zip(0..).map(|((kind, data), n)| {
            let start = 1_777_881_600_000 + n * 60_000;
            NewEvent::json(Kind::new(kind).unwrap(), (*data).to_owned())
                .unwrap()
                .with_time(Timestamp::from_millis(start).unwrap())
        });
        pollster::block_on(session.append(events.collect())).unwrap();
        session
    }

    /// Appends events to a session that is there.
    pub(crate) fn append(&self, id: &str, events: &[(&str, &str)]) {
        let session = pollster::block_on(self.store.open(&id.parse().unwrap())).unwrap();
        let new = |(kind, data): &(&str, &str)| {
            NewEvent::json(Kind::new(kind).unwrap(), (*data).to_owned()).unwrap()
        };
        pollster::block_on(session.append(events.iter().map(new).collect())).unwrap();
    }

    /// A session in the middle of a turn.
    pub(crate) fn interrupted(&self, id: &str) -> Session {
        self.session(id, INTERRUPTED)
    }
}

/// Takes the lease of a session.
pub(crate) fn drive(session: &Session) -> Writer {
    let request = LeaseRequest::new(Owner::new("the test").unwrap());
    pollster::block_on(session.acquire(request)).unwrap()
}

/// A conversation that breaks off behind a tool call.
pub(crate) const INTERRUPTED: &[(&str, &str)] = &[
    (
        "session.started",
        r#"{"directory":"/w/p","branch":"main","harness":"mine","model":"m1"}"#,
    ),
    ("turn.started", r#"{"turn":"t1"}"#),
    (
        "message",
        r#"{"role":"user","message":{"role":"user","content":"list the files"}}"#,
    ),
    (
        "message",
        r#"{"role":"assistant","model":"m1","response":"r1","calls":[{"id":"c1","name":"bash"}],"usage":{"key":"r1","input":10,"cache_read":5,"output":4},"message":{"role":"assistant","content":"I look."}}"#,
    ),
    (
        "permission.requested",
        r#"{"id":"p1","tool":"bash","detail":"ls"}"#,
    ),
];
