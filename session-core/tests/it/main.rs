//! What users hold, on the memory backend: one binary, one module a topic.

mod cards;
mod damage;
mod follow;
mod ledger;
mod projection;
mod settle;
mod wrapper;
