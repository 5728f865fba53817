//! A good checkpoint is not lost to an empty or a shorter one, unless somebody asks for it.

use sessionlog_core::transcript::Compaction;
use sessionlog_core::*;

use crate::wrapper::message;

fn checkpoint(summary: &str) -> Compaction<'static> {
    Compaction {
        summary: Some(summary.to_owned()),
        ..Compaction::default()
    }
}

#[test]
fn an_empty_or_shorter_checkpoint_is_accepted_only_when_asked_for() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let request = LeaseRequest::new(Owner::new("t").unwrap());
        let mut woken = session.wake(request).await.unwrap();
        woken
            .append(vec![message("a"), message("b")])
            .await
            .unwrap();

        let empty = woken.compact(&Compaction::default()).await.unwrap_err();
        assert_eq!(*empty.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            session.tail().await.unwrap().get(),
            2,
            "nothing was appended"
        );

        assert_eq!(
            woken
                .compact(&checkpoint("all that was done so far"))
                .await
                .unwrap()
                .get(),
            2
        );
        let shorter = woken.compact(&checkpoint("done")).await.unwrap_err();
        assert!(
            shorter.to_string().contains("4 bytes, 24 before"),
            "{shorter}"
        );
        let text = |woken: &transcript::Woken| {
            let conversation = woken.transcript().conversation(None).unwrap();
            conversation
                .items()
                .first()
                .and_then(|item| item.text.map(str::to_owned))
        };
        assert_eq!(text(&woken).as_deref(), Some("all that was done so far"));

        woken
            .compact(&checkpoint("all that was done so far, and more"))
            .await
            .unwrap();
        woken.compact_anyway(&checkpoint("done")).await.unwrap();
        assert_eq!(text(&woken).as_deref(), Some("done"));
        let cleared = Compaction {
            cleared: true,
            ..Compaction::default()
        };
        woken.compact(&cleared).await.unwrap();
        assert_eq!(session.tail().await.unwrap().get(), 6);
    });
}
