//! What the driver of the demo writes: a turn that breaks off behind a tool call.

use sessionlog::transcript::kinds;
use sessionlog::{Kind, NewEvent, Result};

/// The events, in order. The driver and who checks on it have the same.
const SCRIPT: &[(Kind, &str)] = &[
    (
        kinds::SESSION_STARTED,
        r#"{"directory":"/w/demo","harness":"sessionlog demo","model":"demo-1"}"#,
    ),
    (kinds::TURN_STARTED, r#"{"turn":"t1"}"#),
    (
        kinds::MESSAGE,
        r#"{"role":"user","message":{"role":"user","content":"How many files are here?"}}"#,
    ),
    (
        kinds::MESSAGE,
        r#"{"role":"assistant","model":"demo-1","calls":[{"id":"call-1","name":"bash"}],"message":{"role":"assistant","content":[{"type":"text","text":"I count them."},{"type":"tool_use","id":"call-1","name":"bash","input":{"command":"ls | wc -l"}}]}}"#,
    ),
    (
        kinds::MESSAGE,
        r#"{"role":"tool","results":[{"id":"call-1"}],"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"call-1","content":"12"}]}}"#,
    ),
    (
        kinds::MESSAGE,
        r#"{"role":"assistant","model":"demo-1","calls":[{"id":"call-2","name":"bash"}],"message":{"role":"assistant","content":[{"type":"text","text":"12. I look which is the largest."},{"type":"tool_use","id":"call-2","name":"bash","input":{"command":"ls -S | head -1"}}]}}"#,
    ),
];

/// The payloads of the script.
pub(super) fn payloads() -> impl ExactSizeIterator<Item = &'static str> {
    SCRIPT.iter().map(|(_, data)| *data)
}

/// The events of the script, to be appended now.
pub(super) fn events() -> impl Iterator<Item = Result<NewEvent>> {
    SCRIPT
        .iter()
        .map(|(kind, data)| NewEvent::json(kind.clone(), *data))
}
