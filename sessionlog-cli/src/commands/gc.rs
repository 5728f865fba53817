//! `gc`: what nobody needs in object storage.

use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::text::{bytes, line, plural};

/// Say what nobody needs in a store in object storage, and delete it with --yes
///
/// Writes that broke off leave objects behind, and deleted sessions a trace for a day. Only what is
/// old enough goes, and nothing that is not sessionlog's. Sessions may be read and written
/// meanwhile.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog gc s3:bucket/sessions
  sessionlog gc s3:bucket/sessions --yes")]
pub(crate) struct Gc {
    /// The store
    #[arg(value_name = "URL")]
    url: String,

    /// Delete it
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Collected<'a> {
    deleted: bool,
    bytes: u64,
    objects: &'a [String],
}

impl Gc {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let (vars, json) = (cx.vars().to_vec(), cx.json());
        let (mut objects, mut told) = (Vec::new(), Ok(()));
        let found = |object: &str, _| {
            if json {
                objects.push(object.to_owned());
            } else if told.is_ok() {
                told = writeln!(cx.out(), "{}", line(object));
            }
        };
        let garbage = sessionlog::gc(&self.url, vars, !self.yes, found).await?;
        told?;
        if json {
            cx.json_line(&Collected {
                deleted: self.yes,
                bytes: garbage.bytes,
                objects: &objects,
            })?;
            return Ok(Exit::OK);
        }
        let what = plural(garbage.objects, "object");
        let done = if self.yes { "deleted" } else { "nobody needs" };
        let size = bytes(garbage.bytes);
        writeln!(cx.out(), "{done} {what}, {size}")?;
        if !self.yes && garbage.objects > 0 {
            cx.hint("give --yes to delete")?;
        }
        Ok(Exit::OK)
    }
}
