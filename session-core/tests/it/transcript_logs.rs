//! Logs of any shape, for the laws of replay.

use proptest::prelude::*;
use sessionlog_core::transcript::{Transcript, kinds};
use sessionlog_core::*;

/// A log with these payloads.
pub(crate) fn log(events: &[(Kind, String)]) -> Vec<Event> {
    let id: SessionId = "s".parse().unwrap();
    let life = Incarnation::from_bytes([7; 16]);
    let mut head = Head::genesis(&id, life);
    let new = |(kind, json): &(Kind, String)| NewEvent::json(kind.clone(), json.clone()).unwrap();
    events.iter().map(|event| head.seal(new(event))).collect()
}

/// Replay of a log, with what its branches need read again.
pub(crate) fn replay(log: &[Event]) -> Transcript {
    let mut transcript = Transcript::default();
    log.iter().for_each(|event| transcript.apply(event));
    load(&mut transcript, log);
    transcript
}

/// Reads the missing events of each conversation.
pub(crate) fn load(transcript: &mut Transcript, log: &[Event]) {
    let agents: Vec<Option<String>> = transcript.agents().map(|a| Some(a.to_owned())).collect();
    for agent in agents.iter().chain([&None]) {
        let missing = transcript.missing(agent.as_deref());
        let wanted = |event: &&Event| missing.iter().any(|range| range.contains(&event.seq));
        transcript.fill(agent.as_deref(), log.iter().filter(wanted));
        assert!(transcript.missing(agent.as_deref()).is_empty());
    }
}

pub(crate) fn user(text: &str) -> (Kind, String) {
    let text = serde_json::Value::from(text);
    (
        kinds::MESSAGE,
        format!(r#"{{"role":"user","message":{{"role":"user","content":{text}}}}}"#),
    )
}

/// A reply with calls in the Anthropic shape.
pub(crate) fn calls(response: Option<&str>, ids: &[&str]) -> (Kind, String) {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}"#))
        .collect();
    let named: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"id":"{id}","name":"t"}}"#))
        .collect();
    let response = response.map_or("null".into(), |id| format!("\"{id}\""));
    (
        kinds::MESSAGE,
        format!(
            r#"{{"role":"assistant","response":{response},"calls":[{}],"message":{{"role":"assistant","content":[{}]}}}}"#,
            named.join(","),
            blocks.join(",")
        ),
    )
}

/// Results in the Anthropic shape.
pub(crate) fn results(ids: &[&str]) -> (Kind, String) {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"of {id}"}}"#))
        .collect();
    let named: Vec<_> = ids.iter().map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    (
        kinds::MESSAGE,
        format!(
            r#"{{"role":"user","results":[{}],"message":{{"role":"user","content":[{}]}}}}"#,
            named.join(","),
            blocks.join(",")
        ),
    )
}

fn id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b", "c", "a b|c", "call_1_0"]).prop_map(str::to_owned)
}

fn quoted() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        r#""text""#,
        r#""""#,
        r#"" ""#,
        r#""\ud800 half""#,
        r#""a\nb""#,
        r#""\ud83d\ude00""#,
    ])
    .prop_map(str::to_owned)
}

fn input() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "{}",
        r#"{"n":1e400}"#,
        "[1]",
        r#""{\"a\":1}""#,
        r#""not json""#,
        r#""""#,
        "null",
        "7",
    ])
    .prop_map(str::to_owned)
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        quoted().prop_map(|t| format!(r#"{{"type":"text","text":{t}}}"#)),
        quoted().prop_map(|t| format!(r#"{{"type":"input_text","text":{t}}}"#)),
        quoted().prop_map(|t| format!(r#"{{"type":"thinking","thinking":{t}}}"#)),
        (id(), input()).prop_map(|(id, input)| format!(
            r#"{{"type":"tool_use","id":"{id}","name":"t","input":{input}}}"#
        )),
        (id(), quoted(), any::<bool>()).prop_map(|(id, t, e)| format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":{t},"is_error":{e}}}"#
        )),
        (id(), block_text()).prop_map(|(id, t)| format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":[{t}]}}"#
        )),
        Just(
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}"#
                .into()
        ),
        Just(r#"{"type":"image_url","image_url":{"url":"https://x/y.png"}}"#.into()),
        Just(r#"{"type":"new_kind","x":[1]}"#.into()),
        Just("17".into()),
        Just(r#""loose""#.into()),
    ]
}

fn block_text() -> impl Strategy<Value = String> {
    quoted().prop_map(|t| format!(r#"{{"type":"text","text":{t}}}"#))
}

fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(block(), 0..4).prop_map(|b| format!("[{}]", b.join(","))),
        2 => quoted(),
        1 => Just("null".into()),
        1 => Just("{}".into()),
    ]
}

fn role() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "user",
        "assistant",
        "assistant",
        "system",
        "developer",
        "tool",
    ])
}

/// A provider's message, of any shape or of none.
pub(crate) fn native() -> impl Strategy<Value = String> {
    let chat_call = (id(), input()).prop_map(|(id, input)| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":{input}}}}}"#
        )
    });
    prop_oneof![
        4 => (role(), content()).prop_map(|(r, c)| format!(r#"{{"role":"{r}","content":{c}}}"#)),
        3 => (content(), prop::collection::vec(chat_call, 0..3)).prop_map(|(c, calls)| format!(
            r#"{{"role":"assistant","content":{c},"tool_calls":[{}]}}"#, calls.join(",")
        )),
        2 => (id(), content()).prop_map(|(id, c)| format!(
            r#"{{"role":"tool","tool_call_id":"{id}","content":{c}}}"#
        )),
        2 => (id(), input()).prop_map(|(id, input)| format!(
            r#"{{"type":"function_call","call_id":"{id}","name":"t","arguments":{input}}}"#
        )),
        1 => (id(), content()).prop_map(|(id, c)| format!(
            r#"{{"type":"function_call_output","call_id":"{id}","output":{c}}}"#
        )),
        1 => Just(r#"{"type":"custom_tool_call","call_id":"a","name":"t","input":"x"}"#.into()),
        1 => Just(r#"{"type":"reasoning","summary":[]}"#.into()),
        1 => Just("[]".into()),
        1 => Just("null".into()),
    ]
}

fn named(n: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(id(), 0..n).prop_map(|ids| {
        let all: Vec<_> = ids
            .iter()
            .map(|id| format!(r#"{{"id":"{id}","name":"t"}}"#))
            .collect();
        format!("[{}]", all.join(","))
    })
}

fn message() -> impl Strategy<Value = (Kind, String)> {
    let response = prop::sample::select(vec!["null", r#""r1""#, r#""r2""#, r#""r3""#]);
    let agent = prop::sample::select(vec!["null", "null", "null", r#""x""#]);
    let flags = prop::sample::select(vec!["", r#","more":true"#, r#","whole":true"#]);
    let link = (0_u8..12, 0_u8..12).prop_map(|(id, parent)| match (id, parent) {
        (0..6, _) => String::new(),
        (_, 0) => format!(r#","source":{{"id":"{id}"}}"#),
        _ => format!(r#","source":{{"id":"{id}","parent":"{parent}"}}"#),
    });
    let neutral = prop_oneof![
        3 => Just(String::new()),
        2 => named(4).prop_map(|n| format!(r#","calls":{n}"#)),
        2 => named(3).prop_map(|n| format!(r#","results":{n}"#)),
    ];
    (role(), agent, response, flags, link, neutral, native()).prop_map(
        |(role, agent, response, flags, link, neutral, native)| {
            let json = format!(
                r#"{{"role":"{role}","agent":{agent},"response":{response}{flags}{link}{neutral},"message":{native}}}"#
            );
            (kinds::MESSAGE, json)
        },
    )
}

fn compaction() -> impl Strategy<Value = (Kind, String)> {
    prop_oneof![
        (quoted(), 0_u64..40)
            .prop_map(|(t, kept)| format!(r#"{{"summary":{t},"kept_from":{kept}}}"#)),
        quoted().prop_map(|t| format!(r#"{{"summary":{t}}}"#)),
        prop::collection::vec(native(), 0..4)
            .prop_map(|n| format!(r#"{{"replacement":[{}]}}"#, n.join(","))),
        Just(r#"{"cleared":true}"#.into()),
        Just(r#"{"agent":"x","summary":"s"}"#.into()),
        Just(r#"{"source":{"id":"7","logical_parent":"9"}}"#.into()),
    ]
    .prop_map(|json| (kinds::COMPACTION, json))
}

fn odd() -> impl Strategy<Value = (Kind, String)> {
    let kind = prop::sample::select(kinds::ALL.to_vec());
    let json = prop::sample::select(vec![
        "null",
        "[]",
        "17",
        "{}",
        r#"{"role":7}"#,
        r#"{"id":[]}"#,
        r#"{"dropped":-1}"#,
        r#"{"id":"p1"}"#,
        r#"{"role":"assistant","calls":[{"id":"a"}]}"#,
        r#"{"to":"x"}"#,
        r#"{"source":{"id":"8","parent":"6"}}"#,
        r#"{"agent":"x","process":"p","path":"f"}"#,
    ]);
    (kind, json).prop_map(|(kind, json)| (kind, json.to_owned()))
}

/// Any event.
pub(crate) fn event() -> impl Strategy<Value = (Kind, String)> {
    let simple = prop::sample::subsequence(vec!["a", "b", "c"], 1..3);
    prop_oneof![
        6 => message(),
        3 => (simple.clone(), prop::sample::select(vec![None, Some("r1"), Some("r2")]))
            .prop_map(|(ids, response)| calls(response, &ids)),
        3 => simple.prop_map(|ids| results(&ids)),
        2 => Just(user("go on")),
        1 => (0_u64..5).prop_map(|n| (kinds::ROLLBACK, format!(r#"{{"dropped":{n}}}"#))),
        1 => (0_u64..60).prop_map(|to| (kinds::HEAD, format!(r#"{{"to":{to}}}"#))),
        1 => compaction(),
        1 => odd(),
    ]
}

/// A log of any shape.
pub(crate) fn any_log(most: usize) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..most).prop_map(|events| log(&events))
}
