//! Forks and successions.

use sessionlog_core::transcript::*;
use sessionlog_core::*;

use crate::transcript_logs::{calls, results, user};

fn new((kind, json): (Kind, String)) -> NewEvent {
    NewEvent::json(kind, json).unwrap()
}

async fn session_of(store: &Store, id: &str, events: Vec<NewEvent>) -> Session {
    let session = store.create(id.parse().unwrap()).await.unwrap();
    session.append(events).await.unwrap();
    session
}

fn events() -> Vec<NewEvent> {
    let used = r#"{"role":"assistant","response":"r0","usage":{"output":40}}"#;
    vec![
        new(user("go")),
        new((kinds::MESSAGE, used.into())),
        new((kinds::COMPACTION, r#"{"summary":"s","kept_from":0}"#.into())),
        new(calls(Some("r1"), &["a"])),
        new(results(&["a"])),
        new((kinds::HEAD, r#"{"to":3}"#.into())),
    ]
}

#[test]
fn a_fork_at_any_position_is_valid_and_counts_usage_once() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let source = session_of(&store, "s", events()).await;
        let blob = source.put_blob("an artifact").await.unwrap();
        for at in 0..=6_u64 {
            let id: SessionId = format!("f{at}").parse().unwrap();
            let fork = store
                .fork(&source, Some(SeqNum::new(at)), id.clone())
                .await
                .unwrap();
            let copied = fork
                .read(SeqNum::ZERO..SeqNum::new(at))
                .collect()
                .await
                .unwrap();
            let theirs = source
                .read(SeqNum::ZERO..SeqNum::new(at))
                .collect()
                .await
                .unwrap();
            for (own, other) in copied.iter().zip(&theirs) {
                assert_eq!(own.seq, other.seq);
                assert_eq!(own.clone().into_new(), other.clone().into_new());
            }
            let mut of_fork = fork.project::<Transcript>().await.unwrap().state;
            let mut of_source = source
                .project_until::<Transcript>(at.into())
                .await
                .unwrap()
                .state;
            fork.load(&mut of_fork, None).await.unwrap();
            source.load(&mut of_source, None).await.unwrap();
            let told = |t: &Transcript| {
                let conversation = t.conversation(None).unwrap();
                let rendered = conversation.render(Dialect::Anthropic);
                check::anthropic(&rendered.messages).unwrap();
                rendered.to_json()
            };
            assert_eq!(told(&of_fork), told(&of_source));
            assert_eq!(of_fork.spending().own(), Tokens::default());
            assert_eq!(of_fork.spending().tokens(), of_source.spending().tokens());
            assert_eq!(of_fork.lineage().origin.as_ref().unwrap().from, "s");
            let card = fork.project::<Card>().await.unwrap().state;
            assert_eq!(card.own_tokens(), Tokens::default());
            assert_eq!(fork.blobs().await.unwrap().len(), 1);
            assert_eq!(fork.blobs().await.unwrap()[0].id, blob.id);
        }
        let of_source = source.project::<Transcript>().await.unwrap().state;
        assert_eq!(of_source.lineage().forks.len(), 7);
        assert_eq!(of_source.spending().own().output, 40);
    });
}

#[test]
fn a_fork_is_completed_by_forking_again_and_never_overwrites() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let source = session_of(&store, "s", events()).await;
        // Half a fork, as a crash leaves it.
        let half = store.create("f".parse().unwrap()).await.unwrap();
        let first = source
            .read(SeqNum::ZERO..SeqNum::new(2))
            .collect()
            .await
            .unwrap();
        half.append(first.into_iter().map(Event::into_new).collect())
            .await
            .unwrap();
        for _ in 0..2 {
            let fork = store
                .fork(&source, Some(SeqNum::new(5)), "f".parse().unwrap())
                .await;
            assert_eq!(fork.unwrap().tail().await.unwrap().get(), 6);
        }
        let of_source = source.project::<Transcript>().await.unwrap().state;
        assert_eq!(of_source.lineage().forks.len(), 1);
        session_of(&store, "other", vec![new(user("mine"))]).await;
        let taken = store
            .fork(&source, None, "other".parse().unwrap())
            .await
            .unwrap_err();
        assert!(matches!(taken.kind(), ErrorKind::Conflict { .. }));
        let too_far = store
            .fork(&source, Some(SeqNum::new(99)), "g".parse().unwrap())
            .await;
        assert_eq!(*too_far.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(
            store
                .open(&"g".parse().unwrap())
                .await
                .unwrap_err()
                .is_not_found()
        );
    });
}

#[test]
fn successions_are_followed_and_circles_refused_with_the_chain() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let by = |id: &str| new((kinds::SESSION_SUCCEEDED, format!(r#"{{"by":"{id}"}}"#)));
        session_of(&store, "a", vec![by("b")]).await;
        session_of(&store, "b", vec![by("c")]).await;
        let last = session_of(&store, "c", vec![new(user("x"))]).await;
        let chain = store.successors(&"a".parse().unwrap()).await.unwrap();
        assert_eq!(
            chain.iter().map(SessionId::as_str).collect::<Vec<_>>(),
            ["b", "c"]
        );
        let opened = store.open_latest(&"a".parse().unwrap()).await.unwrap();
        assert_eq!(opened.id(), last.id());
        last.append(vec![by("gone")]).await.unwrap();
        let gone = store.successors(&"a".parse().unwrap()).await.unwrap_err();
        assert!(gone.is_not_found());
        last.append(vec![by("a")]).await.unwrap();
        let circle = store.successors(&"b".parse().unwrap()).await.unwrap_err();
        assert_eq!(*circle.kind(), ErrorKind::InvalidInput);
        assert!(circle.to_string().contains("b -> c -> a -> b"), "{circle}");
    });
}
