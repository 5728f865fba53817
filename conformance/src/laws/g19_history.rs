//! G19: what is undone stays readable: a backend gives no meaning to kinds.

use sessionlog_core::{Kind, NewEvent};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{End, Held, ensure_eq};
use crate::law::law;
use crate::make::{event, events};

pub(super) const LAWS: &[Law] = &[law!(
    g19_no_event_hides_another,
    "Rollbacks, compactions, heads and repairs are events like others: everything before them stays readable."
)];

async fn g19_no_event_hides_another(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut expected = Vec::new();
    let kinds = [
        "rollback",
        "compaction",
        "head",
        "fork",
        "repair.lost",
        "delete",
        "truncate",
    ];
    for (n, name) in (1..).zip(kinds) {
        let kind = Kind::new(name).map_err(|e| End::Broken(e.to_string()))?;
        let mut batch = events(n * 10..n * 10 + 3);
        batch.push(NewEvent {
            kind,
            ..event(n * 10 + 3)
        });
        expected.extend(batch.iter().map(|e| (e.id, e.kind.clone())));
        store.put_events(&session, batch).await?;
        let log = store.log(&session).await?;
        let seen: Vec<_> = log.into_iter().map(|e| (e.id, e.kind)).collect();
        ensure_eq!(seen, expected, "the log behind an event of kind {name}");
    }
    Ok(())
}
