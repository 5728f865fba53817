//! `demo`: a driver is killed in the middle of a turn, and nothing is lost.

mod child;
mod driver;
mod place;
mod proof;
mod script;
mod tell;

use clap::Args;
use sessionlog::Store;

pub(crate) use self::driver::{DRIVER, Driver};

use self::place::Place;
use self::proof::Proof;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

/// Kill a driver in the middle of a turn, wake its session, and see that nothing is lost
///
/// A child process writes a session and says after each event that it is safe. It is killed while a
/// tool runs, before the result is there. Then the session is woken and compared with what was said.
/// Without --store this happens in a temporary JSONL store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog demo
  sessionlog demo --keep                     leaves the session to look at
  sessionlog --store jsonl:/mnt/disk/s demo   on a disk of your own")]
pub(crate) struct Demo {
    /// Leave the session there, and say how to look at it
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let mut place = Place::choose(cx)?;
        let store = cx.open(&place.url).await?;
        let shown = self.show(&place, &store, cx).await;
        if self.keep {
            if let Some(folder) = place.folder.as_mut() {
                folder.disable_cleanup(true);
            }
        } else if place.folder.is_none() {
            // On a store of the user's own only the demo's session goes.
            match store.delete(&place.id).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        shown
    }

    async fn show(&self, place: &Place, store: &Store, cx: &mut Context<'_, '_>) -> Outcome {
        let proof = Proof::make(&place.url, store, &place.id).await?;
        let told = tell::tell(&proof, &place.url, self.keep, cx);
        let holds = proof.holds();
        // The lease is given back before the session is deleted.
        let released = proof.woken.release().await;
        told?;
        released?;
        Ok(if holds { Exit::OK } else { Exit::DAMAGE })
    }
}
