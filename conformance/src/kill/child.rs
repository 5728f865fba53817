//! The child's side: it does a workload and acknowledges each step on standard output.

use std::env;
use std::io::{self, BufRead, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::work::{Step, Who, Worker, steps};
use crate::bench::{Ask, Handle};
use crate::breach::{End, Held};
use crate::known::Known;
use crate::make::{at, events};
use crate::place::Ground;
use crate::stack::on_a_large_stack;
use crate::subject::Erased;
use crate::{Place, Subject};

/// The variable that makes a process a child.
pub(crate) const ASKED: &str = "SESSIONLOG_CONFORMANCE_CHILD";
/// What every line to the parent starts with: a test harness prints lines of its own.
pub(crate) const MARK: &str = "@conformance ";

/// What a child is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) work: String,
    pub(crate) dir: PathBuf,
    pub(crate) name: String,
    pub(crate) ground: Ground,
    /// The store, if it is one of the suite's own.
    pub(crate) known: Option<Known>,
}

/// What a child tells its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// It runs.
    Hello,
    /// A step was acknowledged; with the token of a grant.
    Done(usize, Option<u64>),
    /// It has seen so many events.
    Seen(u64),
    /// It began an operation, or ended one.
    Did(Box<crate::race::Op>),
    /// Something failed that must not fail.
    Failed(String),
    /// It has done everything.
    Finished,
}

/// Works as the child of a suite that runs in another process, if the environment asks for it;
/// whether it did. A program that is started by a [`ChildCommand`](crate::ChildCommand) calls this.
///
/// It works on a thread of its own, with a large stack, and tells on standard output: who calls it must not hold
/// the lock of that, nor of standard input.
pub fn child<S: Subject>() -> bool {
    let Some(asked) = env::var_os(ASKED) else {
        return false;
    };
    let work = || {
        S::block_on(async {
            let outcome = run(Erased::of::<S>(), &asked.to_string_lossy()).await;
            match outcome {
                Ok(()) => tell(&Told::Finished),
                Err(end) => tell(&Told::Failed(format!("{end:?}"))),
            }
        });
    };
    match on_a_large_stack(work) {
        Ok(worked) => worked.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(error) => tell(&Told::Failed(format!("there is no thread for it: {error}"))),
    }
    true
}

pub(crate) fn tell(told: &Told) {
    let line = serde_json::to_string(told).unwrap_or_default();
    let mut out = io::stdout().lock();
    // A parent that is gone reads nothing; the child ends soon in any case.
    drop(writeln!(out, "\n{MARK}{line}").and_then(|()| out.flush()));
}

async fn run(subject: Erased, asked: &str) -> Held {
    let asked: Asked = serde_json::from_str(asked).map_err(|e| End::Broken(e.to_string()))?;
    tell(&Told::Hello);
    // Calls are counted, and the process killed at one of them, from the opening on.
    let _watch = sessionlog_crashfs::arm_from_env()?;
    let subject = asked.known.map_or(subject, Known::subject);
    let place = Place::existing(asked.name, asked.dir, asked.ground);
    match asked.work.as_str() {
        "hello" => Ok(()),
        "hold" => hold(subject, &place).await,
        "visit" => visit(subject, &place).await,
        "group" => {
            let store = (subject.open)(&place).await?;
            group(&store, |n| tell(&Told::Done(n, None))).await
        }
        work if work.starts_with("race ") => crate::race::child(subject, &place, work).await,
        work => {
            let mut worker = Worker::new((subject.open)(&place).await?);
            for (n, step) in steps(work).into_iter().enumerate() {
                let token = worker.perform(step).await?;
                tell(&Told::Done(
                    n,
                    token.map(sessionlog_core::FencingToken::get),
                ));
            }
            // Who is killed at any time is killed, also where everything else is slower.
            if work == "endless" {
                io::stdin().lock().read_line(&mut String::new())?;
            }
            Ok(())
        }
    }
}

/// Takes the lease of `s` and holds it until its input ends or it is killed.
async fn hold(subject: Erased, place: &Place) -> Held {
    let mut worker = Worker::new((subject.open)(place).await?);
    let token = worker.perform(Step::Acquire(Who("s", 1))).await?;
    tell(&Told::Done(
        0,
        token.map(sessionlog_core::FencingToken::get),
    ));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(())
}

/// Says how long the log of `s` is, and appends to it: 20 times three events.
async fn visit(subject: Erased, place: &Place) -> Held {
    let store = (subject.open)(place).await?;
    let session = Who("s", 1).session()?;
    tell(&Told::Seen(store.log(&session).await?.len() as u64));
    let mine = u64::from(std::process::id()) * 1_000;
    for n in 0..20 {
        let batch = events(mine + n * 3..mine + n * 3 + 3);
        store.put_events(&session, batch).await?;
    }
    Ok(())
}

/// Appends of many tasks at once: they may share commits. `tell` is told of each that returned.
pub(crate) async fn group(store: &Handle, tell: impl Fn(usize)) -> Held {
    let session = Who("s", 1).session()?;
    store.create(&session).await?;
    store.put_events(&session, events(0..1)).await?;
    tell(0);
    let appends = (1..=GROUP).map(|n| {
        let (tell, session) = (&tell, &session);
        async move {
            store
                .put_events(session, events(n * 10..n * 10 + 3))
                .await?;
            tell(usize::try_from(n).unwrap_or(0));
            Held::Ok(())
        }
    });
    for outcome in futures_util::future::join_all(appends).await {
        outcome?;
    }
    let tail = store.end(&session).await?.tail;
    if tail != at(1 + GROUP * 3) {
        return Err(crate::breach::breach(format!(
            "{GROUP} appends of three left a tail of {tail}"
        )));
    }
    Ok(())
}

/// How many appends a group has.
pub(crate) const GROUP: u64 = 6;
