//! A lost answer is settled by looking, never by guessing.

use crate::wrapper::{Fault, Wrapper, message};
use sessionlog_core::*;

fn appended_once(faults: &[Fault]) -> (Result<std::ops::Range<SeqNum>>, u64, u32) {
    pollster::block_on(async {
        let backend = Wrapper::faulty(faults);
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let owner = Owner::new("test").unwrap();
        let writer = session.acquire(LeaseRequest::new(owner)).await.unwrap();
        let outcome = writer.append(vec![message("a"), message("b")]).await;
        let tries = *backend.appends.lock().unwrap();
        (outcome, session.tail().await.unwrap().get(), tries)
    })
}

#[test]
fn a_batch_whose_answer_was_lost_is_there_once() {
    let (range, tail, tries) = appended_once(&[Fault::AnswerLost]);
    assert_eq!(range.unwrap(), SeqNum::ZERO..SeqNum::new(2));
    assert_eq!((tail, tries), (2, 2));
}

#[test]
fn a_batch_that_never_arrived_is_sent_again() {
    let (range, tail, tries) = appended_once(&[Fault::AnswerLost, Fault::RequestLost]);
    assert_eq!(range.unwrap(), SeqNum::ZERO..SeqNum::new(2));
    assert_eq!((tail, tries), (2, 3));
}

#[test]
fn an_outcome_that_stays_unknown_is_said_to_be_unknown() {
    let (outcome, tail, tries) = appended_once(&[Fault::RequestLost; 9]);
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Indeterminate);
    assert_eq!((tail, tries), (0, 4));
}

#[test]
fn a_conflict_behind_a_lost_request_settles_it() {
    let (outcome, tail, tries) = appended_once(&[Fault::Overtaken, Fault::RequestLost]);
    let tail_told = ErrorKind::Conflict { tail: SeqNum::ZERO };
    assert_eq!(*outcome.unwrap_err().kind(), tail_told);
    assert_eq!((tail, tries), (0, 2));
}

#[test]
fn a_storage_that_is_gone_behind_a_lost_answer_once_meant_that_nothing_happened() {
    use Fault::{AnswerLost, Unreachable};
    let (range, tail, tries) = appended_once(&[Unreachable, AnswerLost]);
    assert_eq!(range.unwrap(), SeqNum::ZERO..SeqNum::new(2));
    assert_eq!((tail, tries), (2, 3));

    let (outcome, tail, tries) =
        appended_once(&[Unreachable, Unreachable, Unreachable, AnswerLost]);
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Indeterminate);
    assert_eq!((tail, tries), (2, 4));

    let (outcome, tail, tries) = appended_once(&[Unreachable]);
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!((tail, tries), (0, 1));
}
