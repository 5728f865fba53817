//! Real sessions: the counts that an independent script made, and the same bytes back.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside of test functions"
)]

use std::collections::{BTreeMap, BTreeSet};

use pollster::block_on;
use sessionlog::Card;
use sessionlog::transcript::{Message, Role, Tokens, kinds};
use sessionlog_cli::import::{Format, Outcome, Status};

use crate::import_support::{Files, assert_same, data};

struct Wanted {
    file: &'static str,
    format: Format,
    id: &'static str,
    lines: u64,
    /// Replies of Claude by their id, message items of Codex.
    assistant: usize,
    /// User lines of Claude without results, events of what a person typed of Codex.
    prompts: usize,
    calls: usize,
    results: usize,
    unanswered: usize,
    /// input, `cache_read`, `cache_write`, output, reasoning
    tokens: [u64; 5],
    first: &'static str,
    last: &'static str,
    models: &'static [&'static str],
    title: &'static str,
    directory: &'static str,
    branch: Option<&'static str>,
}

const CLAUDE: Format = Format::ClaudeCode;
const OPUS: &[&str] = &["claude-opus-4-5-20251101"];

const WANTED: &[Wanted] = &[
    Wanted {
        file: "cc01.jsonl",
        format: CLAUDE,
        id: "5a3bb1",
        lines: 6,
        assistant: 1,
        prompts: 1,
        calls: 1,
        results: 0,
        unanswered: 1,
        tokens: [10, 0, 38385, 4, 0],
        first: "2026-01-13T00:00:39.236Z",
        last: "2026-01-13T00:00:49.444Z",
        models: OPUS,
        title: "I am having problems if I start a claude session inside a",
        directory: "/Users/user03/wks/cli",
        branch: Some("dipree/fix-accidental-file-deletion"),
    },
    Wanted {
        file: "cc05.jsonl",
        format: CLAUDE,
        id: "dc5771",
        lines: 78,
        assistant: 15,
        prompts: 5,
        calls: 12,
        results: 12,
        unanswered: 0,
        tokens: [116, 1_898_292, 152_421, 4065, 0],
        first: "2026-01-13T11:56:18.480Z",
        last: "2026-01-13T16:18:59.311Z",
        models: OPUS,
        title: "can you update CLAUDE.md to reflect the new multi session",
        directory: "/entire/devenv/cli",
        branch: Some("user01/multi-session"),
    },
    Wanted {
        file: "cc06.jsonl",
        format: CLAUDE,
        id: "198393",
        lines: 54,
        assistant: 13,
        prompts: 6,
        calls: 10,
        results: 10,
        unanswered: 0,
        tokens: [102, 654_807, 649_094, 2038, 0],
        first: "2026-01-07T11:47:31.774Z",
        last: "2026-01-07T12:38:42.261Z",
        models: OPUS,
        title: "for the change in cmd/entire/cli/hooks_claudecode_handlers.g",
        directory: "/entire/devenv/cli",
        branch: Some("user01/bugfix-for-inconsistent-session-state"),
    },
    Wanted {
        file: "cc13.jsonl",
        format: CLAUDE,
        id: "df0a6e",
        lines: 28,
        assistant: 3,
        prompts: 3,
        calls: 2,
        results: 2,
        unanswered: 0,
        tokens: [4, 163_659, 2797, 287, 0],
        first: "2026-07-22T20:18:55.115Z",
        last: "2026-07-22T20:19:22.354Z",
        models: &["claude-opus-4-8"],
        title: "Oh My Posh template injection vulnerability",
        directory: "D:\\oh-my-posh",
        branch: Some("feat/gradient-colors"),
    },
    Wanted {
        file: "cc25.jsonl",
        format: CLAUDE,
        id: "1af7fc",
        lines: 29,
        assistant: 7,
        prompts: 2,
        calls: 12,
        results: 12,
        unanswered: 0,
        tokens: [93, 103_219, 12698, 953, 0],
        first: "2025-09-03T00:47:19.293Z",
        last: "2025-09-03T00:47:52.264Z",
        models: &["claude-sonnet-4-20250514"],
        title: "init is analyzing your codebase… /init",
        directory: "/path/to/Demo",
        branch: None,
    },
    Wanted {
        file: "cx02.jsonl",
        format: Format::Codex,
        id: "019d6c33-f548-7332-b9a3-159549daf46c",
        lines: 63,
        assistant: 6,
        prompts: 1,
        calls: 15,
        results: 15,
        unanswered: 0,
        tokens: [303_814 - 245_120, 245_120, 0, 2397 - 900, 900],
        first: "2026-04-08T08:27:25.293Z",
        last: "2026-04-08T08:28:46.533Z",
        models: &["gpt-5.4"],
        title: "Are remote checkpoints supported",
        directory: "/Users/user02/dev/ai/entire/session-bridge",
        branch: Some("main"),
    },
    Wanted {
        file: "cx08.jsonl",
        format: Format::Codex,
        id: "01996135-afde-7911-97f0-d863511eca56",
        lines: 110,
        assistant: 9,
        prompts: 1,
        calls: 19,
        results: 19,
        unanswered: 0,
        tokens: [270_530 - 136_832, 136_832, 0, 12551 - 9536, 9536],
        first: "2025-09-19T09:02:12.457Z",
        last: "2025-09-19T09:09:32.000Z",
        models: &["aide-gpt-5"],
        title: "# Context from my IDE setup:",
        directory: "/proj/user34/gai/claude-code",
        branch: Some("main"),
    },
];

#[test]
fn real_sessions_have_the_counts_of_an_independent_script() {
    for wanted in WANTED {
        let files = Files::new();
        let outcome = files.bring(wanted.file, data(wanted.file));
        println!("{}", wanted.file);
        assert_eq!(outcome.status, Status::Imported);
        assert_eq!(outcome.format, Some(wanted.format));
        assert!(
            outcome
                .session
                .as_ref()
                .unwrap()
                .as_str()
                .starts_with(wanted.id)
        );
        assert_eq!(
            (outcome.lines, outcome.new_events),
            (wanted.lines, wanted.lines)
        );
        assert!(
            outcome.damaged.is_empty() && outcome.unmapped.is_empty(),
            "{outcome:?}"
        );
        counts(&files, &outcome, wanted);
        card(&files, &outcome, wanted);
    }
}

fn counts(files: &Files, outcome: &Outcome, wanted: &Wanted) {
    let mut replies = BTreeSet::new();
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    let mut models = BTreeSet::new();
    let mut prompts = 0;
    let events = files.events(outcome);
    assert_eq!(events.len() as u64, wanted.lines + 2);
    assert!(events.iter().is_sorted_by(|a, b| a.id < b.id));
    assert!(events.iter().all(|e| e.top.is_none()));
    for event in &events {
        if event.kind == kinds::SETTINGS_CHANGED {
            let settings: BTreeMap<String, serde_json::Value> = event.data.parse().unwrap();
            models.extend(
                settings
                    .get("model")
                    .and_then(|m| m.as_str())
                    .map(ToOwned::to_owned),
            );
        }
        if event.kind != kinds::MESSAGE {
            continue;
        }
        let message: Message<'_> = event.data.view().unwrap();
        let source = message.source.as_ref().unwrap();
        calls.extend(message.calls.iter().map(|call| call.id.clone()));
        results.extend(message.results.iter().map(|result| result.id.clone()));
        models.extend(message.model.clone());
        assert!(message.native().unwrap().get().starts_with('{'));
        match message.role {
            Role::Assistant if source.kind.as_deref() == Some("response_item/message") => {
                replies.insert(source.line.to_string());
            }
            Role::Assistant if wanted.format == Format::Codex => {}
            Role::Assistant => {
                replies.insert(message.response.clone().unwrap());
            }
            Role::User if message.results.is_empty() => {
                let typed = !message.injected || wanted.format == CLAUDE;
                prompts += usize::from(typed);
            }
            _ => {}
        }
    }
    assert_eq!(replies.len(), wanted.assistant);
    assert_eq!(prompts, wanted.prompts);
    assert_eq!((calls.len(), results.len()), (wanted.calls, wanted.results));
    assert_eq!(calls.difference(&results).count(), wanted.unanswered);
    assert_eq!(
        models.iter().map(String::as_str).collect::<Vec<_>>(),
        wanted.models
    );
}

fn card(files: &Files, outcome: &Outcome, wanted: &Wanted) {
    let listed = block_on(files.store.cards()).unwrap();
    assert_eq!(listed.len(), 1);
    let card: &Card = listed[0].card.as_ref().unwrap();
    let [input, cache_read, cache_write, output, reasoning] = wanted.tokens;
    assert_eq!(
        card.tokens(),
        Tokens {
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
        }
    );
    assert_eq!(card.created, Some(wanted.first.parse().unwrap()));
    assert_eq!(card.updated, Some(wanted.last.parse().unwrap()));
    assert_eq!(card.model.as_deref(), wanted.models.last().copied());
    assert_eq!(card.harness.as_deref(), Some(wanted.format.name()));
    assert_eq!(card.branch.as_deref(), wanted.branch);
    assert_eq!(card.calls, wanted.calls as u64);
    let title = card.title.as_deref().unwrap();
    assert!(title.starts_with(wanted.title), "{title}");
    let directory = card.directory.as_deref().unwrap();
    assert!(directory.ends_with(wanted.directory), "{directory}");
    let saved = block_on(files.session(outcome).project::<Card>()).unwrap();
    assert_eq!(saved.folded, 0, "the card is saved with the import");
}

#[test]
fn real_sessions_come_back_byte_for_byte() {
    for wanted in WANTED {
        let files = Files::new();
        let bytes = data(wanted.file);
        let outcome = files.bring(wanted.file, &bytes);
        assert_same(&files.original(&outcome), &bytes);

        let again = files.import(wanted.file);
        assert_eq!(again.status, Status::Unchanged { note: None });
        assert_eq!((again.new_events, again.known_events), (0, wanted.lines));
    }
}

#[test]
fn the_same_file_gives_the_same_events_in_any_store() {
    let (one, two) = (Files::new(), Files::new());
    let of = |files: &Files| {
        let outcome = files.bring("x.jsonl", data("cc13.jsonl"));
        let mut events = files.events(&outcome);
        events.retain(|e| e.kind != kinds::IMPORT_STARTED && e.kind != kinds::IMPORT_FINISHED);
        events
            .into_iter()
            .map(sessionlog::Event::into_new)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&one), of(&two));
}
