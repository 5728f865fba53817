//! L5: file calls that fail, at every call, once and for ever after.

mod laws;
mod run;

pub(crate) use laws::LAWS;
pub(crate) use run::FaultAt;
