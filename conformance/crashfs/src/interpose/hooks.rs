//! libc's names. Each hook finds out the place, goes through the gate, and
//! answers as libc would.
//!
//! A variadic function of C is defined here with its longest list of
//! arguments: on x86-64 and aarch64 both are passed in the same registers,
//! and an argument that the caller left out is not looked at.

pub(crate) mod copy;
pub(crate) mod flush;
pub(crate) mod map;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod size;
pub(crate) mod syscall;
pub(crate) mod write;
