//! A power loss that a store did not survive, in words and as a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::content::Fate;
use super::history::{Call, Entry, History, Node, ROOT};
use super::search::{Crash, Search, look};
use super::walk::Walk;
use super::work::{Judge, Work};
use crate::artefact::Artefact;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::model::fewest;

/// A failure: the work, what was called, and the power loss.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) work: Work,
    pub(crate) crash: Crash,
    pub(crate) history: History,
}

/// How many folders are looked at in each shorter list of steps.
const SHORTER: u64 = 100;

impl Failure {
    pub(crate) fn new(work: Work, crash: Crash, history: History) -> Self {
        Self {
            work,
            crash,
            history,
        }
    }

    /// Does again what was saved, if the bench's law is asked for it.
    pub(crate) async fn asked(bench: &Bench) -> Held<Option<Held>> {
        let Some(artefact) = Artefact::asked(bench)? else {
            return Ok(None);
        };
        let failure = artefact.power.ok_or_else(|| {
            End::Broken("the file to replay has the commands of another law".into())
        })?;
        let outcome = failure.again(bench).await;
        Ok(Some(outcome.map_err(|end| failure.told(bench, end))))
    }

    async fn again(&self, bench: &Bench) -> Held {
        let judge = Judge::of(&self.work).await?;
        let marks: Vec<_> = self.history.acknowledged(self.crash.upto).collect();
        let image = self.crash.image(&self.history);
        look(bench, &image, &marks, &async |place, marks| {
            judge.check(bench, place, marks).await
        })
        .await
    }

    /// The failure with the fewest steps that is found.
    pub(crate) async fn shortest(self, bench: &Bench, end: End) -> (Self, End) {
        let Work::Steps(steps) = &self.work else {
            return (self, end);
        };
        let steps = steps.clone();
        let crash = self.crash;
        let fails = async |steps: &[crate::kill::work::Step]| {
            let mut search = Search::new(bench, SHORTER);
            let found = find(bench, &Work::Steps(steps.to_vec()), crash, &mut search).await;
            // A list that can't be done shows nothing.
            found.ok().flatten().map_or(Ok(()), Err)
        };
        let (_, (shortest, end)) = fewest((steps, (self, end)), fails).await;
        // Once more: its trail is the one that is told.
        let end = shortest.again(bench).await.err().unwrap_or(end);
        (shortest, end)
    }

    /// The failure on a page, saved for replay.
    pub(crate) fn told(&self, bench: &Bench, end: End) -> End {
        let did = self.page();
        Artefact::of_power(self.clone()).attach(bench, end, &did)
    }

    /// What was done, acknowledged and lost.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        let Crash {
            upto,
            choice,
            keeping,
        } = self.crash;
        let names = paths(&self.history);
        let all = self.history.calls.len();
        let last = upto.checked_sub(1).and_then(|n| self.history.calls.get(n));
        let last = last.map_or("none".into(), |call| told(call, &names));
        // Writing to a string can't fail.
        let _ = writeln!(
            page,
            "the power went after file call {upto} of {all}: {last}"
        );
        let marks = self.history.acknowledged(upto);
        let states = marks.map(|mark| if mark.open { "seen" } else { "acknowledged" });
        for (line, state) in self.work.lines().iter().zip(states.chain(["under way"])) {
            let _ = writeln!(page, "  {state:<12} {line}");
        }
        let mut walk = Walk::new(&self.history, keeping);
        walk.go(upto);
        let fates = walk.fates(choice);
        if fates.is_empty() {
            let _ = writeln!(page, "  every call was flushed: nothing was lost");
        }
        for (at, fate) in fates.iter().rev().take(30).rev() {
            let fate = match fate {
                Fate::Lost => "lost",
                Fate::Torn => "torn",
                Fate::Kept => "kept",
            };
            let call = self.history.calls.get(*at);
            let call = call.map_or(String::new(), |call| told(call, &names));
            let _ = writeln!(page, "  {fate:<12} call {}: {call}", at + 1);
        }
        let _ = write!(page, "  names kept as {keeping:?}, chosen {choice:?}");
        page
    }
}

/// A power loss in a piece of work that breaks the law, under the same rules as one before.
async fn find(
    bench: &Bench,
    work: &Work,
    like: Crash,
    search: &mut Search<'_>,
) -> Held<Option<(Failure, End)>> {
    let judge = Judge::of(work).await?;
    let history = work.record(bench).await?;
    let check = async |place: &crate::Place, marks: &[_]| judge.check(bench, place, marks).await;
    let found = search.explore(&history, like.keeping, .., &check).await?;
    Ok(found.map(|(crash, end)| (Failure::new(work.clone(), crash, history), end)))
}

/// The last name that each file and folder had, from the root on.
pub(super) fn paths(history: &History) -> BTreeMap<Node, String> {
    let mut last: BTreeMap<Node, &Entry> = BTreeMap::new();
    for (entry, node) in &history.start.names {
        last.insert(*node, entry);
    }
    for call in &history.calls {
        for (entry, node) in call.sets() {
            if let Some(node) = node {
                last.insert(node, entry);
            }
        }
    }
    let path = |node: &Node| {
        let mut parts = Vec::new();
        let mut at = *node;
        while let Some(entry) = last.get(&at).filter(|_| at != ROOT && parts.len() < 20) {
            parts.push(entry.name.as_str());
            at = entry.dir;
        }
        parts.reverse();
        parts.join("/")
    };
    let mut all: BTreeMap<_, _> = last.keys().map(|node| (*node, path(node))).collect();
    all.insert(ROOT, ".".into());
    all
}

/// A call in words.
pub(super) fn told(call: &Call, paths: &BTreeMap<Node, String>) -> String {
    let path = |node: &Node| {
        paths
            .get(node)
            .map_or("a file without a name", String::as_str)
    };
    let at = |entry: &Entry| match entry.dir {
        ROOT => entry.name.clone(),
        dir => format!("{}/{}", path(&dir), entry.name),
    };
    let failed = |ok: &bool| if *ok { "" } else { ", which failed" };
    match call {
        Call::Create(entry, _) => format!("create {}", at(entry)),
        Call::Folder(entry, _) => format!("make folder {}", at(entry)),
        Call::Symlink(entry, _, to) => format!("link {} to {to}", at(entry)),
        Call::Link(entry, node) => format!("name {} also {}", path(node), at(entry)),
        Call::Unlink(entry, _) => format!("remove {}", at(entry)),
        Call::Rename { from, to, .. } => format!("rename {} to {}", at(from), at(to)),
        Call::Exchange([(a, _), (b, _)]) => format!("swap {} and {}", at(a), at(b)),
        Call::Write { file, at, bytes } => {
            format!("write {} bytes to {} at {at}", bytes.len(), path(file))
        }
        Call::Resize { file, len } => format!("set the length of {} to {len}", path(file)),
        Call::Grow { file, len } => format!("make {} at least {len} long", path(file)),
        Call::Zero { file, at, len } => format!("zero {len} bytes of {} at {at}", path(file)),
        Call::Flush { file, ok, .. } => format!("flush {}{}", path(file), failed(ok)),
        Call::FlushFolder { dir, ok } => format!("flush folder {}{}", path(dir), failed(ok)),
        Call::FlushAll { ok } => format!("flush everything{}", failed(ok)),
    }
}
