//! The standard kinds, each with an example of its payload.

use crate::Kind;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Kind = Kind::from_static($text);)*

        /// All standard kinds.
        pub const ALL: &[Kind] = &[$($name),*];
    };
}

kinds! {
    /// What is known when a session begins: [`SessionStarted`](super::SessionStarted).
    /// `{"directory":"/w/p","branch":"main","harness":"mine","version":"1.2"}`
    SESSION_STARTED = "session.started";
    /// A title: [`Title`](super::Title). `{"title":"Fix the parser","by":"person"}`
    SESSION_TITLED = "session.titled";
    /// The session goes on under another id. `{"by":"2026-05-04-zz99"}`
    SESSION_SUCCEEDED = "session.succeeded";
    /// The settings from here on: [`SettingsChanged`](super::SettingsChanged).
    /// `{"model":"m1","effort":"high","mode":"code"}`
    SETTINGS_CHANGED = "settings.changed";
    /// A message of the conversation: [`Message`](super::Message).
    /// `{"role":"user","message":{"role":"user","content":"hi"}}`
    MESSAGE = "message";
    /// The last messages are no longer part of the conversation. `{"dropped":2}`
    ROLLBACK = "rollback";
    /// The conversation goes on behind another message. `{"to":12}`
    HEAD = "head";
    /// A checkpoint that stands for what is before it.
    /// `{"summary":"…","objective":"…","next_steps":["…"]}`
    COMPACTION = "compaction";
    /// Tokens and cost as the provider reported them: [`Usage`](super::Usage).
    /// `{"input":10,"cache_read":0,"cache_write":380,"output":4}`
    USAGE_REPORTED = "usage.reported";
    /// An action waits for leave: [`PermissionRequested`](super::PermissionRequested).
    /// `{"id":"p1","tool":"bash","detail":"git push"}`
    PERMISSION_REQUESTED = "permission.requested";
    /// Leave was given or refused: [`PermissionResolved`](super::PermissionResolved).
    /// `{"id":"p1","allowed":true,"rule":"git *","by":"person"}`
    PERMISSION_RESOLVED = "permission.resolved";
    /// A turn begins. `{"turn":"t1"}`
    TURN_STARTED = "turn.started";
    /// A turn ends. `{"turn":"t1","outcome":"complete"}`
    TURN_ENDED = "turn.ended";
    /// News of a running tool call; not part of the conversation. `{"call":"c1","text":"…"}`
    TOOL_PROGRESS = "tool.progress";
    /// A background process runs. `{"process":"p1","pid":4711,"command":"npm start"}`
    PROCESS_STARTED = "process.started";
    /// It runs no more. `{"process":"p1","code":0}`
    PROCESS_EXITED = "process.exited";
    /// A sub-agent begins: [`AgentStarted`](super::AgentStarted).
    /// `{"agent":"a1","call":"c1","prompt":"look for callers"}`
    AGENT_STARTED = "agent.started";
    /// It ends: [`AgentEnded`](super::AgentEnded). `{"agent":"a1","outcome":"complete"}`
    AGENT_ENDED = "agent.ended";
    /// A file was read. `{"path":"src/a.rs","hash":"…"}`
    FILE_READ = "file.read";
    /// A file was changed. `{"path":"src/a.rs","hash":"…","before":"…"}`
    FILE_CHANGED = "file.changed";
    /// A note of the harness to the user. `{"text":"cancelled"}`
    NOTICE = "notice";
    /// An import began. `{"format":"codex","file":"rollout.jsonl"}`; of the log of a sub-agent with
    /// the session that it belongs to, in `parent`.
    IMPORT_STARTED = "import.started";
    /// A record of another tool that no other kind fits; see [`Source`](super::Source).
    /// `{"source":{"format":"claude-code","line":1,"type":"mode"},"record":{…}}`; a line that is
    /// blank has its `text` in place of a record, one that is too large for an event a `blob`.
    IMPORT_RECORD = "import.record";
    /// Bytes of an imported file that are no record, as text with escapes, or in base64.
    /// `{"source":{"format":"codex","line":7},"reason":"not JSON: …","text":"{\"a\":"}`
    IMPORT_DAMAGED = "import.damaged";
    /// An import ended. `{"lines":120,"bytes":48211,"sha256":"…","final_newline":false}`
    IMPORT_FINISHED = "import.finished";
    /// A position whose event was lost, put there by a repair. `{"reason":"…","kept":"…"}`
    REPAIR_LOST = "repair.lost";
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_kind_stands_twice() {
        let mut all: Vec<_> = super::ALL.iter().map(crate::Kind::as_str).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), super::ALL.len());
    }
}
