//! Every read of every backend is checked here (G4, G15).

use std::ops::Range;
use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};

use crate::events::Verified;

use crate::{
    Backend, Chunks, Error, Event, EventLog, Finding, Head, Place, Result, SeqNum, SessionId,
    SessionRef, Severity,
};

/// Events handed out with a proof: each stands behind the one before, unchanged.
struct Check {
    session: SessionRef,
    /// The end of what was verified; `None` until the event before the range was seen.
    head: Option<Head>,
    /// The first position to hand out.
    start: SeqNum,
    /// Where the range ends, as far as the log reached when the read began.
    end: Head,
    limit: SeqNum,
    source: Option<Chunks>,
    /// What was found behind events that are whole, and is told after them.
    damage: Option<Error>,
}

/// The verified chunks of a range. `base` is the verified end before `range.start`, if known.
pub(crate) fn verified(
    backend: Arc<dyn Backend>,
    session: SessionRef,
    range: Range<SeqNum>,
    base: Option<Head>,
) -> Verified {
    let opened = async move {
        let (present, end) = backend.head(&session.id).await?;
        if present == session {
            Ok(verified_until(&*backend, session, end, range, base))
        } else {
            Err(session.gone())
        }
    };
    stream::once(opened).try_flatten().boxed()
}

/// The same, of a log whose end the caller has just looked at.
pub(crate) fn verified_until(
    backend: &dyn Backend,
    session: SessionRef,
    end: Head,
    range: Range<SeqNum>,
    base: Option<Head>,
) -> Verified {
    let limit = range.end.min(end.tail);
    let start = range.start;
    let genesis = Head::genesis(&session.id, session.incarnation);
    let head = base.or_else(|| (start == SeqNum::ZERO).then_some(genesis));
    let first = if head.is_some() {
        start
    } else {
        start.minus(1)
    };
    let source = (first < limit).then(|| backend.read_known(&session, first..limit));
    let check = Check {
        session,
        head,
        start,
        end,
        limit,
        source,
        damage: None,
    };
    check.run().boxed()
}

impl Check {
    fn run(self) -> impl Stream<Item = Result<(Vec<Event>, Head)>> + Send {
        stream::unfold(self, |mut check| async move {
            loop {
                if let Some(error) = check.damage.take() {
                    check.source = None;
                    return Some((Err(error), check));
                }
                let chunk = check.source.as_mut()?.next().await;
                let verified = match chunk {
                    Some(Ok(events)) => check.verify(events),
                    Some(Err(error)) => Err(error),
                    None => match check.finish() {
                        Ok(()) => return None,
                        Err(error) => Err(error),
                    },
                };
                if verified.is_err() {
                    check.source = None;
                }
                match verified {
                    Ok((events, _)) if events.is_empty() => {}
                    item => return Some((item, check)),
                }
            }
        })
    }

    fn verify(&mut self, mut events: Vec<Event>) -> Result<(Vec<Event>, Head)> {
        let mut head = match (self.head, events.first()) {
            (Some(head), _) => head,
            (None, Some(first)) if first.seq == self.start.minus(1) => {
                let head = Head::after(first);
                events.remove(0);
                head
            }
            (None, _) => return Err(self.ended(self.start.minus(1), "the log has a gap")),
        };
        let mut whole = 0;
        for event in &events {
            if let Err(error) = head.verify(&self.session.id, event) {
                self.damage = Some(error);
                break;
            }
            whole += 1;
        }
        events.truncate(whole);
        if head.tail > self.limit {
            return Err(Error::internal(format!(
                "the backend read beyond {}",
                self.limit
            )));
        }
        self.head = Some(head);
        Ok((events, head))
    }

    fn finish(&mut self) -> Result<()> {
        self.source = None;
        let Some(head) = self.head else {
            return Err(self.ended(self.start.minus(1), "the log ends before its tail"));
        };
        if head.tail < self.limit {
            return Err(self.ended(head.tail, "the log ends before its tail"));
        }
        if head.tail == self.end.tail && head.sum != self.end.sum {
            return Err(self.ended(
                head.tail.minus(1),
                "the last event is not the one at the tail",
            ));
        }
        Ok(())
    }

    fn ended(&self, seq: SeqNum, message: &str) -> Error {
        Error::corrupt(Place::session(&self.session.id).with_seq(seq), message)
    }
}

/// Reads a whole log and its checksums, for backends with no closer look of their own: the first
/// damage is the one finding.
///
/// # Errors
/// `NotFound`; what the log gives for anything but damage.
pub async fn verify_by_reading<L: EventLog + ?Sized>(
    log: &L,
    id: &SessionId,
) -> Result<Vec<Finding>> {
    let found = async {
        let (session, end) = log.head(id).await?;
        let mut head = Head::genesis(&session.id, session.incarnation);
        let mut chunks = log.read(&session, SeqNum::ZERO..end.tail);
        while let Some(chunk) = chunks.next().await {
            chunk?
                .iter()
                .try_for_each(|event| head.verify(&session.id, event))?;
        }
        if head == end {
            Ok(())
        } else {
            let place = Place::session(id).with_seq(head.tail);
            Err(Error::corrupt(place, "the log ends before its tail"))
        }
    }
    .await;
    match found {
        Ok(()) => Ok(Vec::new()),
        Err(error) => match error.kind() {
            crate::ErrorKind::Corrupt { place } => {
                let damage = Finding::new(Severity::Damage, place.clone(), error.message());
                Ok(vec![damage])
            }
            _ => Err(error),
        },
    }
}
