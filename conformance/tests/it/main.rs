//! The suite on backends that pass, and on backends that must not.

mod configurations;
mod custom;
mod head_log;
mod ids;
mod memory;
mod object_log;
mod objects;
mod said;
mod third_party;
mod twins;

#[path = "../../examples/custom_backend.rs"]
#[expect(dead_code, reason = "`main` is for the example")]
mod custom_backend;

#[path = "../../examples/specimens/mod.rs"]
mod specimens;
