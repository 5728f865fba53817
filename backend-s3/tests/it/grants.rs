//! A lease whose grant is overtaken before it is looked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op, Slow};
use sessionlog_core::{
    AppendCondition, ErrorKind, EventLog, Kind, LeaseRequest, LeaseStore, Liveness, NewEvent,
    Owner, SessionRef, Timestamp,
};

async fn append(bucket: &Bucket, session: &SessionRef, condition: AppendCondition) {
    let new = NewEvent::json(Kind::from_static("note"), "1").unwrap();
    bucket.append(session, vec![new], condition).await.unwrap();
}

#[test]
fn a_plain_append_behind_the_grant_does_not_refuse_it() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let other = Bucket::new(Arc::clone(&store) as _, "", Options::default());
        let session = SessionRef::fresh("s".parse().unwrap());
        other.create(&session).await.unwrap();
        append(&other, &session, AppendCondition::NONE).await;
        let (fenced, met) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let (meets, of, appender) = (Arc::clone(&met), session.clone(), other.clone());
        let slow = Slow::new(Arc::clone(&store) as _, move |request| {
            let behind = request.op == Op::List && fenced.load(Ordering::Relaxed);
            fenced.fetch_or(request.op == Op::Create, Ordering::Relaxed);
            if behind && !meets.swap(true, Ordering::Relaxed) {
                block_on(append(&appender, &of, AppendCondition::NONE));
            }
            Duration::ZERO
        });
        let driver = Bucket::new(Arc::new(slow), "", Options::default());
        let request = LeaseRequest::new(Owner::new("me").unwrap());
        let lease = driver.acquire(&session, request.clone()).await.unwrap();
        assert!(met.load(Ordering::Relaxed));
        assert_eq!(lease.end.unwrap().tail.get(), 1, "as it was at the grant");
        let holder = other.holder(&session).await.unwrap();
        let Liveness::Live(Some(holder)) = holder else {
            panic!("{holder:?}");
        };
        assert_eq!(holder.token, lease.token);
        append(&driver, &session, AppendCondition::with(lease.token)).await;
        assert_eq!(driver.head(&session.id).await.unwrap().1.tail.get(), 3);
        // Once it is given back it is nobody's.
        let refused = other.acquire(&session, request.clone()).await.unwrap_err();
        assert_eq!(refused.kind().name(), "lease-held");
        driver.release(&lease).await.unwrap();
        drop(other.acquire(&session, request).await.unwrap());
    });
}

/// When the lease of a refused request lapses.
fn lapses(bucket: &Bucket, session: &SessionRef) -> Timestamp {
    let request = LeaseRequest::new(Owner::new("other").unwrap());
    let refused = block_on(bucket.acquire(session, request)).unwrap_err();
    let ErrorKind::LeaseHeld { expires_at, .. } = refused.kind() else {
        panic!("{refused}");
    };
    expires_at.unwrap()
}

#[test]
fn an_append_of_the_holder_renews_its_lease_and_nobody_elses_does() {
    let store = Arc::new(InMemory::new());
    let open = || Bucket::new(Arc::clone(&store) as _, "", Options::default());
    let (driver, other) = (open(), open());
    let session = SessionRef::fresh("s".parse().unwrap());
    block_on(driver.create(&session)).unwrap();
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let lease = block_on(driver.acquire(&session, request)).unwrap();
    let at_first = lapses(&other, &session);
    std::thread::sleep(Duration::from_millis(5));
    block_on(append(&driver, &session, AppendCondition::NONE));
    assert_eq!(lapses(&other, &session), at_first);
    block_on(append(
        &driver,
        &session,
        AppendCondition::with(lease.token),
    ));
    assert!(lapses(&other, &session) > at_first);
}

/// What was written and could not be looked for may have happened; an append that took over before it
/// failed so did not.
#[test]
fn a_grant_whose_place_cannot_be_seen_is_indeterminate_and_an_append_is_not() {
    let store = Arc::new(InMemory::new());
    let session = SessionRef::fresh("s".parse().unwrap());
    let writer = Bucket::new(Arc::clone(&store) as _, "", Options::default());
    block_on(writer.create(&session)).unwrap();
    let open = || {
        let written = AtomicBool::new(false);
        let blind = Faulty::new(Arc::clone(&store) as _, move |request| match request.op {
            Op::Create => {
                written.store(true, Ordering::Relaxed);
                Fault::None
            }
            Op::List if written.load(Ordering::Relaxed) => Fault::Lost,
            _ => Fault::None,
        });
        let mut options = Options::default();
        options.pause = Duration::ZERO;
        options.longest_pause = Duration::ZERO;
        Bucket::new(Arc::new(blind), "", options)
    };
    let new = NewEvent::json(Kind::from_static("note"), "1").unwrap();
    let told = block_on(open().append(&session, vec![new], AppendCondition::NONE));
    let kind = told.unwrap_err().kind().clone();
    assert_eq!(kind, ErrorKind::Unavailable);
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let told = block_on(open().acquire(&session, request));
    let kind = told.unwrap_err().kind().clone();
    assert_eq!(kind, ErrorKind::Indeterminate);
    let holder = block_on(writer.holder(&session)).unwrap();
    assert!(matches!(holder, Liveness::Live(_)), "{holder:?}");
}
