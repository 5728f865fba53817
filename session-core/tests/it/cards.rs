//! Cards: what a list shows, and that it never believes a stale one.

use sessionlog_core::transcript::kinds;
use sessionlog_core::*;

use crate::wrapper::{Wrapper, message};

fn event(kind: Kind, json: &'static str) -> NewEvent {
    NewEvent::json(kind, json).unwrap()
}

async fn card(events: Vec<NewEvent>) -> Card {
    let store = Store::new(Memory::new());
    let session = store.create("s".parse().unwrap()).await.unwrap();
    session.append(events).await.unwrap();
    store.cards().await.unwrap().remove(0).card.unwrap()
}

#[test]
fn a_title_of_a_person_is_kept_and_derived_ones_replace_each_other() {
    pollster::block_on(async {
        let long = "ü".repeat(200);
        assert_eq!(
            card(vec![message(&long)]).await.title.unwrap(),
            "ü".repeat(60)
        );
        let wrapped =
            "<command-message>init runs</command-message> <command-name>/init</command-name>";
        assert_eq!(
            card(vec![message(wrapped)]).await.title.unwrap(),
            "init runs /init"
        );
        let code = "is a<b and c>d in Vec<T>?";
        assert_eq!(card(vec![message(code)]).await.title.unwrap(), code);
        let derived = |t| event(kinds::SESSION_TITLED, t);
        let titled = card(vec![
            message("first request"),
            derived(r#"{"title":"one"}"#),
            derived(r#"{"title":"two"}"#),
            derived(r#"{"title":"Mine","by":"person"}"#),
            derived(r#"{"title":"three"}"#),
        ])
        .await;
        assert_eq!(titled.title.unwrap(), "Mine");
    });
}

#[test]
fn a_request_stays_pending_until_it_is_resolved_by_its_id() {
    pollster::block_on(async {
        let card = card(vec![
            event(kinds::PERMISSION_REQUESTED, r#"{"id":"p1"}"#),
            event(kinds::PERMISSION_REQUESTED, r#"{"id":"p2"}"#),
            event(kinds::PERMISSION_RESOLVED, r#"{"id":"p1","allowed":true}"#),
            event(kinds::PERMISSION_RESOLVED, r#"{"id":"other"}"#),
        ])
        .await;
        assert_eq!(card.blocked_on, ["p2"]);
    });
}

#[test]
fn payloads_that_do_not_fit_are_counted_and_passed_over() {
    pollster::block_on(async {
        let odd = kinds::ALL.iter().flat_map(|kind| {
            ["null", "[]", "17", r#"{"role":7}"#, r#"{"id":[]}"#]
                .map(|json| NewEvent::json(kind.clone(), json).unwrap())
        });
        let card = card(odd.collect()).await;
        assert_eq!(card.events, kinds::ALL.len() as u64 * 5);
    });
}

#[test]
fn a_list_follows_the_log_and_not_the_saved_card() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let writer = session
            .acquire(LeaseRequest::new(Owner::new("t").unwrap()))
            .await
            .unwrap();
        writer.append_one(message("a")).await.unwrap();
        writer.release().await.unwrap();
        session.append(vec![message("b")]).await.unwrap();
        let listed = store.cards().await.unwrap().remove(0);
        assert_eq!(listed.card.unwrap().prompts, 2);
    });
}

#[test]
fn a_card_that_could_not_be_saved_once_was_never_tried_again() {
    pollster::block_on(async {
        let backend = Wrapper::default();
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let request = LeaseRequest::new(Owner::new("t").unwrap());
        let writer = session.acquire(request).await.unwrap();
        backend.refused_and_saved.lock().unwrap().0 = 1;
        // Each of them is more than a card may lag behind.
        let large = "x".repeat(300 << 10);
        for saved in 0..3 {
            writer.append_one(message(&large)).await.unwrap();
            assert_eq!(*backend.refused_and_saved.lock().unwrap(), (0, saved));
        }
        for saved in [2, 3] {
            let half = message(&large[..150 << 10]);
            writer.append_one(half).await.unwrap();
            assert_eq!(*backend.refused_and_saved.lock().unwrap(), (0, saved));
        }
    });
}

#[test]
fn the_newest_comes_first() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        for (id, at) in [("old", 1), ("new", 3), ("mid", 2)] {
            let session = store.create(id.parse().unwrap()).await.unwrap();
            let at = Timestamp::from_millis(at).unwrap();
            session
                .append(vec![message("x").with_time(at)])
                .await
                .unwrap();
        }
        let ids: Vec<_> = store
            .cards()
            .await
            .unwrap()
            .into_iter()
            .map(|l| l.id.to_string())
            .collect();
        assert_eq!(ids, ["new", "mid", "old"]);
        let newest = store.newest(2).await.unwrap();
        let newest: Vec<_> = newest.iter().map(|l| l.id.as_str()).collect();
        assert_eq!(newest, ["new", "mid"]);
    });
}

#[test]
fn an_empty_name_once_found_the_only_session() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        store.create("only".parse().unwrap()).await.unwrap();
        let error = store.find("").await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput);
        assert_eq!(store.find("on").await.unwrap().as_str(), "only");
    });
}
