//! L5: file calls that fail, at every call, once and for ever after.

mod fault;
mod killed;
mod laws;
mod run;

pub(crate) use fault::FaultAt;
pub(crate) use laws::LAWS;
