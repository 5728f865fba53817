//! Known configurations of databases that others use, each with what the suite must see in it: the
//! good ones pass, the bad ones fail. What they keep is the journal of the tutorial's backend.

use sessionlog_conformance::{Capability, Law, Level};

/// The laws that tell one configuration from another.
pub(crate) fn of_power(law: &Law) -> bool {
    law.level == Level::Power
}

/// A subject over a journal that is kept by `$keep`.
macro_rules! specimen {
    ($(#[$doc:meta])* $name:ident, $keep:expr) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl sessionlog_conformance::Subject for $name {
            type Backend = $crate::specimens::mirrored::Mirrored;
            const MEDIUM: sessionlog_conformance::Medium =
                sessionlog_conformance::Medium::Directory;
            const SEVERAL_HANDLES: sessionlog_conformance::Capability = $crate::specimens::ONE;
            const SEVERAL_PROCESSES: sessionlog_conformance::Capability = $crate::specimens::ONE;
            const GROUP_COMMIT: sessionlog_conformance::Capability = $crate::specimens::ONE;

            async fn open(
                place: &sessionlog_conformance::Place,
            ) -> sessionlog_core::Result<Self::Backend> {
                let dir = place.dir();
                let kept = $keep(dir).map(|kept| {
                    Box::new(kept) as Box<dyn $crate::specimens::mirrored::Keep>
                });
                $crate::specimens::mirrored::Mirrored::open(dir, kept).await
            }
        }
    };
}

pub(crate) mod mirrored;
pub(crate) mod objects;
pub(crate) mod redb;
pub(crate) mod sqlite;

const ONE: Capability = Capability::No("it is a specimen of one handle");
