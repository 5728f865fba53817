//! Broken twins: each has one fault, and must fail exactly the laws that it names.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a twin that can't be built fails its test"
)]

mod beside;
mod blob;
mod bulk;
mod damage;
mod fault;
mod files;
mod harmed;
mod lease;
mod log;
mod memory;
mod objects;
mod opening;
pub(crate) mod power;
mod race;
mod replay;
mod retry;
mod snapshot;
mod timed;
mod under_way;
mod upkeep;

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use sessionlog_conformance::{ChildCommand, Law, Level, Medium, Options, Subject, Verdict};
use sessionlog_core::{
    Backend, BlobId, EventId, FencingToken, Head, Lease, LeaseRequest, Owner, Result, SessionId,
    SessionRef, Timestamp,
};

pub(crate) use fault::Fault;

/// A backend with one fault, over one that has none.
#[derive(Clone)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) fault: Fault,
    /// What all handles on a place share.
    pub(crate) shared: Arc<Shared>,
    /// What one handle has for itself.
    pub(crate) own: Arc<Own>,
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) opened: AtomicUsize,
    pub(crate) busy: AtomicBool,
    pub(crate) flying: AtomicUsize,
    pub(crate) writer: AtomicUsize,
    pub(crate) known: Mutex<Known>,
}

#[derive(Default)]
pub(crate) struct Known {
    pub(crate) deleted: Vec<SessionId>,
    pub(crate) held: HashMap<SessionId, Vec<Lease>>,
    pub(crate) released: Vec<FencingToken>,
    pub(crate) blobs: HashMap<(SessionId, BlobId), Vec<u8>>,
    pub(crate) puts: HashMap<BlobId, usize>,
    pub(crate) ids: HashMap<EventId, SessionId>,
    /// Tokens are told less these.
    pub(crate) base: HashMap<SessionRef, u64>,
    pub(crate) newest: HashMap<SessionRef, u64>,
    /// The newest token and the tail of each session when the store was opened.
    pub(crate) at_open: HashMap<SessionRef, (u64, u64)>,
    pub(crate) state: bytes::Bytes,
    pub(crate) snapshot: Option<sessionlog_core::Snapshot>,
    pub(crate) late: Vec<(SessionRef, Vec<sessionlog_core::NewEvent>)>,
    /// The blobs of lives that were deleted.
    pub(crate) left: HashMap<SessionRef, Vec<Vec<u8>>>,
    /// Sessions whose lease is being granted.
    pub(crate) busy: Vec<SessionRef>,
    /// Leases that lapse, and when.
    pub(crate) timed: HashMap<SessionRef, (Lease, Timestamp)>,
}

#[derive(Default)]
pub(crate) struct Own {
    pub(crate) number: usize,
    pub(crate) heads: Mutex<HashMap<SessionRef, Head>>,
    pub(crate) list: Mutex<Option<Vec<SessionId>>>,
    pub(crate) granted: Mutex<HashMap<SessionRef, FencingToken>>,
    pub(crate) reading: Arc<()>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Backend>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            shared: Arc::default(),
            own: Arc::default(),
            dir: None,
        }
    }

    pub(crate) fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.shared.known)
    }

    /// Frees a lease whoever holds it.
    pub(crate) async fn free(&self, session: &SessionRef) -> Result<()> {
        let request = LeaseRequest::new(Owner::new("fault")?).forced();
        drop(self.inner.acquire(session, request).await?);
        Ok(())
    }
}

/// Gives others a turn.
pub(crate) async fn pause() {
    let mut paused = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs the laws of damaged files on a twin whose fault no other law can meet.
pub(crate) fn must_fail_damaged<S: Subject>(_: &str, expected: &[&str]) {
    let options = Options::smoke();
    must_fail_some::<S>(&options, expected, |law| law.level == Level::Damage);
}

/// Runs every law on a twin; what is not green must be what it names, and nothing else.
pub(crate) fn must_fail<S: Subject>(child: &str, expected: &[&str]) {
    if sessionlog_conformance::child::<S>() {
        return;
    }
    let options = Options::smoke();
    let options = match S::MEDIUM {
        // What memory can do it does at once.
        Medium::Memory => options.with_patience(60),
        Medium::ObjectStore => options.with_patience(400),
        _ => options.with_child(ChildCommand::test(child)),
    };
    must_fail_with::<S>(&options, expected);
}

pub(crate) fn must_fail_with<S: Subject>(options: &Options, expected: &[&str]) {
    must_fail_some::<S>(options, expected, |_| true);
}

/// Runs some laws on a twin; what is not green must be what it names, and nothing else.
pub(crate) fn must_fail_some<S: Subject>(
    options: &Options,
    expected: &[&str],
    wanted: impl Fn(&Law) -> bool,
) {
    let in_its_share = |law: &Law| expected.contains(&law.id) || has_share(expected, law.id);
    let report =
        sessionlog_conformance::run_some::<S>(options, |law| wanted(law) && in_its_share(law));
    must_be_red(&report, expected);
}

/// Whether a twin is asked for a law that it is to pass: each of them for a part of
/// these laws, and another one each, so that all of them together are asked for all. One without a fault is
/// asked for all of them, and so is each in a deep run.
fn has_share(expected: &[&str], law: &str) -> bool {
    const SHARE: u64 = 8;
    let deep = std::env::var("SESSIONLOG_CONFORMANCE_BUDGET").is_ok_and(|budget| budget == "deep");
    let mut hasher = DefaultHasher::new();
    (expected, law).hash(&mut hasher);
    deep || expected.is_empty() || hasher.finish().is_multiple_of(SHARE)
}

/// Whether it is chance that a law sees a fault: who waits for what is under way gives it a little time.
fn is_chance(outcome: &sessionlog_conformance::Outcome) -> bool {
    outcome.level == Level::Race || outcome.law == "g08_a_grant_fences_an_append_under_way"
}

/// What is not green must be what is named, and nothing else. Whether threads meet where it hurts is
/// chance: a law of races that is not named may fail or not.
pub(crate) fn must_be_red(report: &sessionlog_conformance::Report, expected: &[&str]) {
    let expected: BTreeSet<_> = expected.iter().copied().collect();
    let red: BTreeSet<_> = report
        .outcomes
        .iter()
        .filter(|o| !o.verdict.is_green())
        .filter(|o| !is_chance(o) || expected.contains(o.law))
        .map(|o| o.law)
        .collect();
    for law in red.difference(&expected) {
        let found = report.outcomes.iter().find(|o| o.law == *law);
        eprintln!("UNEXPECTED {}\n", found.unwrap());
    }
    let list: Vec<_> = red.iter().map(|law| format!("        {law},\n")).collect();
    assert_eq!(red, expected, "this twin fails\n{}", list.concat());
    assert!(
        report
            .outcomes
            .iter()
            .all(|o| o.verdict != Verdict::Passed || o.replay.is_none()),
        "a law that passed has no command to see it fail"
    );
}

/// Every law has a twin that must fail it: or nobody knows whether the law can fail at all.
#[test]
fn every_law_has_a_twin() {
    let caught: BTreeSet<_> = memory::ALL
        .iter()
        .chain(opening::OTHERS)
        .chain(beside::ALL)
        .chain(bulk::ALL)
        .chain(under_way::ALL)
        .chain(timed::ALL)
        .chain(replay::ALL)
        .chain(objects::ALL)
        .chain(files::ALL)
        .chain(files::OTHERS)
        .chain(damage::ALL)
        .chain(harmed::ALL)
        .chain(race::ALL)
        .chain(power::ALL)
        .flat_map(|(_, laws)| laws.iter().copied())
        .collect();
    let laws: BTreeSet<_> = sessionlog_conformance::laws().map(|law| law.id).collect();
    let without: Vec<_> = laws.difference(&caught).collect();
    assert!(without.is_empty(), "laws that no twin fails: {without:#?}");
    let unknown: Vec<_> = caught.difference(&laws).collect();
    assert!(
        unknown.is_empty(),
        "twins that name laws that are not there: {unknown:#?}"
    );
}

/// Makes a subject and a test of each twin, and a table of them.
macro_rules! twins {
    ($module:literal, $subject:ident; $($twins:tt)*) => {
        twins! { $module, $subject, must_fail; $($twins)* }
    };
    (
        $module:literal, $subject:ident, $run:ident;
        $($name:ident $fault:ident [$($law:ident),* $(,)?])*
    ) => {
        $(
            #[test]
            fn $name() {
                struct Twin;
                $subject!(Twin, $fault);
                let child = concat!("twins::", $module, "::", stringify!($name));
                super::$run::<Twin>(child, &[$(stringify!($law)),*]);
            }
        )*

        /// The twins and the laws that they must fail.
        pub(crate) const ALL: &[(&str, &[&str])] = &[
            $((stringify!($name), &[$(stringify!($law)),*])),*
        ];
    };
}

pub(crate) use twins;
