//! Buckets that are not there, or not any more, and what may not be done in them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sessionlog_backend_s3::{Bucket, Location, Options};
use sessionlog_core::{Error, ErrorKind, Kind, NewEvent, SeqNum, Store};

use crate::{gcs, stub};

fn store(url: &str) -> Store {
    let location = Location::parse(url).unwrap();
    Store::new(Bucket::open(&location, Options::default()).unwrap())
}

/// The error says what to correct; in no case that a session is not there.
#[track_caller]
fn says(error: &Error, words: &str) {
    assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{error:?}");
    assert!(error.message().contains(words), "{error}");
}

#[test]
fn a_bucket_that_is_not_there_is_told_by_every_operation() {
    let store = store(&format!(
        "gs:other/p?endpoint=http://{}&allow_http=true&bearer_token=test",
        gcs::start()
    ));
    pollster::block_on(async {
        says(
            &store.open(&"s".parse().unwrap()).await.unwrap_err(),
            "no such bucket",
        );
        says(
            &store.create("s".parse().unwrap()).await.unwrap_err(),
            "no such bucket",
        );
        says(
            &store
                .open_or_create("s".parse().unwrap())
                .await
                .unwrap_err(),
            "no such bucket",
        );
        says(&store.ids().await.unwrap_err(), "no such bucket");
    });
}

#[test]
fn wrong_credentials_are_told() {
    let store = store(&format!(
        "gs:bucket/p?endpoint=http://{}&allow_http=true&bearer_token=no",
        gcs::start()
    ));
    let error = pollster::block_on(store.create("s".parse().unwrap())).unwrap_err();
    says(&error, "does not accept the credentials");
}

/// A bucket that is deleted while sessions in it are open.
#[test]
fn a_bucket_that_vanishes_is_told_and_nothing_is_acknowledged() {
    let gone = Arc::new(AtomicBool::new(false));
    let bucket = Mutex::new(gcs::Objects::vanishing(gone.clone()));
    let address = stub::serve(move |request| bucket.lock().unwrap().answer(request));
    let store = store(&format!(
        "gs:bucket/p?endpoint=http://{address}&allow_http=true&bearer_token=test"
    ));
    let event = || NewEvent::json(Kind::from_static("message"), "{}").unwrap();
    pollster::block_on(async {
        let session = store.create("s".parse().unwrap()).await.unwrap();
        session.append(vec![event()]).await.unwrap();
        gone.store(true, Ordering::SeqCst);
        says(
            &session.append(vec![event()]).await.unwrap_err(),
            "no such bucket",
        );
        says(
            &session.read(SeqNum::all()).collect().await.unwrap_err(),
            "no such bucket",
        );
        says(
            &store.open(session.id()).await.unwrap_err(),
            "no such bucket",
        );
        gone.store(false, Ordering::SeqCst);
        assert_eq!(
            session.read(SeqNum::all()).collect().await.unwrap().len(),
            1
        );
        session.append(vec![event()]).await.unwrap();
        assert_eq!(
            session.read(SeqNum::all()).collect().await.unwrap().len(),
            2
        );
    });
}
