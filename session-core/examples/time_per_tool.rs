//! A projection of one's own: how long each tool took, from its call to its result.
//!
//! `cargo run -p sessionlog-core --example time_per_tool`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sessionlog_core::transcript::{Message, kinds};
use sessionlog_core::{
    Event, LeaseRequest, Memory, NewEvent, Owner, Projection, Result, Store, Timestamp,
};

#[derive(Default, Serialize, Deserialize)]
struct TimePerTool {
    /// Calls that wait for their result: the tool, and when it was called.
    open: BTreeMap<String, (String, Timestamp)>,
    millis: BTreeMap<String, i64>,
}

impl Projection for TimePerTool {
    const NAME: &'static str = "time_per_tool";
    const VERSION: u32 = 1;

    fn apply(&mut self, event: &Event) {
        if event.kind != kinds::MESSAGE {
            return;
        }
        let Ok(message) = event.data.view::<Message<'_>>() else {
            return; // What does not fit is passed over.
        };
        for call in message.calls {
            self.open.insert(call.id, (call.name, event.at));
        }
        for result in message.results {
            if let Some((tool, since)) = self.open.remove(&result.id) {
                let took = event.at.as_millis() - since.as_millis();
                *self.millis.entry(tool).or_default() += took;
            }
        }
    }
}

fn main() -> Result<()> {
    pollster::block_on(async {
        let store = Store::new(Memory::new());
        let session = store.create("example".parse()?).await?;
        let writer = session
            .acquire(LeaseRequest::new(Owner::new("example")?))
            .await?;
        for (ms, json) in [
            (
                0,
                r#"{"role":"assistant","calls":[{"id":"c1","name":"bash"}]}"#,
            ),
            (1200, r#"{"role":"tool","results":[{"id":"c1"}]}"#),
            (
                1300,
                r#"{"role":"assistant","calls":[{"id":"c2","name":"read"}]}"#,
            ),
            (1320, r#"{"role":"tool","results":[{"id":"c2"}]}"#),
        ] {
            let at = Timestamp::from_millis(ms).unwrap_or(Timestamp::EPOCH);
            writer
                .append_one(NewEvent::json(kinds::MESSAGE, json)?.with_time(at))
                .await?;
        }
        // The next `project` reads this snapshot and only what was appended behind it.
        let projected = session.project::<TimePerTool>().await?;
        writer.save(&projected).await?;
        let again = session.project::<TimePerTool>().await?;
        assert_eq!(again.folded, 0);
        show(&again.state.millis);
        writer.release().await
    })
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn show(millis: &BTreeMap<String, i64>) {
    for (tool, ms) in millis {
        println!("{tool}: {ms} ms");
    }
}
