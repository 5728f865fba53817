//! Real sessions replayed: the counts of an independent script, and at every prefix a conversation
//! that model APIs accept.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, outside of test functions"
)]

use std::collections::BTreeSet;

use sessionlog::transcript::check::check;
use sessionlog::transcript::{Dialect, Origin, Role, Tokens, Transcript};
use sessionlog::{Event, Projection};

use crate::import_support::{Files, data};

const DIALECTS: [Dialect; 3] = [Dialect::Anthropic, Dialect::Chat, Dialect::Responses];

/// Reads what the conversations lack, as `Session::load` does.
pub(crate) fn load(transcript: &mut Transcript, log: &[Event]) {
    let agents: Vec<_> = transcript.agents().map(ToOwned::to_owned).collect();
    for agent in agents
        .iter()
        .map(|agent| Some(agent.as_str()))
        .chain([None])
    {
        let missing = transcript.missing(agent);
        let wanted = |event: &&Event| missing.iter().any(|range| range.contains(&event.seq));
        transcript.fill(agent, log.iter().filter(wanted));
    }
}

/// What was part of a conversation at any time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    prompts: BTreeSet<u64>,
    replies: BTreeSet<u64>,
    calls: BTreeSet<String>,
    answered: BTreeSet<String>,
}

/// Folds a log event by event, and checks each conversation after each.
pub(crate) fn every_prefix(name: &str, log: &[Event]) -> (Transcript, Seen) {
    let mut transcript = Transcript::default();
    let mut seen = Seen::default();
    for (at, event) in log.iter().enumerate() {
        transcript.apply(event);
        load(&mut transcript, log.split_at(at + 1).0);
        let agents: Vec<_> = transcript.agents().map(ToOwned::to_owned).collect();
        for agent in agents
            .iter()
            .map(|agent| Some(agent.as_str()))
            .chain([None])
        {
            let conversation = transcript.conversation(agent).unwrap();
            for dialect in DIALECTS {
                let rendered = conversation.render(dialect);
                if let Err(breach) = check(dialect, &rendered.messages) {
                    panic!("{name}, {agent:?} after #{at}: {dialect:?} {breach}");
                }
            }
            for item in conversation.items() {
                seen.calls
                    .extend(item.calls.iter().map(|(id, _)| (*id).to_owned()));
                if item.origin != Origin::Log {
                    continue;
                }
                seen.answered
                    .extend(item.answers.iter().map(|id| (*id).to_owned()));
                match item.role {
                    Role::Assistant => drop(seen.replies.insert(item.seq.get())),
                    Role::User if item.answers.is_empty() => {
                        seen.prompts.insert(item.seq.get());
                    }
                    _ => {}
                }
            }
        }
    }
    (transcript, seen)
}

struct Wanted {
    file: &'static str,
    /// Prompts, replies, calls, answered calls.
    counts: [usize; 4],
    /// input, `cache_read`, `cache_write`, output, reasoning
    tokens: [u64; 5],
}

const WANTED: &[Wanted] = &[
    Wanted {
        file: "cc01.jsonl",
        counts: [1, 1, 1, 0],
        tokens: [10, 0, 38385, 4, 0],
    },
    Wanted {
        file: "cc05.jsonl",
        counts: [5, 15, 12, 12],
        tokens: [116, 1_898_292, 152_421, 4065, 0],
    },
    Wanted {
        file: "cc06.jsonl",
        counts: [6, 13, 10, 10],
        tokens: [102, 654_807, 649_094, 2038, 0],
    },
    Wanted {
        file: "cc13.jsonl",
        counts: [3, 3, 2, 2],
        tokens: [4, 163_659, 2797, 287, 0],
    },
    Wanted {
        file: "cc25.jsonl",
        counts: [2, 7, 12, 12],
        tokens: [93, 103_219, 12698, 953, 0],
    },
    // The program writes a message of the user of its own. What the model says between two inputs
    // is one reply.
    Wanted {
        file: "cx02.jsonl",
        counts: [2, 6, 15, 15],
        tokens: [303_814 - 245_120, 245_120, 0, 2397 - 900, 900],
    },
    Wanted {
        file: "cx08.jsonl",
        counts: [2, 19, 19, 19],
        tokens: [270_530 - 136_832, 136_832, 0, 12551 - 9536, 9536],
    },
];

#[test]
fn real_sessions_replay_with_the_counts_of_an_independent_script() {
    for wanted in WANTED {
        let files = Files::new();
        let outcome = files.bring(wanted.file, data(wanted.file));
        let (transcript, seen) = every_prefix(wanted.file, &files.events(&outcome));
        let counts = [
            seen.prompts.len(),
            seen.replies.len(),
            seen.calls.len(),
            seen.answered.len(),
        ];
        assert_eq!(counts, wanted.counts, "{}", wanted.file);
        let [input, cache_read, cache_write, output, reasoning] = wanted.tokens;
        let tokens = Tokens {
            input,
            cache_read,
            cache_write,
            output,
            reasoning,
        };
        assert_eq!(transcript.spending().tokens(), tokens, "{}", wanted.file);
        assert_eq!(transcript.spending().own(), tokens);
        let conversation = transcript.conversation(None).unwrap();
        assert_eq!(conversation.set_aside(), [], "{}", wanted.file);
    }
}

#[test]
fn every_prefix_of_the_other_files_is_a_conversation_that_apis_accept() {
    let files = Files::new();
    let mut folders = vec![std::path::PathBuf::from("own"), "kvit".into()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for entry in std::fs::read_dir(root.join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            let name = path.to_str().unwrap();
            if root.join(&path).is_dir() && name.contains("kvit/") {
                folders.push(path.clone());
            }
            if path.extension().is_some_and(|ext| ext == "jsonl") {
                let outcome = files.bring(name, data(name));
                every_prefix(name, &files.events(&outcome));
                seen += 1;
            }
        }
    }
    assert!(seen >= 7, "{seen}");
}
