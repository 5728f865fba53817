//! Which call is open, and which reply a part belongs to, at the end of a path.

use super::super::Role;
use super::entry::Entry;

/// How many replies back a part may still belong to one.
const WINDOW: usize = 32;

/// A fold over the entries of a path. It has no memory of its own: at any point it is what the
/// entries before give.
///
/// A call is open until its result comes, or until the model goes on without it: with a reply that
/// begins behind anything but the reply that made the call. What a person or the harness says in
/// between closes nothing, since a steering message may well come while a tool runs.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Flow {
    starts: Vec<Start>,
    open: Vec<Open>,
    /// Whether the last entry is a part of a reply.
    replying: bool,
}

#[derive(Clone, Debug)]
struct Start {
    entry: usize,
    response: Option<String>,
    /// Whether the calls before were closed by it.
    closes: bool,
}

/// A call that can be answered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Open {
    /// The entry that makes it.
    pub(in super::super) entry: usize,
    /// Its place among the calls of that entry.
    pub(in super::super) call: usize,
    /// The first part of the reply.
    reply: usize,
    id: String,
}

/// Where an entry goes.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Admitted {
    /// The first part of the reply that it is a part of.
    pub(in super::super) joins: Option<usize>,
    /// For each of its results the call that it answers.
    pub(in super::super) answers: Vec<Option<Open>>,
}

impl Flow {
    /// Takes in the entry with this index; those before were taken in.
    pub(in super::super) fn admit(&mut self, index: usize, entry: &Entry) -> Admitted {
        let mut admitted = Admitted::default();
        if entry.is_checkpoint() {
            self.replying = false;
        } else if entry.role == Role::Assistant {
            admitted.joins = self.reply_of(entry);
            if admitted.joins.is_none() {
                self.begin(index, entry);
            }
            self.replying = true;
            let reply = admitted.joins.unwrap_or(index);
            if entry.whole {
                self.open.retain(|open| open.reply != reply);
            }
            let calls = entry.calls.iter().enumerate();
            self.open.extend(calls.map(|(call, it)| Open {
                entry: index,
                call,
                reply,
                id: it.id.clone(),
            }));
            admitted.answers = entry.results.iter().map(|_| None).collect();
        } else {
            self.replying = false;
            let answers = matches!(entry.role, Role::User | Role::Tool);
            let results = entry.results.iter();
            admitted.answers = results
                .map(|result| answers.then(|| self.take(&result.id)).flatten())
                .collect();
        }
        admitted
    }

    /// Whether the entry belongs where the path ends, whatever it hangs under: a part of a reply
    /// that is there, or results of calls that are open.
    pub(in super::super) fn expects(&self, entry: &Entry) -> bool {
        if entry.role == Role::Assistant {
            return self.reply_of(entry).is_some();
        }
        let open = |id: &str| self.open.iter().any(|open| open.id == id);
        !entry.results.is_empty() && entry.results.iter().all(|result| open(&result.id))
    }

    /// The calls that are open now.
    pub(in super::super) fn open(&self) -> &[Open] {
        &self.open
    }

    fn reply_of(&self, entry: &Entry) -> Option<usize> {
        let response = entry.response.as_deref().filter(|id| !id.is_empty())?;
        let recent = self.starts.iter().rev().take(WINDOW);
        let mut found = recent.filter(|start| start.response.as_deref() == Some(response));
        found.next().map(|start| start.entry)
    }

    fn begin(&mut self, index: usize, entry: &Entry) {
        let of = |id: &Option<String>| id.as_ref().is_some_and(|id| !id.is_empty());
        let named = of(&entry.response) || self.starts.last().is_some_and(|s| of(&s.response));
        // Items of one reply may come as messages of their own, without an id that joins them.
        let closes = named || !self.replying;
        if closes {
            self.open.clear();
        }
        self.starts.push(Start {
            entry: index,
            response: entry.response.clone(),
            closes,
        });
    }

    fn take(&mut self, id: &str) -> Option<Open> {
        let at = self.open.iter().position(|open| open.id == id)?;
        Some(self.open.remove(at))
    }

    /// Goes back to where only the first `len` entries were taken in.
    pub(in super::super) fn truncate(&mut self, len: usize, entries: &[Entry]) {
        while self.starts.last().is_some_and(|start| start.entry >= len) {
            self.starts.pop();
        }
        let last = self.starts.iter().rposition(|start| start.closes);
        let from = last.and_then(|at| self.starts.get(at)).map(|s| s.entry);
        self.starts.truncate(last.unwrap_or(0));
        self.open.clear();
        self.replying = false;
        let from = from.unwrap_or(0);
        let tail = entries.iter().enumerate().take(len).skip(from);
        tail.for_each(|(index, entry)| drop(self.admit(index, entry)));
    }
}
