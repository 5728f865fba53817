//! Stores that no log can live in.

use std::sync::Arc;

use object_store::memory::InMemory;
use sessionlog_core::ErrorKind;

use super::{Fault, Faulty, Op, Request};
use crate::Place;
use crate::bench::Bench;
use crate::breach::{Held, breach, ensure_err};
use crate::make::life;

pub(crate) async fn g05_a_store_that_ignores_conditions_is_refused(bench: &Bench) -> Held {
    refused(
        bench,
        "a store that ignores conditions",
        |request| match request.op {
            Op::Create | Op::Update => Fault::Unconditional,
            _ => Fault::None,
        },
    )
    .await
}

pub(crate) async fn g06_a_store_whose_lists_lag_is_refused(bench: &Bench) -> Held {
    refused(bench, "a store whose lists lag", |request| {
        match request.op {
            Op::List => Fault::StaleList(16),
            _ => Fault::None,
        }
    })
    .await
}

async fn refused(
    bench: &Bench,
    what: &str,
    verdict: impl Fn(&Request) -> Fault + Send + Sync + 'static,
) -> Held {
    let store = Arc::new(Faulty::new(Arc::new(InMemory::new()), verdict));
    let place = Place::of_objects("unfit", store);
    let session = life("s", 1)?;
    // It may be looked at when it is opened, or when something is about to be stored in it.
    let refusal = async {
        let backend = (bench.subject.open)(&place).await?;
        backend.create(&session).await
    };
    let refusal = refusal.await;
    ensure_err!(
        refusal,
        ErrorKind::Unsupported,
        "storing a session in {what}"
    );
    match refusal {
        Err(error) if error.message().is_empty() => Err(breach("a refusal without a reason")),
        _ => Ok(()),
    }
}
