//! What a session is besides its conversations: each fold to its last state.

use sessionlog_core::transcript::*;
use sessionlog_core::*;

use crate::transcript_logs::{log, replay, user};

fn of(events: &[(Kind, &str)]) -> Transcript {
    let events: Vec<_> = events
        .iter()
        .map(|(k, json)| (k.clone(), (*json).to_owned()))
        .collect();
    replay(&log(&events))
}

#[test]
fn each_response_is_counted_once_and_no_cost_is_invented() {
    let part = |output: u64| {
        let json = format!(
            r#"{{"role":"assistant","response":"r1","model":"m1","usage":{{"input":10,"cache_read":90,"output":{output}}}}}"#
        );
        (kinds::MESSAGE, json)
    };
    let other = r#"{"role":"assistant","response":"r2","model":"m2","usage":{"output":5}}"#;
    let events = [
        part(1),
        (kinds::MESSAGE, other.into()),
        part(7),
        user("on"),
        part(9),
    ];
    let spending = replay(&log(&events)).spending().clone();
    let tokens = spending.tokens();
    assert_eq!(
        (tokens.input, tokens.cache_read, tokens.output),
        (10, 90, 14)
    );
    assert_eq!(spending.by_model()["m2"].output, 5);
    assert_eq!(spending.cache_hit_rate(), Some(0.9));
    assert_eq!(spending.cost(), None);
    let price = Price {
        input: 1e6,
        output: 1e6,
        ..Price::default()
    };
    assert_eq!(spending.cost_by(|_| Some(price)), Some(24.0));
    assert_eq!(
        spending.cost_by(|model| (model == "m1").then_some(price)),
        None
    );
}

#[test]
fn cumulative_counts_replace_each_other() {
    let report = |n: u64| format!(r#"{{"mode":"cumulative","input":{n},"cost":0.5}}"#);
    let events: Vec<_> = [5, 20, 20, 31]
        .map(|n| (kinds::USAGE_REPORTED, report(n)))
        .into();
    let spending = replay(&log(&events)).spending().clone();
    assert_eq!(spending.tokens().input, 31);
    assert_eq!(spending.cost(), Some(0.5));
}

#[test]
fn a_permission_waits_until_it_is_resolved_by_its_id() {
    let events = [
        (
            kinds::PERMISSION_REQUESTED,
            r#"{"id":"p1","tool":"bash","detail":"git push"}"#,
        ),
        (kinds::PERMISSION_REQUESTED, r#"{"id":"p2","tool":"bash"}"#),
        (
            kinds::PERMISSION_RESOLVED,
            r#"{"id":"p1","allowed":true,"rule":"git *","by":"person"}"#,
        ),
        (kinds::PERMISSION_RESOLVED, r#"{"id":"p9"}"#),
    ];
    let permissions = of(&events).permissions().clone();
    let waiting: Vec<_> = permissions
        .pending()
        .iter()
        .map(|p| p.request.id.as_str())
        .collect();
    assert_eq!(waiting, ["p2"]);
    assert_eq!(
        (permissions.granted(), permissions.refused()),
        (1, 1),
        "silence is no consent"
    );
    let owned: Vec<_> = events
        .iter()
        .map(|(k, j)| (k.clone(), (*j).to_owned()))
        .collect();
    let mut audit = Audit::default();
    log(&owned).iter().for_each(|event| audit.apply(event));
    let trail = audit.all();
    let (seq, resolved) = trail[0].resolved.as_ref().unwrap();
    assert_eq!((seq.get(), resolved.rule.as_deref()), (2, Some("git *")));
    assert_eq!(trail[1].resolved, None);
    assert_eq!(trail[2].asked, None);
}

#[test]
fn files_that_changed_outside_are_found() {
    let transcript = of(&[
        (kinds::GIT_BASELINE, r#"{"commit":"abc","dirty":true}"#),
        (kinds::FILE_READ, r#"{"path":"a","hash":"1"}"#),
        (
            kinds::FILE_CHANGED,
            r#"{"path":"a","hash":"2","before":"1"}"#,
        ),
        (kinds::FILE_READ, r#"{"path":"b","hash":"3"}"#),
        (kinds::FILE_CHANGED, r#"{"path":"gone","deleted":true}"#),
        (kinds::FILE_READ, r#"{"path":"unhashed"}"#),
    ]);
    let files = transcript.files();
    assert_eq!(files.baseline().unwrap().dirty, Some(true));
    assert_eq!(files.of("a").unwrap().changed, Some(SeqNum::new(2)));
    let disk = |path: &str| match path {
        "a" => Some("2".to_owned()),
        "gone" => Some("back".to_owned()),
        _ => None,
    };
    let changed = files.changed_outside(disk);
    let told: Vec<_> = changed
        .iter()
        .map(|c| (c.path.as_str(), c.now.as_deref()))
        .collect();
    assert_eq!(told, [("b", None), ("gone", Some("back"))]);
}

#[test]
fn everything_else_replays_to_its_last_state() {
    let transcript = of(&[
        (kinds::SESSION_STARTED, r#"{"directory":"/w","model":"m0"}"#),
        (
            kinds::SETTINGS_CHANGED,
            r#"{"effort":"high","run":"r1","tools":["a","b"]}"#,
        ),
        (kinds::MESSAGE, r#"{"role":"assistant","model":"m1"}"#),
        (
            kinds::PROVIDER_STATE,
            r#"{"provider":"x","state":{"h": 1}}"#,
        ),
        (kinds::PROCESS_STARTED, r#"{"process":"p1","pid":7}"#),
        (kinds::PROCESS_STARTED, r#"{"process":"p2"}"#),
        (kinds::PROCESS_EXITED, r#"{"process":"p1","code":0}"#),
        (kinds::SESSION_TITLED, r#"{"title":"Mine","by":"person"}"#),
        (kinds::SESSION_TITLED, r#"{"title":"derived"}"#),
        (kinds::SESSION_PAUSED, r#"{"limit":"5h"}"#),
        (kinds::REPORT_FILED, r#"{"report":"old","body":[1, 2]}"#),
        (kinds::FILE_CHANGED, r#"{"path":"a"}"#),
        (kinds::REPORT_FILED, r#"{"report":"new"}"#),
        (
            kinds::CHANNEL_SENT,
            r#"{"channel":"c","from":"a1","text":"x"}"#,
        ),
        (kinds::TRIGGER_SET, r#"{"trigger":"t","when":"02:00"}"#),
        (kinds::TRIGGER_FIRED, r#"{"trigger":"t"}"#),
        (kinds::SCRATCHPAD_SET, r#"{"key":"k","value":{"a": 1}}"#),
        (kinds::SCRATCHPAD_SET, r#"{"key":"l","value":1}"#),
        (kinds::SCRATCHPAD_SET, r#"{"key":"l"}"#),
        (kinds::JOB_CHANGED, r#"{"job":"j","state":"queued"}"#),
        (kinds::JOB_CHANGED, r#"{"job":"j","state":"running"}"#),
        (kinds::AGENT_STARTED, r#"{"agent":"a1","call":"c1"}"#),
        (kinds::AGENT_STARTED, r#"{"agent":"a2"}"#),
        (kinds::AGENT_ENDED, r#"{"agent":"a2","outcome":"complete"}"#),
        (kinds::TURN_STARTED, r#"{"turn":"t1"}"#),
        (kinds::NOTICE, r#"{"text":"hello"}"#),
        (kinds::SESSION_HANDED_OVER, r#"{"to":"x","session":"s"}"#),
    ]);
    let settings = transcript.settings();
    assert_eq!(settings.model.as_deref(), Some("m1"));
    assert_eq!(settings.tools.as_ref().unwrap().len(), 2);
    assert_eq!(settings.provider_state("x").unwrap().get(), r#"{"h": 1}"#);
    let running: Vec<_> = transcript
        .processes()
        .running()
        .map(|(seq, _)| seq.get())
        .collect();
    assert_eq!(running, [5]);
    assert_eq!(transcript.titles().title(), Some("Mine"));
    assert_eq!(
        transcript.notes().paused(),
        None,
        "the next turn ended the pause"
    );
    let reports: Vec<_> = transcript
        .notes()
        .reports()
        .map(|(n, r)| (n, r.current))
        .collect();
    assert_eq!(reports, [("new", true), ("old", false)]);
    assert_eq!(transcript.board().channels()["c"].sent, 1);
    assert_eq!(transcript.board().triggers()["t"].fired, 1);
    assert_eq!(
        transcript.board().scratch("k").unwrap().get(),
        r#"{"a": 1}"#
    );
    assert!(transcript.board().scratch("l").is_none());
    assert_eq!(transcript.board().jobs().next().unwrap().1.state, "running");
    let working: Vec<_> = transcript
        .sub_agents()
        .working()
        .map(|a| &a.started.agent)
        .collect();
    assert_eq!(working, ["a1"]);
    assert_eq!(transcript.turns().unfinished().count(), 1);
    assert_eq!(transcript.notes().notices().last().unwrap().1, "hello");
    assert!(transcript.lineage().handed_over.is_some());
    assert_eq!(transcript.oddities().count(), 0);
}

#[test]
fn payloads_that_do_not_fit_are_passed_over_and_told() {
    let transcript = of(&[
        (kinds::MESSAGE, "17"),
        (kinds::MESSAGE, r#"{"role":"robot"}"#),
        (kinds::HEAD, "{}"),
        (kinds::HEAD, r#"{"to":99}"#),
        (kinds::COMPACTION, "{}"),
        (kinds::PERMISSION_REQUESTED, "[]"),
        ("of.another".parse().unwrap(), "null"),
        (
            kinds::MESSAGE,
            r#"{"role":"user","message":{"role":"user","content":"hi"}}"#,
        ),
    ]);
    let told = transcript.oddities().all().iter();
    let told: Vec<_> = told
        .map(|o| (o.odd, o.kind.as_str(), o.count, o.first.get()))
        .collect();
    assert_eq!(
        told,
        [
            (Odd::Unfit, "message", 2, 0),
            (Odd::Unfit, "head", 1, 2),
            (Odd::NoSuchHead, "head", 1, 3),
            (Odd::EmptyCheckpoint, "compaction", 1, 4),
            (Odd::Unfit, "permission.requested", 1, 5),
        ]
    );
    assert_eq!(transcript.conversation(None).unwrap().items().len(), 1);
}

#[test]
fn every_standard_kind_has_an_example_that_fits() {
    let source = include_str!("../../src/transcript/kinds.rs");
    let mut examples = Vec::new();
    let mut doc = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            doc.push_str(text);
        } else if let Some((_, kind)) = line.split_once(" = \"") {
            let json = doc.split('`').find(|part| part.starts_with('{'));
            let json = json.unwrap_or_else(|| panic!("{kind} has no example"));
            let json = json.replace("{…}", "{}");
            examples.push((Kind::new(kind.trim_end_matches("\";")).unwrap(), json));
            doc.clear();
        }
    }
    assert_eq!(examples.len(), kinds::ALL.len());
    let log = log(&examples);
    let mut transcript = Transcript::default();
    log.iter().for_each(|event| transcript.apply(event));
    let unfit = transcript
        .oddities()
        .all()
        .iter()
        .filter(|odd| odd.odd == Odd::Unfit);
    assert_eq!(unfit.collect::<Vec<_>>(), Vec::<&Oddity>::new());
}
