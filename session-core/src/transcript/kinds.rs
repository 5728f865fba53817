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
    /// The session goes on under another id: [`Succeeded`](super::Succeeded).
    /// `{"by":"2026-05-04-zz99"}`
    SESSION_SUCCEEDED = "session.succeeded";
    /// Another session was forked from this one: [`Forked`](super::Forked).
    /// `{"into":"2026-05-04-zz99","at":12}`
    SESSION_FORKED = "session.forked";
    /// The events before this one, up to a position, are another session's:
    /// [`Origins`](super::Origins). `{"from":"2026-05-04-ab12","at":12}`
    SESSION_ORIGIN = "session.origin";
    /// The harness is about to be replaced by another: [`HandedOver`](super::HandedOver).
    /// `{"to":"mine/2.0","session":"2026-05-04-ab12"}`
    SESSION_HANDED_OVER = "session.handed_over";
    /// The session stops at a limit: [`Paused`](super::Paused).
    /// `{"reason":"usage limit","limit":"5 hours","until":"2026-05-04T12:00:00Z"}`
    SESSION_PAUSED = "session.paused";
    /// It goes on. `{}`
    SESSION_RESUMED = "session.resumed";
    /// The settings from here on: [`SettingsChanged`](super::SettingsChanged).
    /// `{"model":"m1","effort":"high","mode":"code"}`
    SETTINGS_CHANGED = "settings.changed";
    /// Something that only a provider understands: [`ProviderState`](super::ProviderState).
    /// `{"provider":"openai","state":{"previous_response_id":"resp_1"}}`
    PROVIDER_STATE = "provider.state";
    /// A message of the conversation: [`Message`](super::Message).
    /// `{"role":"user","message":{"role":"user","content":"hi"}}`
    MESSAGE = "message";
    /// The last messages are no longer part of the conversation: [`Rollback`](super::Rollback).
    /// `{"dropped":2}`
    ROLLBACK = "rollback";
    /// The conversation goes on behind another message: [`HeadMoved`](super::HeadMoved).
    /// `{"to":12}`
    HEAD = "head";
    /// A checkpoint that stands for what is before it: [`Compaction`](super::Compaction).
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
    /// A turn begins: [`TurnStarted`](super::TurnStarted).
    /// `{"turn":"t1"}`
    TURN_STARTED = "turn.started";
    /// A turn ends: [`TurnEnded`](super::TurnEnded).
    /// `{"turn":"t1","outcome":"complete"}`
    TURN_ENDED = "turn.ended";
    /// News of a running tool call; not part of the conversation. `{"call":"c1","text":"…"}`
    TOOL_PROGRESS = "tool.progress";
    /// A background process runs: [`ProcessStarted`](super::ProcessStarted).
    /// `{"process":"p1","pid":4711,"command":"npm start"}`
    PROCESS_STARTED = "process.started";
    /// It runs no more: [`ProcessExited`](super::ProcessExited).
    /// `{"process":"p1","code":0}`
    PROCESS_EXITED = "process.exited";
    /// A sub-agent begins: [`AgentStarted`](super::AgentStarted).
    /// `{"agent":"a1","call":"c1","prompt":"look for callers"}`
    AGENT_STARTED = "agent.started";
    /// It ends: [`AgentEnded`](super::AgentEnded). `{"agent":"a1","outcome":"complete"}`
    AGENT_ENDED = "agent.ended";
    /// A file was read: [`FileTouched`](super::FileTouched).
    /// `{"path":"src/a.rs","hash":"…"}`
    FILE_READ = "file.read";
    /// A file was changed: [`FileTouched`](super::FileTouched).
    /// `{"path":"src/a.rs","hash":"…","before":"…"}`
    FILE_CHANGED = "file.changed";
    /// The work tree as it was when the work began: [`GitBaseline`](super::GitBaseline).
    /// `{"commit":"3f2a9c1","branch":"main","dirty":false}`
    GIT_BASELINE = "git.baseline";
    /// A note of the harness to the user: [`Notice`](super::Notice).
    /// `{"text":"cancelled"}`
    NOTICE = "notice";
    /// A structured report: [`ReportFiled`](super::ReportFiled).
    /// `{"report":"review","body":{"verdict":"ok"}}`
    REPORT_FILED = "report.filed";
    /// A message between agents: [`ChannelSent`](super::ChannelSent).
    /// `{"channel":"build","from":"a1","text":"done"}`
    CHANNEL_SENT = "channel.sent";
    /// A trigger is set: [`TriggerEvent`](super::TriggerEvent).
    /// `{"trigger":"nightly","when":"02:00"}`
    TRIGGER_SET = "trigger.set";
    /// It fired: [`TriggerEvent`](super::TriggerEvent). `{"trigger":"nightly"}`
    TRIGGER_FIRED = "trigger.fired";
    /// It is set no more: [`TriggerEvent`](super::TriggerEvent). `{"trigger":"nightly"}`
    TRIGGER_REMOVED = "trigger.removed";
    /// A value of the scratchpad: [`ScratchpadSet`](super::ScratchpadSet).
    /// `{"key":"plan","value":["read","write"]}`
    SCRATCHPAD_SET = "scratchpad.set";
    /// A job has another state: [`JobChanged`](super::JobChanged).
    /// `{"job":"j1","state":"running"}`
    JOB_CHANGED = "job.changed";
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
