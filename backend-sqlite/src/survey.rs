//! A walk over a log whose rows may be damaged: what is whole, and what is not.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use sessionlog_core::{
    Event, EventId, Finding, Head, Kinds, Place, Repair, Result, SeqNum, Severity, Sum,
};
use sessionlog_local::gaps::behind;

use crate::event::{self, TABLE, envelope, payload};
use crate::fault::{disorder, failed};
use crate::schema::{event_key, seq_of};
use crate::session::SessionRow;
use crate::store::Sqlite;

/// What is wrong at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The row is there, and its event is lost.
    Damaged,
    /// The row is not there.
    Missing,
    /// SQLite can't read the page that the row would be in.
    Unreadable,
    /// The event is whole; its checksum is not.
    Checksum,
    /// The event is whole; whether it is the last is told wrongly.
    Mark,
}

impl Flaw {
    /// Whether the event of that position is lost.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self, Self::Damaged | Self::Missing | Self::Unreadable)
    }

    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Damaged => "the event does not match its checksum",
            Self::Missing => "the event's row is missing",
            Self::Unreadable => "the page that has the event's row can't be read",
            Self::Checksum => "the event's checksum is damaged, the event is whole",
            Self::Mark => "the mark of the last event is wrong",
        }
    }
}

/// How the next event may be proven: the checksum before it, and the largest id if that is known.
#[derive(Clone, Copy)]
struct Anchor {
    sum: Sum,
    top: Option<EventId>,
}

/// What was found in the rows of one session.
pub(crate) struct Survey {
    pub(crate) flaws: BTreeMap<SeqNum, Flaw>,
    /// The position behind the last row.
    pub(crate) tail: SeqNum,
    /// The last row is not marked as the last, or the log has lost all of its rows.
    pub(crate) cut: bool,
    /// SQLite can't read what is behind the last row, and nothing is known of it.
    blind: bool,
    id: sessionlog_core::SessionId,
    /// Ways to prove the next event; none behind a gap.
    anchors: Vec<Anchor>,
    /// The event before, if it did not match its checksum: the next one tells which of them is wrong.
    /// The first anchor is then the checksum that it should have.
    suspect: Option<SeqNum>,
    /// The last row and whether it is marked as the last.
    last: Option<(SeqNum, bool)>,
}

impl Survey {
    fn new(row: &SessionRow) -> Self {
        let genesis = Head::genesis(&row.session.id, row.session.incarnation);
        Self {
            flaws: BTreeMap::new(),
            tail: SeqNum::ZERO,
            cut: false,
            blind: false,
            id: row.session.id.clone(),
            anchors: vec![Anchor {
                sum: genesis.sum,
                top: Some(genesis.top),
            }],
            suspect: None,
            last: None,
        }
    }

    /// Looks at every row of a session, a view and a chunk at a time. Writes nothing.
    pub(crate) async fn of(store: &Sqlite, row: &SessionRow) -> Result<Self> {
        let mut survey = Self::new(row);
        let mut kinds = Kinds::default();
        loop {
            let step = |conn: &Connection| survey.step(conn, row, &mut kinds);
            match store.inner.read(step).await? {
                Some(true) => {}
                Some(false) => break,
                None => return Err(row.session.gone()),
            }
        }
        survey.finish(row);
        Ok(survey)
    }

    /// The same within one view.
    pub(crate) fn within(conn: &Connection, row: &SessionRow) -> Result<Self> {
        let mut survey = Self::new(row);
        let mut kinds = Kinds::default();
        while survey.step(conn, row, &mut kinds)? {}
        survey.finish(row);
        Ok(survey)
    }

    /// Takes the next rows. `false` if there are no more.
    fn step(&mut self, conn: &Connection, of: &SessionRow, kinds: &mut Kinds) -> Result<bool> {
        const ROWS: usize = 256;
        let mut taken = 0;
        let mut read = |survey: &mut Self, row: &Row<'_>| {
            taken += 1;
            let seq = SeqNum::new(seq_of(row.get(0)?));
            if seq < survey.tail {
                return Err(disorder());
            }
            let mut event = envelope(row, kinds);
            let data = payload(row);
            if let (Some(event), Some(data)) = (&mut event, data) {
                let data = bytes::Bytes::copy_from_slice(data);
                event.data = sessionlog_core::Data::from_stored(data);
            }
            let sum = row.get::<_, i64>(5).ok();
            let sum = sum.map(|sum| Sum::from_u64(sum.cast_unsigned()));
            let last = row.get::<_, i64>(7).unwrap_or(-1);
            survey.row(
                seq,
                event.filter(|_| data.is_some()),
                sum,
                last == 1,
                last == 0,
            );
            Ok(taken < ROWS)
        };
        match rows_from(conn, of, self.tail, |row| read(self, row)) {
            Ok(()) => Ok(taken > 0),
            Err(error) if error.is_corrupt() => self.skip(conn, of),
            Err(error) => Err(error),
        }
    }

    /// One row, in order.
    fn row(
        &mut self,
        seq: SeqNum,
        event: Option<Event>,
        sum: Option<Sum>,
        last: bool,
        inner: bool,
    ) {
        self.gap(seq, &Flaw::Missing);
        if let Some((before, marked)) = self.last.replace((seq, last))
            && marked
        {
            self.flaws.entry(before).or_insert(Flaw::Mark);
        }
        if !last && !inner {
            self.flaws.entry(seq).or_insert(Flaw::Mark);
        }
        self.tail = seq.plus(1);
        let Some(event) = event else {
            self.lose_suspect();
            self.flaws.insert(seq, Flaw::Damaged);
            self.anchors = sum
                .map(|sum| Anchor { sum, top: None })
                .into_iter()
                .collect();
            return;
        };
        if self.anchors.is_empty() {
            // Nothing before it can prove it: it is taken as it is.
            self.anchors = vec![after(&event)];
            return;
        }
        match self
            .anchors
            .iter()
            .position(|anchor| self.proves(anchor, &event))
        {
            Some(which) => {
                if let Some(suspect) = self.suspect.take() {
                    let flaw = if which == 0 {
                        Flaw::Checksum
                    } else {
                        Flaw::Damaged
                    };
                    self.flaws.insert(suspect, flaw);
                }
                self.anchors = vec![after(&event)];
            }
            None => {
                self.lose_suspect();
                self.suspect = Some(seq);
                let computed = self.anchors.first().map(|a| self.computed(a, &event));
                self.anchors = computed.into_iter().chain([after(&event)]).collect();
            }
        }
    }

    fn head(&self, anchor: &Anchor, event: &Event) -> Head {
        let top = anchor.top.or(event.top).unwrap_or(EventId::MIN);
        Head::new(event.seq, anchor.sum, top)
    }

    fn proves(&self, anchor: &Anchor, event: &Event) -> bool {
        self.head(anchor, event).verify(&self.id, event).is_ok()
    }

    /// The checksum that an event should have behind an anchor.
    fn computed(&self, anchor: &Anchor, event: &Event) -> Anchor {
        let mut head = self.head(anchor, event);
        head.seal(event.clone().into_new());
        Anchor {
            sum: head.sum,
            top: Some(head.top),
        }
    }

    fn lose_suspect(&mut self) {
        if let Some(suspect) = self.suspect.take() {
            self.flaws.insert(suspect, Flaw::Damaged);
        }
    }

    /// Positions up to `seq` that have no row.
    fn gap(&mut self, seq: SeqNum, flaw: &Flaw) {
        const MOST: u64 = 1 << 20;
        if seq <= self.tail {
            return;
        }
        self.lose_suspect();
        self.anchors.clear();
        let first = self.tail.get().max(seq.get().saturating_sub(MOST));
        for missing in first..seq.get() {
            self.flaws.insert(SeqNum::new(missing), flaw.clone());
        }
        self.tail = seq;
    }

    /// Goes on behind pages that can't be read. `false` if there is nothing behind them.
    fn skip(&mut self, conn: &Connection, of: &SessionRow) -> Result<bool> {
        let first = |from: SeqNum| {
            let mut next = None;
            rows_from(conn, of, from, |row| {
                let seq = SeqNum::new(seq_of(row.get(0)?));
                if seq < from {
                    return Err(disorder());
                }
                next = Some(seq);
                Ok(false)
            })?;
            Ok(next)
        };
        let look = |seq| first(SeqNum::new(seq)).map(drop);
        let readable = SeqNum::new(behind(self.tail.get(), look)?);
        let next = match first(readable) {
            Err(error) if error.is_corrupt() => None,
            next => next?,
        };
        // How many were behind the last row that can be read, nobody knows.
        match next {
            Some(next) => self.gap(next, &Flaw::Unreadable),
            None => self.blind = true,
        }
        Ok(next.is_some())
    }

    fn finish(&mut self, of: &SessionRow) {
        self.lose_suspect();
        let marked = self.last.map(|(_, marked)| marked);
        self.cut = marked == Some(false) || marked.is_none() && of.begun;
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.flaws.is_empty() && !self.cut && !self.blind
    }

    /// Whether pages can't be read that rows of the log may be in.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.blind || self.flaws.values().any(|flaw| *flaw == Flaw::Unreadable)
    }

    /// The positions whose events are lost.
    pub(crate) fn lost(&self) -> u64 {
        let lost = self.flaws.values().filter(|flaw| flaw.is_loss()).count();
        u64::try_from(lost).unwrap_or(u64::MAX)
    }

    /// Everything that is wrong, with its place.
    pub(crate) fn findings(&self, of: &SessionRow) -> Vec<Finding> {
        let at = |seq: SeqNum| {
            Place::file(TABLE)
                .with_session(&of.session.id)
                .with_seq(seq)
        };
        let finding = |seq: SeqNum, message: &str| Finding::new(Severity::Damage, at(seq), message);
        let mut all: Vec<_> = self
            .flaws
            .iter()
            .map(|(seq, f)| finding(*seq, f.words()))
            .collect();
        if self.blind {
            all.push(finding(self.tail, Flaw::Unreadable.words()));
        } else if self.cut {
            let lost = "the events at the end of the log are lost";
            all.push(finding(self.tail, lost));
        }
        all
    }

    /// What a repair would do.
    pub(crate) fn plan(&self) -> Repair {
        let mut steps: Vec<_> = self
            .flaws
            .iter()
            .map(|(seq, flaw)| match flaw.is_loss() {
                true => format!("put a repair.lost event at {seq}: {}", flaw.words()),
                false => format!("mend event {seq}: {}", flaw.words()),
            })
            .collect();
        if self.cut || self.blind {
            steps.push(format!(
                "end the log at {}: what was behind is lost",
                self.tail
            ));
        }
        let whole = self.tail.get().saturating_sub(self.lost());
        let mut repair = Repair::new(whole, self.lost());
        repair.steps = steps;
        repair
    }
}

fn after(event: &Event) -> Anchor {
    Anchor {
        sum: event.sum,
        top: Some(event.top()),
    }
}

/// Rows of a session from a position on, until `each` has enough.
fn rows_from(
    conn: &Connection,
    of: &SessionRow,
    from: SeqNum,
    mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
) -> Result<()> {
    let (_, to) = event::keys(of.number, &SeqNum::all());
    let sql = "SELECT key, id, at, kind, top, sum, data, last FROM event \
               WHERE key >= ?1 AND key < ?2 ORDER BY key";
    let walked = conn.prepare_cached(sql).and_then(|mut statement| {
        let mut rows = statement.query([event_key(of.number, from.get()), to])?;
        while let Some(row) = rows.next()? {
            if !each(row)? {
                break;
            }
        }
        Ok(())
    });
    walked.map_err(failed("read the log", TABLE))
}
