//! Ctrl-C: the ground goes as well.

use std::sync::{Mutex, OnceLock, PoisonError};

use sessionlog::{Error, Result};

use super::ground::Ground;

/// The exit code after an interrupt, as shells have it.
const INTERRUPTED: i32 = 130;

static GROUND: Mutex<Option<Ground>> = Mutex::new(None);

/// From now on an interrupt removes this ground before the program ends.
pub(super) fn on(ground: &Ground) -> Result<()> {
    *GROUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(ground.clone());
    static ONCE: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let set = ONCE.get_or_init(|| ctrlc::set_handler(interrupted).map_err(|e| e.to_string()));
    set.clone()
        .map_err(|e| Error::internal(format!("interrupts can't be handled: {e}")))
}

/// From now on an interrupt just ends the program. If one came already, this never returns: what is
/// seen from then on is seen on a ground that is gone.
pub(super) fn off() {
    let mut ground = GROUND.lock().unwrap_or_else(PoisonError::into_inner);
    if ground.take().is_none() {
        drop(ground);
        wait_for_the_end();
    }
}

/// Does nothing, or, if an interrupt came, never returns.
pub(super) fn check() {
    let ground = GROUND.lock().unwrap_or_else(PoisonError::into_inner);
    if ground.is_none() {
        drop(ground);
        wait_for_the_end();
    }
}

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(
    clippy::exit,
    clippy::print_stderr,
    reason = "the handler of an interrupt ends the program, whose streams others hold"
)]
fn interrupted() {
    let ground = GROUND.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(ground) = ground {
        match ground.remove() {
            None => eprintln!("sessionlog: interrupted; {} is removed", ground.shown()),
            Some(left) => eprintln!("sessionlog: interrupted; remove what is left: {left}"),
        }
    }
    std::process::exit(INTERRUPTED);
}
