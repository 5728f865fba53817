//! What replay hands to a model API is acceptable to it, at every prefix of every log (G20).

use proptest::prelude::*;
use sessionlog_core::transcript::{
    Conversation, Dialect, Origin, Role, Transcript, Why, check::check, kinds,
};
use sessionlog_core::*;

use crate::transcript_logs::{any_log, calls, load, log, replay, results, user};

const DIALECTS: [Dialect; 3] = [Dialect::Anthropic, Dialect::Chat, Dialect::Responses];

/// Checks a conversation in all dialects, and by its items.
fn assert_valid(conversation: &Conversation<'_>) {
    for dialect in DIALECTS {
        let rendered = conversation.render(dialect);
        if let Err(breach) = check(dialect, &rendered.messages) {
            panic!("{dialect:?} {breach}\n{}", rendered.to_json());
        }
    }
    let mut waiting: Vec<&str> = Vec::new();
    for item in conversation.items() {
        for id in &item.answers {
            let at = waiting.iter().position(|waiting| waiting == id);
            waiting.remove(at.expect("an answer has its call"));
        }
        if item.answers.is_empty() {
            assert!(waiting.is_empty(), "each call is answered directly");
        }
        waiting.extend(item.calls.iter().map(|(id, _)| *id));
    }
    assert!(waiting.is_empty());
}

fn every_prefix(log: &[Event]) {
    let mut transcript = Transcript::default();
    for at in 0..log.len() {
        transcript.apply(&log[at]);
        load(&mut transcript, &log[..=at]);
        for agent in [None, Some("x")] {
            assert_valid(&transcript.conversation(agent).unwrap());
        }
    }
}

proptest! {
    #[test]
    fn g20_every_prefix_of_every_log_is_valid(log in any_log(40)) {
        every_prefix(&log);
    }
}

proptest! {
    /// A snapshot at any position, and the events behind it, give what the whole log gives (G12).
    #[test]
    fn g12_a_snapshot_and_its_tail_are_the_whole(log in any_log(60), at in 0_usize..60) {
        let at = at.min(log.len());
        let mut first = replay(&log[..at]);
        let saved = serde_json::to_vec(&first).unwrap();
        let mut resumed: Transcript = serde_json::from_slice(&saved).unwrap();
        prop_assert_eq!(&serde_json::to_vec(&resumed).unwrap(), &saved);
        let whole = replay(&log);
        for transcript in [&mut first, &mut resumed] {
            log[at..].iter().for_each(|event| transcript.apply(event));
            load(transcript, &log);
            prop_assert_eq!(
                serde_json::to_string(transcript).unwrap(),
                serde_json::to_string(&whole).unwrap()
            );
            let told = |t: &Transcript| {
                let conversation = t.conversation(None).unwrap();
                let sent = conversation.render(Dialect::Anthropic).to_json();
                (sent, format!("{:?} {:?}", conversation.items(), conversation.set_aside()))
            };
            prop_assert_eq!(told(transcript), told(&whole));
            prop_assert_eq!(transcript.branches(None), whole.branches(None));
        }
    }
}

/// The seqs of the messages of the main conversation.
fn seqs(transcript: &Transcript) -> Vec<u64> {
    let conversation = transcript.conversation(None).unwrap();
    let items = conversation.items();
    let logged = items.iter().filter(|item| item.origin != Origin::Closing);
    logged.map(|item| item.seq.get()).collect()
}

proptest! {
    /// The tree in positions is the tree that a naive one with all paths in memory would be.
    #[test]
    fn g19_the_head_moves_as_in_a_tree_that_forgets_nothing(
        moves in prop::collection::vec((0_u8..10, 0_u64..50), 1..60)
    ) {
        let mut events: Vec<(Kind, String)> = Vec::new();
        // By position: the path to a message, in the order of the log; and which are checkpoints.
        let mut paths: std::collections::BTreeMap<u64, Vec<u64>> = Default::default();
        let mut parents = std::collections::BTreeSet::new();
        let mut checkpoints = std::collections::BTreeSet::new();
        let mut path: Vec<u64> = Vec::new();
        for (what, n) in moves {
            let seq = events.len() as u64;
            let mut event = (kinds::NOTICE, "{}".to_owned());
            match what {
                0 => {
                    event = (kinds::ROLLBACK, format!(r#"{{"dropped":{}}}"#, n % 5));
                    for _ in 0..n % 5 {
                        if path.last().is_some_and(|last| !checkpoints.contains(last)) {
                            path.pop();
                        }
                    }
                }
                // To what is no message the head does not move: the model leaves that out.
                1 if paths.contains_key(&n) => {
                    event = (kinds::HEAD, format!(r#"{{"to":{n}}}"#));
                    path = paths[&n].clone();
                }
                1 | 2 => {}
                3 => {
                    let kept = n % 2 == 0;
                    let from = if kept { n } else { seq };
                    event = (kinds::COMPACTION, format!(r#"{{"summary":"s","kept_from":{from}}}"#));
                    parents.extend(path.last().copied());
                    path.retain(|at| *at >= from && from < seq);
                    path.push(seq);
                    checkpoints.insert(seq);
                    paths.insert(seq, path.clone());
                }
                _ => {
                    event = user(&seq.to_string());
                    parents.extend(path.last().copied());
                    path.push(seq);
                    paths.insert(seq, path.clone());
                }
            }
            events.push(event);
            let log = log(&events);
            let first = path.iter().rfind(|at| checkpoints.contains(at)).copied();
            let rest = path.iter().copied().filter(|at| Some(*at) != first);
            let want: Vec<u64> = first.into_iter().chain(rest).collect();
            let transcript = replay(&log);
            prop_assert_eq!(seqs(&transcript), want);
            // Every message is still reachable: it lies in a branch.
            let tips = transcript.branches(None);
            for seq in paths.keys().filter(|seq| !parents.contains(seq)) {
                prop_assert!(tips.iter().any(|branch| branch.tip.get() == *seq));
            }
        }
    }
}

fn whys(transcript: &Transcript) -> Vec<Why> {
    let conversation = transcript.conversation(None).unwrap();
    conversation
        .set_aside()
        .iter()
        .map(|aside| aside.why)
        .collect()
}

fn closings(transcript: &Transcript) -> usize {
    let conversation = transcript.conversation(None).unwrap();
    let items = conversation.items();
    items
        .iter()
        .filter(|item| item.origin == Origin::Closing)
        .count()
}

#[test]
fn g20_a_call_386_events_back_is_closed_at_its_place() {
    let mut events = vec![user("go"), calls(Some("r0"), &["lost"])];
    for n in 0..96 {
        let (id, reply) = (format!("c{n}"), format!("r{}", n + 1));
        events.push(user("next"));
        events.push(calls(Some(&reply), &[&id]));
        events.push(results(&[&id]));
        events.push((kinds::TOOL_PROGRESS, "{}".into()));
    }
    let transcript = replay(&log(&events));
    let conversation = transcript.conversation(None).unwrap();
    let items = conversation.items();
    assert_eq!(items[2].origin, Origin::Closing);
    assert_eq!(items[2].answers, ["lost"]);
    assert_eq!(closings(&transcript), 1);
    assert!(conversation.open_calls().is_empty());
    assert_valid(&conversation);
}

#[test]
fn g20_late_double_and_unknown_answers_are_set_aside() {
    let events = [
        user("go"),
        calls(Some("r1"), &["a", "b"]),
        results(&["b"]),
        results(&["b"]),
        user("never mind"),
        calls(Some("r2"), &["c"]),
        results(&["a"]),
        results(&["nobody"]),
        results(&["c"]),
    ];
    let transcript = replay(&log(&events));
    assert_eq!(whys(&transcript), [Why::Double, Why::Late, Why::Unknown]);
    assert_eq!(closings(&transcript), 1);
    every_prefix(&log(&events));
}

#[test]
fn g20_a_steering_message_does_not_close_a_call() {
    let events = [
        user("go"),
        calls(Some("r"), &["a"]),
        user("faster"),
        results(&["a"]),
    ];
    let transcript = replay(&log(&events));
    assert_eq!(seqs(&transcript), [0, 1, 3, 2]);
    assert_eq!((closings(&transcript), whys(&transcript)), (0, vec![]));
}

#[test]
fn g20_no_half_pair_at_a_compaction_or_a_rollback() {
    let compaction = (kinds::COMPACTION, r#"{"summary":"so far"}"#.to_owned());
    let events = [
        user("go"),
        calls(Some("r"), &["a"]),
        compaction,
        results(&["a"]),
        user("on"),
    ];
    let transcript = replay(&log(&events));
    assert_eq!(
        (seqs(&transcript), whys(&transcript)),
        (vec![2, 4], vec![Why::Unknown])
    );

    let back = |n: u64| (kinds::ROLLBACK, format!(r#"{{"dropped":{n}}}"#));
    let mut events = vec![
        user("go"),
        calls(Some("r"), &["a", "b"]),
        results(&["a"]),
        results(&["b"]),
    ];
    events.push(back(1));
    events.push(user("on"));
    let transcript = replay(&log(&events));
    assert_eq!(
        (seqs(&transcript), closings(&transcript)),
        (vec![0, 1, 2, 5], 1)
    );
    events.push(back(99));
    assert_eq!(seqs(&replay(&log(&events))), Vec::<u64>::new());
}

#[test]
fn a_message_that_is_set_aside_is_not_counted_by_a_rollback() {
    let back = (kinds::ROLLBACK, r#"{"dropped":1}"#.to_owned());
    let events = [user("one"), user("two"), results(&["nobody"]), back];
    assert_eq!(seqs(&replay(&log(&events))), [0]);
}

#[test]
fn a_rollback_stops_at_a_compaction_and_the_head_goes_before_it() {
    let events = vec![
        user("one"),
        user("two"),
        (
            kinds::COMPACTION,
            r#"{"summary":"s","kept_from":1}"#.to_owned(),
        ),
        user("three"),
        (kinds::ROLLBACK, r#"{"dropped":9}"#.to_owned()),
    ];
    assert_eq!(seqs(&replay(&log(&events))), [2, 1]);
    let to = |seq: u64| (kinds::HEAD, format!(r#"{{"to":{seq}}}"#));
    let with = |more: &[(Kind, String)]| seqs(&replay(&log(&[&events[..], more].concat())));
    assert_eq!(with(&[to(1)]), [0, 1]);
    assert_eq!(with(&[to(1), user("other")]), [0, 1, 6]);
    assert_eq!(with(&[to(3)]), [2, 1, 3]);
    assert_eq!(with(&[to(1), to(3), to(2)]), [2, 1]);
    assert_eq!(with(&[to(4)]), [2, 1], "a rollback is no message");
    assert_eq!(
        with(&[(kinds::HEAD, r#"{"to":null}"#.into()), user("new")]),
        [6]
    );
}

#[test]
fn parts_of_a_reply_join_and_a_cut_one_is_marked() {
    let part = |text: &str, more: bool| {
        let json = format!(
            r#"{{"role":"assistant","response":"r","more":{more},"message":{{"role":"assistant","content":"{text}"}}}}"#
        );
        (kinds::MESSAGE, json)
    };
    let events = [
        user("go"),
        part("Hel", true),
        (kinds::NOTICE, "{}".into()),
        part("lo", true),
    ];
    let transcript = replay(&log(&events));
    let conversation = transcript.conversation(None).unwrap();
    let items = conversation.items();
    assert_eq!(items.len(), 2);
    assert!(items[1].cut && conversation.is_cut());
    assert_eq!(items[1].natives.len(), 2);
    let chat = conversation.render(Dialect::Chat);
    assert_eq!(
        chat.messages[1].get(),
        r#"{"role":"assistant","content":"Hello"}"#
    );
    let whole = (kinds::MESSAGE, r#"{"role":"assistant","response":"r","whole":true,"message":{"role":"assistant","content":"Hello!"}}"#.to_owned());
    let events = [&events[..], &[whole]].concat();
    let transcript = replay(&log(&events));
    let conversation = transcript.conversation(None).unwrap();
    let chat = conversation.render(Dialect::Chat);
    assert_eq!(
        chat.messages[1].get(),
        r#"{"role":"assistant","content":"Hello!"}"#
    );
    assert!(!conversation.is_cut() && chat.losses.is_empty());
    let back = (kinds::ROLLBACK, r#"{"dropped":1}"#.to_owned());
    assert_eq!(seqs(&replay(&log(&[&events[..], &[back]].concat()))), [0]);
}

#[test]
fn messages_go_out_as_they_came_in() {
    let chat = [
        r#"{"role": "system", "content": "be  brief"}"#,
        r#"{"content":"hi","role":"user","name":"x"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c.1","type":"function","function":{"name":"t","arguments":"{ }"}}],"x":1e400}"#,
        r#"{"role":"tool","tool_call_id":"c.1","content":[{"type":"text","text":"ok"}]}"#,
        r#"{"role":"assistant","content":"done"}"#,
    ];
    let anthropic = [
        r#"{"role":"user","content":[{"text":"hi","type":"text","cache_control":{"type":"ephemeral"}}]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"S"},{"type":"tool_use","id":"t1","name":"t","input":{ }}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"text","text":"and"}]}"#,
        r#"{"role":"assistant","content":"done"}"#,
    ];
    let responses = [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":"E"}"#,
        r#"{"type":"function_call","name":"t","arguments":"{}","call_id":"c1"}"#,
        r#"{"type":"function_call_output","call_id":"c1","output":"ok"}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#,
    ];
    for (dialect, natives) in [
        (Dialect::Chat, &chat[..]),
        (Dialect::Anthropic, &anthropic[..]),
        (Dialect::Responses, &responses[..]),
    ] {
        let role = |native: &str| {
            if native.contains("_output\"") {
                "tool".to_owned()
            } else if native.contains("\"reasoning\"") || native.contains("function_call") {
                "assistant".to_owned()
            } else {
                let at = native.find("\"role\"").unwrap() + 6;
                native[at..].split('"').nth(1).unwrap().to_owned()
            }
        };
        let events: Vec<_> = natives
            .iter()
            .map(|n| {
                (
                    kinds::MESSAGE,
                    format!(r#"{{"role":"{}","message":{n}}}"#, role(n)),
                )
            })
            .collect();
        let transcript = replay(&log(&events));
        let conversation = transcript.conversation(None).unwrap();
        let rendered = conversation.render(dialect);
        let out: Vec<_> = rendered.messages.iter().map(|m| m.get()).collect();
        assert_eq!(out, natives, "{dialect:?}");
        assert_eq!(rendered.losses, []);
        let items = conversation.items();
        let bytes: Vec<_> = items
            .iter()
            .flat_map(|i| &i.natives)
            .map(|n| n.get())
            .collect();
        assert_eq!(bytes, natives);
        assert_eq!(items[0].role == Role::System, dialect == Dialect::Chat);
        every_prefix(&log(&events));
    }
}

#[test]
fn nesting_that_would_break_a_stack_does_no_harm() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!(
        "{}1{}",
        r#"{"content":"#.repeat(100_000),
        "}".repeat(100_000)
    );
    let events: Vec<_> = [
        format!(r#"{{"role":"user","content":{deep}}}"#),
        format!(r#"{{"role":"user","content":{objects}}}"#),
        format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"t","input":{objects}}}]}}"#),
        format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":{deep}}}]}}"#),
    ]
    .iter()
    .enumerate()
    .map(|(n, native)| {
        let role = if n == 2 { "assistant" } else { "user" };
        (kinds::MESSAGE, format!(r#"{{"role":"{role}","message":{native}}}"#))
    })
    .collect();
    let log = log(&events);
    every_prefix(&log);
    let saved = serde_json::to_vec(&replay(&log)).unwrap();
    let resumed: Transcript = serde_json::from_slice(&saved).unwrap();
    assert_eq!(resumed.events(), 4);
}
