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
        let found = sessionlog::gc(&self.url, cx.vars().to_vec(), !self.yes).await?;
        if cx.json() {
            cx.json_line(&Collected {
                deleted: self.yes,
                bytes: found.bytes,
                objects: &found.objects,
            })?;
            return Ok(Exit::OK);
        }
        for object in &found.objects {
            writeln!(cx.out(), "{}", line(object))?;
        }
        let what = plural(found.objects.len() as u64, "object");
        let done = if self.yes { "deleted" } else { "nobody needs" };
        let size = bytes(found.bytes);
        writeln!(cx.out(), "{done} {what}, {size}")?;
        if !self.yes && !found.objects.is_empty() {
            cx.hint("give --yes to delete")?;
        }
        Ok(Exit::OK)
    }
}
