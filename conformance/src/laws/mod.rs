//! The laws, by guarantee.

mod a01_blobs;
mod g01_contiguity;
mod g02_atomicity;
mod g02_dropped;
mod g03_durability;
mod g04_bytes;
mod g04_ranges;
mod g05_conditions;
mod g06_handles;
mod g07_tokens;
mod g08_fencing;
mod g08_under_way;
mod g09_exclusion;
mod g09_time;
mod g10_release;
mod g11_snapshots;
mod g12_replay;
mod g13_errors;
mod g14_isolation;
mod g15_damage;
mod g16_reading;
mod g17_delete;
mod g17_under_way;
mod g18_idempotency;
mod g19_branches;
mod g19_history;
mod g20_resume;
mod l0_harness;
mod l8_objects;

use crate::{Law, damage, errors, kill, model, power, race};

/// Every law, in a stable order.
pub fn laws() -> impl Iterator<Item = &'static Law> {
    [
        l0_harness::LAWS,
        g01_contiguity::LAWS,
        g02_atomicity::LAWS,
        g02_dropped::LAWS,
        g03_durability::LAWS,
        g04_bytes::LAWS,
        g04_ranges::LAWS,
        g05_conditions::LAWS,
        g06_handles::LAWS,
        g07_tokens::LAWS,
        g08_fencing::LAWS,
        g08_under_way::LAWS,
        g09_exclusion::LAWS,
        g09_time::LAWS,
        g10_release::LAWS,
        g11_snapshots::LAWS,
        g12_replay::LAWS,
        g13_errors::LAWS,
        g14_isolation::LAWS,
        g15_damage::LAWS,
        g16_reading::LAWS,
        g17_delete::LAWS,
        g17_under_way::LAWS,
        g18_idempotency::LAWS,
        g19_history::LAWS,
        g19_branches::LAWS,
        g20_resume::LAWS,
        a01_blobs::LAWS,
        model::LAWS,
        kill::LAWS,
        kill::TURN_LAWS,
        kill::PROCESS_LAWS,
        power::LAWS,
        errors::LAWS,
        l8_objects::LAWS,
        damage::LAWS,
        race::THREAD_LAWS,
        race::PROCESS_LAWS,
        race::STOP_LAWS,
    ]
    .into_iter()
    .flatten()
}
