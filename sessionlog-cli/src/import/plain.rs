//! Any JSON Lines.

use super::dialect::{Dialect, Identity, Mapped};
use super::fields::Fields;

/// Records that mean nothing to us but when they were written.
#[derive(Debug)]
pub(crate) struct Plain;

impl Dialect for Plain {
    fn survey(&mut self, _: u64, _: &Fields<'_>) {}

    fn needs_all(&self) -> bool {
        false
    }

    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn map(&mut self, _: u64, record: &Fields<'_>) -> Mapped {
        let name = ["type", "kind", "event"]
            .iter()
            .find_map(|key| record.filled(key));
        Mapped {
            at: ["timestamp", "ts", "at", "time", "created_at"]
                .iter()
                .find_map(|key| record.time(key)),
            ..Mapped::record(name)
        }
    }

    fn restart(&self) -> Box<dyn Dialect> {
        Box::new(Self)
    }
}
