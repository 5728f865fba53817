//! What other tools' files mean that no sample shows: each shape imported, replayed and shown.

use sessionlog::transcript::{Origin, Transcript};

use crate::import_support::{Files, data};
use crate::replay_corpus::every_prefix;
use crate::support::World;

fn replayed(name: &str) -> (World, String, Transcript) {
    let files = Files::new();
    let outcome = files.bring("x.jsonl", data(&format!("own/{name}.jsonl")));
    assert!(outcome.unmapped.is_empty(), "{outcome:?}");
    let (transcript, _) = every_prefix(name, &files.events(&outcome));
    let world = World {
        store: files.store,
        ..World::new()
    };
    (world, outcome.session.unwrap().to_string(), transcript)
}

/// A conversation, an item a word: who, which events, calls made and answered.
fn told(transcript: &Transcript, agent: Option<&str>) -> Vec<String> {
    let conversation = transcript.conversation(agent).unwrap();
    let item = |item: &sessionlog::transcript::Item<'_>| {
        let parts: Vec<_> = item.parts.iter().map(ToString::to_string).collect();
        let mut told = format!("{} {}", item.role.as_str(), parts.join("+"));
        told.extend(item.calls.iter().map(|(id, _)| format!(" →{id}")));
        told.extend(item.answers.iter().map(|id| format!(" ←{id}")));
        match item.origin {
            Origin::Log => {}
            Origin::Checkpoint => told.push_str(" checkpoint"),
            Origin::Closing => told.push_str(" closing"),
        }
        told
    };
    conversation.items().iter().map(item).collect()
}

#[test]
fn a_rewind_leaves_the_first_try_in_a_branch() {
    let (world, id, transcript) = replayed("rewind");
    assert_eq!(
        told(&transcript, None),
        [
            "user 2",
            "assistant 3+4+5 →toolu_1 →toolu_2",
            "user 8 ←toolu_1",
            "user 7 ←toolu_2",
            "assistant 9",
            "user 12",
            "assistant 13 →toolu_4",
            "user 14 ←toolu_4",
            "assistant 15",
        ]
    );
    let out = world.run(&format!("branches {id}")).ok();
    let lines: Vec<_> = out.lines().collect();
    assert!(
        lines[1].starts_with("  #11 ") && lines[1].ends_with("what is here?"),
        "{out}"
    );
    assert!(
        lines[2].starts_with("* #15 · 4 messages from #12 under #9 "),
        "{out}"
    );
    let ran = world.run(&format!("show {id}"));
    assert!(ran.err.contains("2 messages left behind"), "{ran:?}");
    let out = ran.ok();
    assert!(
        out.contains("rename it") && !out.contains("delete it"),
        "{out}"
    );
    // Counted is what was used, in whatever branch.
    assert_eq!(transcript.spending().tokens().output, 9 + 4 + 6 + 6 + 3);
    world.run(&format!("head {id} 11")).ok();
    let out = world.run(&format!("show {id}")).ok();
    assert!(
        out.contains("delete it") && out.contains("closed by replay"),
        "{out}"
    );
}

#[test]
fn side_chains_in_line_are_sub_agents() {
    let (world, id, transcript) = replayed("side-chains");
    assert_eq!(
        told(&transcript, None),
        [
            "user 1",
            "assistant 2+3 →toolu_1 →toolu_2",
            "user 11 ←toolu_1",
            "user 13 ←toolu_2",
            "assistant 14",
        ]
    );
    assert_eq!(
        told(&transcript, Some("sidechain-1")),
        [
            "user 4",
            "assistant 6 →toolu_s1",
            "user 8 ←toolu_s1",
            "assistant 10"
        ]
    );
    assert_eq!(
        told(&transcript, Some("sidechain-2")),
        [
            "user 5",
            "assistant 7 →toolu_t1",
            "user 9 ←toolu_t1",
            "assistant 12"
        ]
    );
    assert_eq!(transcript.branches(Some("sidechain-2")).len(), 1);
    let ran = world.run(&format!("show {id}"));
    assert!(
        ran.err.contains("sub-agent sidechain-1 has 4 messages"),
        "{ran:?}"
    );
    let out = world.run(&format!("show {id} --agent sidechain-2")).ok();
    assert!(
        out.contains("one in tests") && !out.contains("one in src"),
        "{out}"
    );
    let out = world.run(&format!("show {id} --all")).ok();
    assert!(
        out.contains("user · sidechain-1 · ") && out.contains("Two callers."),
        "{out}"
    );
}

#[test]
fn a_compaction_keeps_the_messages_that_it_names() {
    let (world, id, transcript) = replayed("compacted");
    assert_eq!(
        told(&transcript, None),
        [
            "assistant 4 →toolu_1",
            "user 5 ←toolu_1",
            "user 7",
            "user 8",
            "assistant 9",
        ]
    );
    let ran = world.run(&format!("show {id}"));
    assert!(
        ran.err.contains("3 messages covered by a compaction"),
        "{ran:?}"
    );
    let out = world.run(&format!("show {id} --all")).ok();
    assert!(out.contains("So far so good."), "{out}");
    let told = &world.run(&format!("stats {id} --json")).json()[0];
    assert_eq!(told["oddities"][0]["odd"], "missing-parent");
}

#[test]
fn a_codex_compaction_is_the_history_that_replaces_another() {
    let (world, id, transcript) = replayed("codex-compacted");
    assert_eq!(
        told(&transcript, None),
        [
            "user 13 checkpoint",
            "user 13 checkpoint",
            "assistant 13 →call_1 checkpoint",
            "tool 13 ←call_1 checkpoint",
            "assistant 13 checkpoint",
            "user 15",
            "assistant 17+18 →call_2 →call_3",
            "tool  ←call_2 closing",
            "tool 19 ←call_3",
        ]
    );
    let tokens = transcript.spending().tokens();
    assert_eq!((tokens.total(), tokens.cache_read), (180 + 30, 90));
    let out = world.run(&format!("show {id}")).ok();
    assert!(
        !out.contains("Twelve.") && out.contains("closed by replay"),
        "{out}"
    );
    let out = world.run(&format!("show {id} --all")).ok();
    assert!(out.contains("Twelve."), "{out}");
    let out = world.run(&format!("wake {id}")).ok();
    assert!(out.contains("call → shell call_2 has no result"), "{out}");
}
