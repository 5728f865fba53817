//! What takes the place of libc: Linux with glibc, 64 bit.

pub(crate) mod gate;
pub(crate) mod hooks;
pub(crate) mod maps;
pub(crate) mod place;
pub(crate) mod probe;
pub(crate) mod raw;
pub(crate) mod stat;
pub(crate) mod tape;
