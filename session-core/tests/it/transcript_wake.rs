//! Waking: the lease, the transcript, what was interrupted, and snapshots that pay.

use std::time::Duration;

use sessionlog_core::transcript::*;
use sessionlog_core::*;

use crate::transcript_logs::{calls, results, user};

fn request() -> LeaseRequest {
    LeaseRequest::new(Owner::new("t").unwrap())
}

fn new((kind, json): (Kind, String)) -> NewEvent {
    NewEvent::json(kind, json).unwrap()
}

fn event(kind: Kind, json: &'static str) -> NewEvent {
    NewEvent::json(kind, json).unwrap()
}

async fn snapshots(backend: &Memory, session: &Session) -> Option<Snapshot> {
    let (at, head) = backend.head(session.id()).await.unwrap();
    let name: Kind = Transcript::NAME.parse().unwrap();
    backend
        .latest(&at, &name, Transcript::VERSION, head.tail)
        .await
        .unwrap()
}

#[test]
fn waking_tells_what_was_interrupted_and_who_drives() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let batch = vec![
            event(kinds::TURN_STARTED, r#"{"turn":"t1"}"#),
            new(user("go")),
            new(calls(Some("r1"), &["a", "b"])),
            new(results(&["a"])),
            event(kinds::PERMISSION_REQUESTED, r#"{"id":"p1"}"#),
            event(kinds::PROCESS_STARTED, r#"{"process":"x"}"#),
            event(kinds::AGENT_STARTED, r#"{"agent":"a1"}"#),
        ];
        session.append(batch).await.unwrap();
        let woken = session.wake(request()).await.unwrap();
        let interrupted = woken.interrupted();
        let open: Vec<_> = interrupted
            .calls
            .iter()
            .map(|call| call.id.as_str())
            .collect();
        assert_eq!(open, ["b"]);
        assert_eq!(interrupted.permissions.len(), 1);
        assert_eq!(interrupted.processes.len(), 1);
        assert_eq!(interrupted.turns.len(), 1);
        assert_eq!(interrupted.agents.len(), 1);
        assert!(!interrupted.is_empty() && !interrupted.cut && interrupted.unanswered);
        let refused = session.wake(request()).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::LeaseHeld { .. }));
        assert_eq!(
            session.tail().await.unwrap().get(),
            7,
            "waking writes nothing"
        );
        woken.release().await.unwrap();
        assert!(session.wake(request()).await.is_ok());
        assert!(
            store
                .open(&"none".parse().unwrap())
                .await
                .unwrap_err()
                .is_not_found()
        );
    });
}

#[test]
fn snapshots_cost_no_more_than_the_log_and_resume_reads_little() {
    pollster::block_on(async {
        let backend = Memory::new();
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let mut woken = session.wake(request()).await.unwrap();
        let mut logged = 0;
        let mut written = 0;
        let mut last = None;
        for n in 0..400_u32 {
            let batch = vec![new(user(&"x".repeat(2000)))];
            logged += batch[0].data.len();
            woken.append(batch).await.unwrap();
            if n % 100 == 99 {
                let compaction = event(kinds::COMPACTION, r#"{"summary":"so far"}"#);
                woken.append(vec![compaction]).await.unwrap();
            }
            let snapshot = snapshots(&backend, &session).await;
            if snapshot.as_ref().map(|s| s.covers) != last {
                last = snapshot.as_ref().map(|s| s.covers);
                written += snapshot.unwrap().state.len();
            }
            assert!(
                written <= logged,
                "{written} bytes of snapshots, {logged} of log"
            );
        }
        assert!(last.is_some());
        woken.release().await.unwrap();
        let resumed = session.project::<Transcript>().await.unwrap();
        assert!(resumed.folded < 200, "{}", resumed.folded);
        let mut whole = Transcript::default();
        let all = session.read(SeqNum::all()).collect().await.unwrap();
        all.iter().for_each(|event| whole.apply(event));
        let text = |t: &Transcript| serde_json::to_string(t).unwrap();
        assert_eq!(text(&resumed.state), text(&whole));
        // What is hidden is positions: the state is about the live conversation.
        assert!(text(&whole).len() < 4000, "{}", text(&whole).len());
    });
}

#[test]
fn an_old_branch_is_read_again_when_it_is_selected() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let mut woken = session.wake(request()).await.unwrap();
        woken
            .append(["a", "b", "c"].map(|t| new(user(t))).into())
            .await
            .unwrap();
        woken
            .append(vec![event(kinds::ROLLBACK, r#"{"dropped":2}"#)])
            .await
            .unwrap();
        woken.append(vec![new(user("d"))]).await.unwrap();
        woken
            .append(vec![event(kinds::HEAD, r#"{"to":2}"#)])
            .await
            .unwrap();
        woken.append(vec![new(user("e"))]).await.unwrap();
        let words = |woken: &Woken| {
            let items = woken.transcript().conversation(None).unwrap().items();
            items
                .iter()
                .map(|item| text_of(item.natives[0]))
                .collect::<String>()
        };
        assert_eq!(words(&woken), "abce");
        let branches = woken.transcript().branches(None);
        let tips: Vec<_> = branches.iter().map(|b| (b.tip.get(), b.current)).collect();
        assert_eq!(tips, [(4, false), (6, true)]);
        woken.snapshot().await.unwrap();
        woken.release().await.unwrap();
        let mut plain = session.project::<Transcript>().await.unwrap().state;
        assert!(plain.conversation(None).is_err());
        session.load(&mut plain, None).await.unwrap();
        assert_eq!(plain.conversation(None).unwrap().items().len(), 4);
        let woken = session.wake(request()).await.unwrap();
        assert_eq!(words(&woken), "abce");
    });
}

#[test]
fn a_writer_that_was_replaced_saves_no_snapshot() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let mut old = session.wake(request()).await.unwrap();
        old.append(vec![new(user("a"))]).await.unwrap();
        old.writer().renew(Duration::ZERO).await.unwrap();
        if let Ok(_newer) = session.wake(request()).await {
            let fenced = old.snapshot().await.unwrap_err();
            assert!(matches!(fenced.kind(), ErrorKind::Fenced { .. }));
        }
    });
}
