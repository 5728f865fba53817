//! The reference backend.

use sessionlog_conformance::{Medium, Place, Subject, conformance};
use sessionlog_core::{Memory, Result};

struct InMemory;

impl Subject for InMemory {
    type Backend = Memory;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Memory> {
        Ok(place.keep(Memory::new))
    }
}

conformance!(InMemory);
