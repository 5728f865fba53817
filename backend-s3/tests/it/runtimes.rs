//! A client works wherever its futures are polled.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use sessionlog_backend_s3::Location;

use crate::stub;

/// A server of one object that first gives each request a 503.
fn failing_first() -> SocketAddr {
    let requests = AtomicUsize::new(0);
    stub::serve(
        move |_| match requests.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => stub::answer("503 Slow", "", b""),
            _ => {
                let headers = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"e\"\r\n";
                stub::answer("200 OK", headers, b"whole")
            }
        },
    )
}

fn client() -> Arc<dyn ObjectStore> {
    let url = format!(
        "s3:bucket?endpoint=http://{}&allow_http=true&probe=false\
         &access_key_id=id&secret_access_key=secret",
        failing_first()
    );
    Location::parse(&url).unwrap().connect().unwrap().0
}

async fn read(store: &dyn ObjectStore) -> String {
    let key = Path::from("k");
    // The client repeats nothing unasked.
    let refused = store.get(&key).await.unwrap_err();
    assert!(refused.to_string().contains("503"), "{refused}");
    let got = store.get(&key).await.unwrap();
    String::from_utf8(got.bytes().await.unwrap().to_vec()).unwrap()
}

#[test]
fn without_a_runtime() {
    assert_eq!(pollster::block_on(read(&*client())), "whole");
}

#[tokio::test]
async fn on_a_current_thread_runtime() {
    assert_eq!(read(&*client()).await, "whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_multi_thread_runtime() {
    let store = client();
    let task = tokio::spawn(async move { read(&*store).await });
    assert_eq!(task.await.unwrap(), "whole");
}

#[test]
fn connections_outlive_the_runtime_that_made_them() {
    let store = client();
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(read(&*store)), "whole");
    }
    assert_eq!(pollster::block_on(read(&*store)), "whole");
}
