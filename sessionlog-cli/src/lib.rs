//! The program `sessionlog`: sessions of AI agents imported, listed, shown, checked, repaired and
//! exported, on any store.
//!
//! The program is [`run`], a function of its arguments and its streams, so that tests can call it;
//! `main` only hands it those of the process. What every command prints with `--json`, and all exit
//! codes, are in the crate's README.

mod app;
mod args;
mod brief;
mod commands;
mod context;
mod exit;
pub mod export;
mod failure;
pub mod import;
mod items;
mod json;
mod moves;
mod run;
mod story;
mod text;
mod unanswered;
mod view;

pub use app::{App, Terminal};
pub use exit::Exit;
pub use run::{command, run};
