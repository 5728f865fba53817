//! L5: file calls that fail, at every call, once, twice and for ever after.

mod dying;
mod fault;
mod killed;
mod laws;
mod life;
mod run;
mod twice;

pub(crate) use fault::FaultAt;
pub(crate) use laws::LAWS;
