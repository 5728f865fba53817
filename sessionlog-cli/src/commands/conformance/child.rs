//! The process that the suite kills.

use clap::Args;
use sessionlog::Error;

use super::subjects::Kind;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

/// The name of the command that the program gives itself.
pub(crate) const CHILD: &str = "conformance-child";

/// Does what the suite in another process asks for in the environment.
#[derive(Args)]
pub(crate) struct Child {}

impl Child {
    #[expect(
        clippy::unused_self,
        reason = "a command is run by its arguments, of which this one has none"
    )]
    pub(crate) fn run(&self, cx: &Context<'_, '_>) -> Outcome {
        match Kind::of(&cx.url()?)?.child() {
            true => Ok(Exit::OK),
            false => Err(Error::invalid("nothing was asked of this child").into()),
        }
    }
}
