//! `tail`: the end of a session, and what comes.

use clap::Args;
use sessionlog::SeqNum;

use super::show::print;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::json;
use crate::view::View;

/// Show the last events of a session, and with -f each new one as it is appended
///
/// New events are seen whichever process appends them: none is left out, none comes twice.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog tail 019ab3               the last 10 events
  sessionlog tail -f 019ab3            and then each new one
  sessionlog tail -f -n 0 --json 019ab3 | jq -c .kind")]
pub(crate) struct Tail {
    /// The session: its id, or the beginning of it
    id: String,

    /// Go on with each new event, until interrupted
    #[arg(long, short)]
    follow: bool,

    /// Begin with the last N events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    last: u64,
}

impl Tail {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        if !self.follow {
            print(session.last(self.last).await?, &[], cx).await?;
            return Ok(Exit::OK);
        }
        let from: SeqNum = session.tail().await?.minus(self.last);
        let view = View::new(cx.paint(), cx.terminal().width);
        let as_json = cx.json();
        let mut events = session.follow(from);
        while let Some(chunk) = events.next_chunk().await {
            for event in &chunk? {
                if as_json {
                    json::event(cx.out(), event)?;
                } else {
                    view.event(cx.out(), event)?;
                }
            }
            // Who watches sees each event as soon as it is there.
            cx.out().flush()?;
        }
        Ok(Exit::OK)
    }
}
