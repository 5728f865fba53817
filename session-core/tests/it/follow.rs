//! Following: no gap and no repeat between the stored part and the live part (L10).

use futures_util::FutureExt;
use sessionlog_core::*;

use crate::wrapper::message;

#[test]
fn stored_and_new_events_come_once_each_and_in_order() {
    let memory = Memory::new();
    let store = Store::new(memory.clone());
    let session = pollster::block_on(store.create("s".parse().unwrap())).unwrap();
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let session = session.clone();
            std::thread::spawn(move || {
                for n in 0..200 {
                    pollster::block_on(session.append(vec![message(&n.to_string())])).unwrap();
                }
            })
        })
        .collect();
    pollster::block_on(async {
        let mut follow = session.follow(SeqNum::ZERO);
        for n in 0..800 {
            assert_eq!(follow.next().await.unwrap().unwrap().seq.get(), n);
        }
        assert!(follow.next().now_or_never().is_none());
    });
    writers.into_iter().for_each(|w| w.join().unwrap());
}

#[test]
fn a_follower_learns_that_its_session_is_gone() {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let mut follow = session.follow(SeqNum::ZERO);
        assert!(follow.next().now_or_never().is_none());
        store.delete(session.id()).await.unwrap();
        assert!(follow.next().await.unwrap().unwrap_err().is_not_found());
        assert!(follow.next().await.is_none());
    });
}
