//! The rules of an append, in one place for all backends.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::{
    AppendCondition, Error, ErrorKind, Event, EventId, FencingToken, Head, Limits, NewEvent,
    Result, SeqNum,
};

/// What a backend must know of a session to decide an append: the end of its log and the ids of
/// its last events.
///
/// A backend keeps a ledger per session that it appends to, and asks it for each batch:
///
/// 1. [`wanted`](Self::wanted) says which stored events it must see first. Nearly always none: an
///    id larger than all before it is new, and ids of the last 4,096 events are remembered.
/// 2. [`admit`](Self::admit) gives the sealed events to write, or the positions of a batch that is
///    there already, or the error. It moves the ledger to the end of the batch.
/// 3. If the write fails, the ledger is made anew from the head before it.
///
/// ```
/// use sessionlog_core::*;
///
/// let session = SessionRef::fresh("s1".parse()?);
/// let mut ledger = Ledger::new(Head::genesis(&session.id, session.incarnation));
/// let event = NewEvent::json(Kind::from_static("message"), r#"{"role":"user"}"#)?;
///
/// assert!(ledger.wanted(std::slice::from_ref(&event)).is_none());
/// let none = FencingToken::NONE;
/// let batch = vec![event.clone()];
/// let admitted = ledger.admit(batch, AppendCondition::NONE, &Limits::default(), none, &[])?;
/// let Admission::Write(stored) = admitted else { unreachable!() };
/// assert_eq!(stored[0].seq, SeqNum::ZERO);
///
/// // The same batch again: the ledger wants to see what is stored, and knows it.
/// assert!(ledger.wanted(std::slice::from_ref(&event)).is_some());
/// let again = ledger.admit(vec![event], AppendCondition::NONE, &Limits::default(), none, &stored)?;
/// assert_eq!(again, Admission::Repeat(SeqNum::ZERO..SeqNum::new(1)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    head: Head,
    /// No id before the remembered ones is larger.
    floor: EventId,
    recent: VecDeque<Recent>,
    /// Where those of the remembered ids are that were smaller than one before.
    late: HashMap<EventId, SeqNum>,
}

/// A remembered id, and the largest up to it: these ascend, so that most ids are found by bisection.
#[derive(Clone, Copy, Debug)]
struct Recent {
    id: EventId,
    top: EventId,
}

impl Recent {
    fn is_late(self) -> bool {
        self.id < self.top
    }
}

/// What is to be done with a batch.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// Write these events, all or none.
    Write(Vec<Event>),
    /// The batch is stored already, here.
    Repeat(Range<SeqNum>),
}

/// Stored events that must be seen before a batch can be admitted.
#[derive(Debug)]
pub struct Wanted {
    /// Read these positions.
    pub range: Range<SeqNum>,
    ids: HashSet<EventId>,
}

impl Wanted {
    /// Whether this is one of them: keep it for [`Ledger::admit`], drop the others.
    pub fn matches(&self, event: &Event) -> bool {
        self.ids.contains(&event.id)
    }
}

enum Known {
    Absent,
    At(SeqNum),
    Perhaps,
}

impl Ledger {
    /// How many ids are remembered.
    const WINDOW: usize = 4096;

    /// The ledger of a log that ends at `head`.
    pub fn new(head: Head) -> Self {
        Self {
            head,
            floor: head.top,
            recent: VecDeque::new(),
            late: HashMap::new(),
        }
    }

    /// The end of the log.
    pub fn head(&self) -> Head {
        self.head
    }

    fn known(&self, id: &EventId) -> Known {
        if *id > self.head.top {
            Known::Absent
        } else if let Some(seq) = self.place(id) {
            Known::At(seq)
        } else if *id > self.floor {
            Known::Absent
        } else {
            Known::Perhaps
        }
    }

    /// Where a remembered id is.
    fn place(&self, id: &EventId) -> Option<SeqNum> {
        let at = self.recent.partition_point(|recent| recent.top < *id);
        match self.recent.get(at) {
            Some(recent) if recent.id == *id => {
                let behind = u64::try_from(self.recent.len() - at).unwrap_or(u64::MAX);
                Some(self.head.tail.minus(behind))
            }
            _ => self.late.get(id).copied(),
        }
    }

    /// Which stored events must be read before this batch can be admitted; `None` if its ids are
    /// certainly new.
    pub fn wanted(&self, events: &[NewEvent]) -> Option<Wanted> {
        let mut range: Option<Range<SeqNum>> = None;
        for event in events {
            let here = match self.known(&event.id) {
                Known::Absent => continue,
                Known::At(seq) => seq..seq.plus(1),
                Known::Perhaps => SeqNum::ZERO..self.head.tail,
            };
            range = Some(match range {
                Some(r) => r.start.min(here.start)..r.end.max(here.end),
                None => here,
            });
        }
        range.map(|range| Wanted {
            range,
            ids: events.iter().map(|e| e.id).collect(),
        })
    }

    /// Decides a batch and, if it is to be written, moves behind it.
    ///
    /// `newest` is the token of the newest grant. `stored` holds the events that
    /// [`wanted`](Self::wanted) asked for, as far as the log has them.
    ///
    /// # Errors
    /// `InvalidInput` (limits, an id twice, ids that are stored with other content), `Fenced`,
    /// `Conflict`. The ledger is then as before.
    pub fn admit(
        &mut self,
        events: Vec<NewEvent>,
        condition: AppendCondition,
        limits: &Limits,
        newest: FencingToken,
        stored: &[Event],
    ) -> Result<Admission> {
        limits.check(&events)?;
        if let Some(id) = twice(&events) {
            return Err(Error::invalid(format!(
                "the batch has an event id twice: {id}"
            )));
        }
        if !stored.is_empty() {
            let ids: HashSet<EventId> = events.iter().map(|e| e.id).collect();
            let stored: Vec<&Event> = stored.iter().filter(|e| ids.contains(&e.id)).collect();
            if !stored.is_empty() {
                return repeat(&events, &stored).map(Admission::Repeat);
            }
        }
        fence(condition.token, newest)?;
        if condition.tail.is_some_and(|tail| tail != self.head.tail) {
            let tail = self.head.tail;
            return Err(Error::new(
                ErrorKind::Conflict { tail },
                format!("another append came first: the log now ends at {tail}"),
            ));
        }
        let seal = |new| {
            let event = self.head.seal(new);
            self.remember(&event);
            event
        };
        let sealed: Vec<Event> = events.into_iter().map(seal).collect();
        Ok(Admission::Write(sealed))
    }

    /// Takes note of an event that another process appended.
    ///
    /// The caller has verified it, or reads it from where only verified events are.
    pub fn advance(&mut self, event: &Event) {
        self.head = Head::after(event);
        self.remember(event);
    }

    fn remember(&mut self, event: &Event) {
        if self.recent.len() >= Self::WINDOW
            && let Some(oldest) = self.recent.pop_front()
        {
            if oldest.is_late() {
                self.late.remove(&oldest.id);
            }
            self.floor = oldest.top;
        }
        let recent = Recent {
            id: event.id,
            top: event.top(),
        };
        if recent.is_late() {
            self.late.insert(event.id, event.seq);
        }
        self.recent.push_back(recent);
    }
}

/// The id that a batch has twice, if there is one.
fn twice(events: &[NewEvent]) -> Option<EventId> {
    if events.is_sorted_by(|a, b| a.id < b.id) {
        return None;
    }
    let mut ids = HashSet::with_capacity(events.len());
    events.iter().map(|e| e.id).find(|id| !ids.insert(*id))
}

/// Checks a token against the newest grant (G8): the one rule for appends, snapshots, blobs and
/// deletes.
///
/// # Errors
/// `Fenced` if a newer lease was granted; `InvalidInput` for a token that never was.
pub fn fence(token: Option<FencingToken>, newest: FencingToken) -> Result<()> {
    match token {
        Some(token) if token < newest => Err(Error::new(
            ErrorKind::Fenced { token: newest },
            format!("a newer lease was granted: this writer holds {token}, the newest is {newest}"),
        )),
        Some(token) if token > newest => Err(Error::invalid(format!(
            "the token was never granted: {token}, the newest is {newest}"
        ))),
        _ => Ok(()),
    }
}

fn repeat(events: &[NewEvent], stored: &[&Event]) -> Result<Range<SeqNum>> {
    for (new, old) in events.iter().zip(stored) {
        if new.id == old.id && !old.holds(new) {
            return Err(Error::invalid(format!(
                "the event id is stored with other content, give the new event an id of its own: \
                 {} at {}",
                new.id, old.seq
            )));
        }
    }
    let first = stored.first().map_or(SeqNum::ZERO, |e| e.seq);
    let end = stored.last().map_or(SeqNum::ZERO, |e| e.seq.plus(1));
    let same = events.len() == stored.len()
        && crate::seq::span(&(first..end)) == u64::try_from(events.len()).unwrap_or(u64::MAX)
        && events.iter().zip(stored).all(|(new, old)| old.holds(new));
    if same {
        Ok(first..end)
    } else {
        Err(Error::invalid(format!(
            "some event ids of the batch are stored already, but not as this batch: \
             {} of {} from {first}",
            stored.len(),
            events.len()
        )))
    }
}

/// The answer to who comes while somebody else drives the session (K1).
pub fn held_error(holder: crate::Holder, expires_at: Option<crate::Timestamp>) -> Error {
    let message = format!(
        "the session is driven by somebody else, wait for them or read without a lease: {} since {}",
        holder.owner, holder.since
    );
    Error::new(ErrorKind::LeaseHeld { holder, expires_at }, message)
}
