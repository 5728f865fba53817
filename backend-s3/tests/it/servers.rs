//! The suite on servers: Amazon's protocol on ministack, Azure's on Azurite, which `.ci/servers`
//! starts; and Google's on a stub of ours.

use std::io::Write;

use sessionlog_backend_s3::{Bucket, Location, Options};
use sessionlog_conformance::{
    Budget, Capability, ChildCommand, Law, Level, Medium, Place, Subject, child, run_some,
};
use sessionlog_core::{Error, Result};

use crate::conformance::TIMED;
use crate::gcs;

/// The URL of a server's store. Without one this is said, and is no failure for a person who has
/// Rust alone; where servers are required, it is one.
pub(crate) fn server(var: &str) -> Option<String> {
    match std::env::var(var) {
        Ok(url) => Some(url),
        Err(_) if std::env::var_os("SESSIONLOG_REQUIRE_SERVERS").is_some() => {
            panic!("{var} has no server's URL: run the tests by .ci/servers")
        }
        Err(_) => {
            // Not captured, as what a test prints is.
            let told = format!("\nNotMeasured: no server in {var}; bash .ci/servers has one\n");
            std::io::stderr().write_all(told.as_bytes()).unwrap();
            None
        }
    }
}

/// A store of its own at a URL.
fn open(place: &Place) -> Result<Bucket> {
    let base = place
        .base()
        .ok_or_else(|| Error::invalid("the place has no URL"))?;
    let (bucket, query) = base.split_once('?').unwrap_or((base, ""));
    // The servers are probed by tests of their own.
    let url = format!("{bucket}/{}?{query}&probe=false", place.name());
    Bucket::open(&Location::parse(&url)?, Options::default())
}

macro_rules! subject {
    ($name:ident) => {
        struct $name;

        impl Subject for $name {
            type Backend = Bucket;
            const MEDIUM: Medium = Medium::External;
            const PROMPT_LEASES: Capability = TIMED;

            async fn open(place: &Place) -> Result<Bucket> {
                open(place)
            }
        }
    };
}

subject!(Ministack);
subject!(Azurite);
subject!(Gcs);

/// Runs laws on a server, with the smallest budget: what is particular to a server is the same in
/// every case.
fn uphold<S: Subject>(url: &str, test: &str, wanted: impl Fn(&Law) -> bool) {
    let options = sessionlog_conformance::Options::new(Budget::Smoke)
        .with_base(url)
        .with_child(ChildCommand::test(test));
    let report = run_some::<S>(&options, wanted);
    println!("{report}");
    assert!(report.is_green(), "{report}");
}

#[test]
fn ministack_upholds_the_guarantees() {
    if child::<Ministack>() {
        return;
    }
    if let Some(url) = server("SESSIONLOG_TEST_S3") {
        uphold::<Ministack>(&url, "servers::ministack_upholds_the_guarantees", |_| true);
    }
}

#[test]
fn azurite_upholds_the_guarantees() {
    if child::<Azurite>() {
        return;
    }
    if let Some(url) = server("SESSIONLOG_TEST_AZURE") {
        uphold::<Azurite>(&url, "servers::azurite_upholds_the_guarantees", |_| true);
    }
}

#[test]
fn a_stub_of_google_upholds_the_contract() {
    let url = format!(
        "gs:bucket?endpoint=http://{}&allow_http=true&bearer_token=test",
        gcs::start()
    );
    // What the client makes of conditions, lists, ranges and deletions; the rest is as on the servers.
    let asked = ["a01_", "g01_", "g03_", "g04_", "g08_", "g14_", "g17_"];
    uphold::<Gcs>(&url, "", |law| {
        law.level == Level::Contract && asked.iter().any(|prefix| law.id.starts_with(prefix))
    });
}
