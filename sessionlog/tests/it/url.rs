//! Stores by URL.

#[cfg(feature = "jsonl")]
#[test]
fn a_jsonl_store_keeps_what_was_appended() {
    use sessionlog::{Kind, NewEvent, SeqNum};

    let folder = tempfile::tempdir().unwrap();
    let url = format!("jsonl:{}", folder.path().join("store").display());
    pollster::block_on(async {
        let session = sessionlog::open(&url)
            .await
            .unwrap()
            .create("s".parse().unwrap())
            .await;
        let event = NewEvent::json(Kind::from_static("message"), "{}").unwrap();
        session.unwrap().append(vec![event.clone()]).await.unwrap();
        let again = sessionlog::open(&url)
            .await
            .unwrap()
            .open(&"s".parse().unwrap())
            .await
            .unwrap();
        let events = again.read(SeqNum::all()).collect().await.unwrap();
        assert!(events.len() == 1 && events[0].holds(&event));
    });
}

#[test]
fn what_can_be_opened_is_listed() {
    let schemes: Vec<_> = sessionlog::schemes().collect();
    assert!(schemes.contains(&"memory"));
    assert_eq!(schemes.contains(&"jsonl"), cfg!(feature = "jsonl"));
}
