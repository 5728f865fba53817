//! Replay: whatever events there are, what is rendered is acceptable to each model API (G20).
#![no_main]

use pollster::block_on;
use sessionlog::transcript::check::check;
use sessionlog::transcript::{Dialect, Transcript, kinds};
use sessionlog::{Data, EventId, Memory, NewEvent, Store, Timestamp};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // A line is an event: its first byte is the kind, the rest the payload.
    let lines = data.split(|byte| *byte == b'\n');
    let events: Vec<NewEvent> = (1_u64..).zip(lines).filter_map(event).collect();
    if events.is_empty() {
        return;
    }
    let session = block_on(Store::new(Memory::new()).create("s".parse().expect("a name")));
    let session = session.expect("a session");
    if block_on(session.append(events)).is_err() {
        return;
    }
    let mut replayed = block_on(session.project::<Transcript>())
        .expect("a replay")
        .state;
    let agents: Vec<String> = replayed.agents().map(str::to_owned).collect();
    for agent in agents
        .iter()
        .map(|agent| Some(agent.as_str()))
        .chain([None])
    {
        block_on(session.load(&mut replayed, agent)).expect("a branch can be read");
        let Ok(conversation) = replayed.conversation(agent) else {
            continue;
        };
        for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
            let rendered = conversation.render(dialect);
            if let Err(breach) = check(dialect, &rendered.messages) {
                panic!("{breach} in {}", rendered.to_json());
            }
        }
    }
});

fn event((n, line): (u64, &[u8])) -> Option<NewEvent> {
    let (kind, payload) = line.split_first()?;
    let kind = kinds::ALL[usize::from(*kind) % kinds::ALL.len()].clone();
    let data = Data::from_json(String::from_utf8(payload.to_vec()).ok()?).ok()?;
    let mut id = [1; 16];
    id[8..].copy_from_slice(&n.to_be_bytes());
    let time = Timestamp::from_micros(1_790_000_000_000_000 + i64::try_from(n).ok()?)?;
    Some(
        NewEvent::new(kind, data)
            .with_id(EventId::from_bytes(id))
            .with_time(time),
    )
}
