//! Stores by URL.

use sessionlog::{Kind, NewEvent, SeqNum};

#[test]
fn every_store_on_a_disk_keeps_what_was_appended() {
    for scheme in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        keeps(&format!(
            "{scheme}:{}",
            folder.path().join("store").display()
        ));
    }
}

#[test]
fn a_store_of_another_backend_is_not_opened_and_not_changed() {
    let schemes: Vec<_> = on_disk().collect();
    for made in &schemes {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("store");
        keeps(&format!("{made}:{}", place.display()));
        for other in schemes.iter().filter(|other| *other != made) {
            let url = format!("{other}:{}", place.display());
            let error = pollster::block_on(async {
                let store = sessionlog::open(&url).await?;
                store.create("intruder".parse()?).await.map(drop)
            });
            assert!(error.is_err(), "{other} opened a store of {made}");
        }
        let url = format!("{made}:{}", place.display());
        let store = pollster::block_on(sessionlog::open(&url)).unwrap();
        assert_eq!(pollster::block_on(store.ids()).unwrap().len(), 1);
    }
}

fn on_disk() -> impl Iterator<Item = &'static str> {
    let elsewhere = ["memory", "s3", "gs", "az"];
    sessionlog::schemes().filter(move |scheme| !elsewhere.contains(scheme))
}

fn keeps(url: &str) {
    pollster::block_on(async {
        let session = sessionlog::open(url)
            .await
            .unwrap()
            .create("s".parse().unwrap())
            .await;
        let event = NewEvent::json(Kind::from_static("message"), "{}").unwrap();
        session.unwrap().append(vec![event.clone()]).await.unwrap();
        let again = sessionlog::open(url)
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
    assert_eq!(schemes.contains(&"sqlite"), cfg!(feature = "sqlite"));
    assert_eq!(schemes.contains(&"redb"), cfg!(feature = "redb"));
    assert_eq!(schemes.contains(&"s3"), cfg!(feature = "s3"));
    assert_eq!(schemes.contains(&"gs"), cfg!(feature = "gcs"));
    assert_eq!(schemes.contains(&"az"), cfg!(feature = "azure"));
}
