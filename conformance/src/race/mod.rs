//! L7: tasks, threads and processes at once, on one session and on one store.
//!
//! Each operation is written down with a ticket from before it began and one from after it ended,
//! and with what it answered. Tickets come from a counter that all share, so an operation that ended
//! before another began has the smaller ones; no clock is asked. The history is then checked against
//! the specification of a log, and of a set of sessions. Operations of killed processes have no end:
//! whether they took effect is unknown, and either is right.

mod check;
mod clock;
mod history;
mod leases;
mod meeting;
mod processes;
mod sessions;
mod stopped;
mod threads;
mod worker;

pub(crate) use history::Op;
pub(crate) use processes::LAWS as PROCESS_LAWS;
pub(crate) use stopped::LAWS as STOP_LAWS;
pub(crate) use threads::LAWS as THREAD_LAWS;
pub(crate) use worker::child;
