//! A lease whose grant is overtaken before it is looked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Op, Slow};
use sessionlog_core::{
    AppendCondition, EventLog, Kind, LeaseRequest, LeaseStore, Liveness, NewEvent, Owner,
    SessionRef,
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
