//! The suite on an object store whose requests are lost, late, repeated and spoiled.

use std::time::Duration;

use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject, conformance};
use sessionlog_core::Result;

/// Whatever is dangerous happens often: heads are collected, tails sealed, tries used up.
fn hasty() -> Options {
    let mut options = Options::default();
    options.seal_bytes = 300;
    options.collect_every = 4;
    options.tries = 3;
    options.pause = Duration::ZERO;
    // Requests that wait for their turn are no slow ones.
    options.request_timeout = Duration::from_secs(3_600);
    options
}

struct Spoiled;

impl Subject for Spoiled {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::ObjectStore;
    const PROMPT_LEASES: Capability =
        Capability::No("a store of objects sees nobody die: leases end by release or by time");
    const REFUSES_UNFIT_STORES: Capability =
        Capability::No("`Bucket::new` is for a store that is known to be fit");

    async fn open(place: &Place) -> Result<Bucket> {
        Ok(Bucket::new(place.objects(), place.name(), hasty()))
    }
}

conformance!(Spoiled);

struct Probed;

impl Subject for Probed {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::ObjectStore;

    async fn open(place: &Place) -> Result<Bucket> {
        Bucket::probed(place.objects(), place.name(), hasty()).await
    }
}

#[test]
fn a_probed_bucket_refuses_stores_that_are_not_fit() {
    use sessionlog_conformance::{Options, Verdict, run_some};
    let wanted = [
        "g05_a_store_that_ignores_conditions_is_refused",
        "g06_a_store_whose_lists_lag_is_refused",
        "g01_positions_are_dense_from_zero",
    ];
    let report = run_some::<Probed>(&Options::smoke(), |law| wanted.contains(&law.id));
    let passed = |o: &sessionlog_conformance::Outcome| o.verdict == Verdict::Passed;
    assert_eq!(report.outcomes.len(), wanted.len());
    assert!(report.outcomes.iter().all(passed), "{report}");
}
