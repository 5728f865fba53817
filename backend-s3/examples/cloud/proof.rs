//! What must be true at the end.

use std::collections::HashMap;

use sessionlog_core::transcript::{Dialect, Transcript, check::check};
use sessionlog_core::{Error, EventId, Result, SeqNum, Store};

use crate::fleet::Told;

/// Every acknowledged event is there once, and each session goes on as a valid conversation.
pub(crate) async fn prove(store: &Store, told: &Told) -> Result<String> {
    let (mut events, mut conversations) = (0, 0);
    for id in crate::sessions()? {
        let session = store.open(&id).await?;
        let mut there: HashMap<EventId, usize> = HashMap::new();
        // A read checks the checksum of every event, and the order of all.
        for event in session.read(SeqNum::all()).collect().await? {
            *there.entry(event.id).or_default() += 1;
            events += 1;
        }
        let acknowledged = told.acknowledged.iter().filter(|(at, _)| *at == id);
        for (_, event) in acknowledged {
            match there.get(event) {
                Some(1) => {}
                Some(n) => return Err(broken(format!("{id}: {event} is there {n} times"))),
                None => {
                    return Err(broken(format!(
                        "{id}: {event} was acknowledged, and is lost"
                    )));
                }
            }
        }
        if let Some((event, n)) = there.iter().find(|(_, n)| **n > 1) {
            return Err(broken(format!("{id}: {event} is there {n} times")));
        }
        let mut replayed = session.project::<Transcript>().await?;
        session.load(&mut replayed.state, None).await?;
        let conversation = replayed.state.conversation(None)?;
        for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
            let rendered = conversation.render(dialect);
            check(dialect, &rendered.messages)
                .map_err(|breach| broken(format!("{id}: {dialect:?} {breach}")))?;
            conversations += 1;
        }
        let findings = store.verify(&id).await?;
        if let Some(finding) = findings.first() {
            return Err(broken(format!("{id}: {finding:?}")));
        }
    }
    Ok(format!(
        "{} acknowledged events, each there once; {events} events in all; {conversations} \
         conversations, valid",
        told.acknowledged.len()
    ))
}

fn broken(what: String) -> Error {
    Error::internal(what)
}
