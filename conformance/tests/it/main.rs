//! The suite on backends that pass, and on backends that must not.

mod memory;
