use super::*;
use futures_util::future::{FutureExt, join_all, ready};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often a request is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn echo(commits: &AtomicUsize) -> impl FnOnce((), Vec<usize>) -> Vec<Result<usize>> + '_ {
    |(), requests| {
        commits.fetch_add(1, Ordering::Relaxed);
        requests.into_iter().map(Ok).collect()
    }
}

#[test]
fn all_that_is_ready_shares_one_commit() {
    let combiner = Combiner::default();
    let commits = AtomicUsize::new(0);
    let all = (0..64).map(|n| combiner.submit(n, ready(Ok(())), echo(&commits)));
    let outcomes: Vec<_> = pollster::block_on(join_all(all))
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(outcomes, (0..64).collect::<Vec<_>>());
    assert_eq!(commits.into_inner(), 1);
}

#[test]
fn a_dropped_request_is_taken_back_and_a_dropped_leader_hands_over() {
    let combiner = Combiner::default();
    let commits = AtomicUsize::new(0);
    let mut leader = Box::pin(combiner.submit(1, ready(Ok(())), echo(&commits)));
    let mut second = Box::pin(combiner.submit(2, ready(Ok(())), echo(&commits)));
    let third = combiner.submit(3, ready(Ok(())), echo(&commits));
    assert!(leader.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    drop(leader);
    assert_eq!(pollster::block_on(second).unwrap(), 2);
    assert_eq!(pollster::block_on(third).unwrap(), 3);
}

#[test]
fn what_was_taken_back_is_not_committed() {
    let combiner = Combiner::default();
    let seen = Mutex::new(Vec::new());
    let commit = |(), requests: Vec<u8>| {
        lock(&seen).extend(requests.iter().copied());
        requests.into_iter().map(Ok).collect()
    };
    let mut left = Box::pin(combiner.submit(1, ready(Ok(())), commit));
    let mut second = Box::pin(combiner.submit(2, ready(Ok(())), commit));
    assert!(left.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    drop(left);
    assert_eq!(pollster::block_on(second).unwrap(), 2);
    assert_eq!(*lock(&seen), [2]);
}

#[test]
fn a_commit_with_too_few_outcomes_leaves_nobody_waiting() {
    let combiner = Combiner::<u8, u8>::default();
    let one = |(), requests: Vec<u8>| requests.into_iter().take(1).map(Ok).collect();
    let mut all = [1, 2, 3].map(|n| Box::pin(combiner.submit(n, ready(Ok(())), one)));
    for submitted in &mut all {
        assert!(submitted.as_mut().now_or_never().is_none());
    }
    let outcomes = all.map(|submitted| submitted.now_or_never());
    assert!(matches!(
        outcomes,
        [Some(Ok(1)), Some(Err(_)), Some(Err(_))]
    ));
}

#[test]
fn who_gets_no_outcome_from_a_commit_of_another_is_woken() {
    let combiner = Combiner::<u8, u8>::default();
    let one = |(), requests: Vec<u8>| requests.into_iter().take(1).map(Ok).collect();
    let open = std::cell::Cell::new(false);
    let opened = poll_fn(|_| match open.get() {
        true => Poll::Ready(Ok(())),
        false => Poll::Pending,
    });
    let mut leader = Box::pin(combiner.submit(1, opened, one));
    for _ in 0..2 {
        assert!(leader.as_mut().now_or_never().is_none());
    }
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut second = Box::pin(combiner.submit(2, ready(Ok(())), one));
    let mut context = std::task::Context::from_waker(&waker);
    assert!(second.as_mut().poll(&mut context).is_pending());
    open.set(true);
    assert_eq!(leader.now_or_never().unwrap().unwrap(), 1);
    assert_eq!(woken.count(), 1);
    assert!(second.now_or_never().unwrap().is_err());
}

#[test]
fn who_waits_for_a_commit_of_another_sleeps() {
    let combiner = Combiner::<u8, u8>::default();
    let all = |(), requests: Vec<u8>| requests.into_iter().map(Ok).collect();
    let never = futures_util::future::pending::<Result<()>>();
    let mut leader = Box::pin(combiner.submit(1, never, all));
    for _ in 0..2 {
        assert!(leader.as_mut().now_or_never().is_none());
    }
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut second = Box::pin(combiner.submit(2, ready(Ok(())), all));
    let mut context = std::task::Context::from_waker(&waker);
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!(woken.count(), 0);
    drop(leader);
    assert_eq!(woken.count(), 1);
    assert_eq!(pollster::block_on(second).unwrap(), 2);
}

#[test]
fn a_request_that_is_polled_no_more_once_held_up_all_behind_it() {
    let combiner = Combiner::default();
    let commits = AtomicUsize::new(0);
    // As a `select!` leaves it that awaits another append in the branch that came first.
    let mut left = Box::pin(combiner.submit(1, ready(Ok(())), echo(&commits)));
    assert!(left.as_mut().now_or_never().is_none());
    let second = combiner.submit(2, ready(Ok(())), echo(&commits));
    assert_eq!(pollster::block_on(second).unwrap(), 2);
    assert_eq!(pollster::block_on(left).unwrap(), 1);
    assert_eq!(commits.into_inner(), 1);
}

#[test]
fn whoever_is_polled_first_leads_behind_a_commit() {
    let combiner = Combiner::<u8, u8>::default();
    let all = |(), requests: Vec<u8>| requests.into_iter().map(Ok).collect();
    let never = futures_util::future::pending::<Result<()>>();
    let mut leader = Box::pin(combiner.submit(1, never, all));
    for _ in 0..2 {
        assert!(leader.as_mut().now_or_never().is_none());
    }
    let mut second = Box::pin(combiner.submit(2, ready(Ok(())), all));
    let mut third = Box::pin(combiner.submit(3, ready(Ok(())), all));
    assert!(second.as_mut().now_or_never().is_none());
    assert!(third.as_mut().now_or_never().is_none());
    drop(leader);
    assert_eq!(pollster::block_on(third).unwrap(), 3);
    assert_eq!(pollster::block_on(second).unwrap(), 2);
}

#[test]
fn an_error_of_the_lock_reaches_all_and_the_next_works() {
    let combiner = Combiner::<u8, u8>::default();
    let refuse = || ready(Err::<(), _>(Error::unavailable("locked")));
    let all = (0..3).map(|n| combiner.submit(n, refuse(), |(), _| Vec::new()));
    assert!(pollster::block_on(join_all(all)).iter().all(Result::is_err));
    let next = combiner.submit(7, ready(Ok(())), |(), r| r.into_iter().map(Ok).collect());
    assert_eq!(pollster::block_on(next).unwrap(), 7);
}

#[test]
fn a_panic_in_a_commit_leaves_nobody_waiting() {
    let combiner = Arc::new(Combiner::<u8, u8>::default());
    let broken = Arc::clone(&combiner);
    let died = std::thread::spawn(move || {
        pollster::block_on(broken.submit(1, ready(Ok(())), |(), _| panic!("on purpose")))
    });
    assert!(died.join().is_err());
    let next = combiner.submit(7, ready(Ok(())), |(), r| r.into_iter().map(Ok).collect());
    assert_eq!(pollster::block_on(next).unwrap(), 7);
}

#[test]
fn many_threads_get_each_their_own_answer() {
    let combiner = Combiner::<usize, usize>::default();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let combiner = &combiner;
            scope.spawn(move || {
                for n in 0..500 {
                    let n = thread * 1000 + n;
                    let double = |(), r: Vec<usize>| r.into_iter().map(|n| Ok(n * 2)).collect();
                    let got = pollster::block_on(combiner.submit(n, ready(Ok(())), double));
                    assert_eq!(got.unwrap(), n * 2);
                }
            });
        }
    });
}
