//! What a conversation tells, and what it should tell.

use std::sync::Arc;

use serde_json::value::RawValue;
use sessionlog_core::transcript::check::check;
use sessionlog_core::transcript::{Dialect, Interrupted, Origin, Transcript};
use sessionlog_core::{Memory, NewEvent, Projection, SeqNum, Session, SessionRef, Snapshot, Store};

use crate::bench::{Bench, Handle};
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::make::{at, id};

const DIALECTS: [Dialect; 3] = [Dialect::Anthropic, Dialect::Chat, Dialect::Responses];

/// Everything that is seen of a transcript.
#[derive(Debug)]
pub(crate) struct Told {
    /// All of it in words, to be compared, by what it is about.
    words: Vec<(&'static str, String)>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) interrupted: Interrupted,
    aside: usize,
}

/// The calls that an item makes, and those that it answers.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) calls: Vec<String>,
    pub(crate) answers: Vec<String>,
    pub(crate) closing: bool,
}

/// What a model API would get.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) dialect: Dialect,
    pub(crate) messages: Vec<Box<RawValue>>,
}

impl Told {
    /// What a transcript tells. What it lacks must be loaded.
    pub(crate) fn of(transcript: &Transcript) -> Held<Self> {
        let conversation = transcript.conversation(None)?;
        let items = conversation.items();
        let owned = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect();
        let turns = items.iter().map(|item| Turn {
            calls: item.calls.iter().map(|(id, _)| (*id).to_owned()).collect(),
            answers: owned(&item.answers),
            closing: item.origin == Origin::Closing,
        });
        let sent = DIALECTS.map(|dialect| (dialect, conversation.render(dialect)));
        let state = serde_json::to_string(transcript).map_err(|e| End::Broken(e.to_string()))?;
        let aside = conversation.set_aside();
        let branches = transcript.branches(None);
        let shown = sent.each_ref().map(|(_, rendered)| rendered.to_json());
        Ok(Self {
            words: vec![
                ("what is sent", shown.join("\n")),
                ("items", format!("{items:?}")),
                ("results set aside", format!("{aside:?}")),
                ("branches", format!("{branches:?}")),
                ("state", state),
            ],
            turns: turns.collect(),
            interrupted: Interrupted::of(transcript)?,
            aside: aside.len(),
            sent: sent
                .into_iter()
                .map(|(dialect, rendered)| Sent {
                    dialect,
                    messages: rendered.messages,
                })
                .collect(),
        })
    }

    /// A breach unless it tells what another does.
    pub(crate) fn same(&self, expected: &Self, when: &str) -> Held {
        for ((what, own), (_, wanted)) in self.words.iter().zip(&expected.words) {
            // What is the same before the first difference is left out.
            let same = own.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b);
            let from = same.count().saturating_sub(60);
            let cut = |text: &str| text.chars().skip(from).take(300).collect::<String>();
            ensure!(
                own == wanted,
                "the conversation {when}: {what}\nexpected: …{}\nobserved: …{}",
                cut(wanted),
                cut(own)
            );
        }
        Ok(())
    }

    /// A breach unless a model API takes it (G20).
    pub(crate) fn sound(&self, when: &str) -> Held {
        sound(&self.turns, &self.sent, when)
    }

    /// Takes note of what must be met sometimes.
    pub(crate) fn count(&self, bench: &Bench) {
        let closed = self.turns.iter().filter(|turn| turn.closing).count();
        bench.sometimes(CLOSED, closed as u64);
        bench.sometimes(ASIDE, self.aside as u64);
    }
}

/// A call that replay had to answer.
pub(crate) const CLOSED: &str = "call closed";
/// A result that replay had to set aside.
pub(crate) const ASIDE: &str = "result set aside";

/// A breach unless each call is answered once, directly, and each dialect's rules are kept.
pub(crate) fn sound(turns: &[Turn], sent: &[Sent], when: &str) -> Held {
    let mut waiting: Vec<&String> = Vec::new();
    for turn in turns {
        for id in &turn.answers {
            let at = waiting.iter().position(|waits| *waits == id);
            ensure!(at.is_some(), "an answer {when} has no call: {id}");
            at.map(|at| waiting.remove(at));
        }
        ensure!(
            waiting.is_empty() || !turn.answers.is_empty(),
            "calls {when} are not answered before something else is said: {waiting:?}"
        );
        waiting.extend(&turn.calls);
    }
    ensure!(
        waiting.is_empty(),
        "calls {when} are not answered: {waiting:?}"
    );
    for Sent { dialect, messages } in sent {
        if let Err(breach) = check(*dialect, messages) {
            let all: Vec<_> = messages.iter().map(|m| m.get()).collect();
            ensure!(
                false,
                "{dialect:?} would refuse the conversation {when}: {breach}\nsent: {all:?}"
            );
        }
    }
    Ok(())
}

/// What a log tells at each position, by the reference backend without a snapshot.
pub(crate) struct Expected {
    session: Session,
    transcript: Transcript,
    /// At position 0, 1, …
    pub(crate) told: Vec<Told>,
}

impl Expected {
    pub(crate) async fn of(log: &[NewEvent]) -> Held<Self> {
        let session = Store::new(Memory::new()).create(id("expected")?).await?;
        let transcript = Transcript::default();
        let mut expected = Self {
            told: vec![Told::of(&transcript)?],
            session,
            transcript,
        };
        for event in log {
            expected.push(event.clone()).await?;
        }
        Ok(expected)
    }

    /// One event more.
    pub(crate) async fn push(&mut self, event: NewEvent) -> Held {
        let range = self.session.append(vec![event]).await?;
        let stored = self.session.event(range.start).await?;
        self.transcript.apply(&stored);
        self.session.load(&mut self.transcript, None).await?;
        self.told.push(Told::of(&self.transcript)?);
        Ok(())
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What is told at a position.
    pub(crate) fn at(&self, position: u64) -> Held<&Told> {
        let position = usize::try_from(position).ok();
        let told = position.and_then(|position| self.told.get(position));
        told.ok_or_else(|| End::Broken("a position that the suite did not expect".into()))
    }

    /// A breach unless a session tells the same at a position. How many events were folded.
    pub(crate) async fn check(&self, session: &Session, until: u64, when: &str) -> Held<u64> {
        let (told, folded) = observe(session, until).await?;
        let when = format!("{when}, at {until}");
        told.sound(&when)?;
        told.same(self.at(until)?, &when)?;
        Ok(folded)
    }
}

/// What a session tells at a position, and how many events were folded to know it.
pub(crate) async fn observe(session: &Session, until: u64) -> Held<(Told, u64)> {
    let mut projected = session.project_until::<Transcript>(at(until)).await?;
    ensure_eq!(projected.head.tail, at(until), "how far replay reached");
    session.load(&mut projected.state, None).await?;
    Ok((Told::of(&projected.state)?, projected.folded))
}

/// A session of a handle.
pub(crate) async fn session_of(handle: &Handle, at: &SessionRef) -> Held<Session> {
    Ok(Store::shared(Arc::clone(handle)).open(&at.id).await?)
}

/// The transcript of a session at a position as a snapshot.
pub(crate) async fn snapshot_at(session: &Session, until: SeqNum) -> Held<Snapshot> {
    let projected = session.project_until::<Transcript>(until).await?;
    let state = serde_json::to_vec(&projected.state).map_err(|e| End::Broken(e.to_string()))?;
    Ok(Snapshot {
        projection: sessionlog_core::Kind::from_static(Transcript::NAME),
        version: Transcript::VERSION,
        covers: projected.head.tail,
        log: projected.head.sum,
        state: state.into(),
    })
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use sessionlog_core::transcript::kinds;

    use super::*;
    use crate::make::with_data;

    /// Replay may not end a conversation in these ways. No backend can make it: these are the twins
    /// of the projection, and the rules must catch each of them.
    #[test]
    fn what_a_faulty_replay_would_send_is_refused() {
        let payloads = [
            r#"{"role":"user","message":{"role":"user","content":"go"}}"#,
            r#"{"role":"assistant","calls":[{"id":"a","name":"t"},{"id":"b","name":"t"}],"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]}}"#,
            r#"{"role":"tool","results":[{"id":"a"}],"message":{"role":"tool","tool_call_id":"a","content":"x"}}"#,
            r#"{"role":"user","message":{"role":"user","content":"never mind"}}"#,
            r#"{"role":"assistant","message":{"role":"assistant","content":"well"}}"#,
        ];
        let log: Vec<_> = (0..)
            .zip(payloads)
            .map(|(n, json)| NewEvent {
                kind: kinds::MESSAGE,
                ..with_data(n, json)
            })
            .collect();
        let expected = block_on(Expected::of(&log)).unwrap();
        let told = expected.told.last().unwrap();
        told.sound("as it is").unwrap();
        let closing = told.turns.iter().position(|turn| turn.closing).unwrap();
        assert_eq!((closing, told.turns.len()), (3, 6), "{:?}", told.turns);

        let faults: [(&str, &[usize]); 5] = [
            ("closed at the tail only", &[0, 1, 2, 4, 5, 3]),
            ("never closed", &[0, 1, 2, 4, 5]),
            ("closed twice", &[0, 1, 2, 3, 3, 4, 5]),
            ("answered before the call", &[0, 2, 3, 1, 4, 5]),
            ("without the call", &[0, 2, 3, 4, 5]),
        ];
        for (what, order) in faults {
            let turns: Vec<_> = order.iter().map(|at| told.turns[*at].clone()).collect();
            assert!(sound(&turns, &[], what).is_err(), "items {what}");
            let chat = told.sent.iter().find(|s| s.dialect == Dialect::Chat);
            let chat = &chat.unwrap().messages;
            assert_eq!(chat.len(), 6);
            let sent = Sent {
                dialect: Dialect::Chat,
                messages: order.iter().map(|at| chat[*at].clone()).collect(),
            };
            assert!(sound(&[], &[sent], what).is_err(), "messages {what}");
        }
        // The other provider takes results of one reply in one message: moved to the tail.
        let sent = told.sent.iter().find(|s| s.dialect == Dialect::Anthropic);
        let mut sent = sent.unwrap().clone();
        let results = sent.messages.remove(2);
        sent.messages.push(results);
        assert!(sound(&[], &[sent], "closed at the tail only").is_err());
        let mut expected = expected;
        let mut told = expected.told.pop().unwrap();
        told.turns.remove(closing);
        assert!(told.sound("never closed").is_err());
    }

    #[test]
    fn a_session_that_tells_another_conversation_is_found() {
        let log = crate::talk::talk(1, 9);
        let session = |log: &[NewEvent]| {
            let session = block_on(Store::new(Memory::new()).create(id("s").unwrap())).unwrap();
            block_on(session.append(log.to_vec())).unwrap();
            session
        };
        let expected = block_on(Expected::of(&log)).unwrap();
        for until in [2, 9] {
            let folded = block_on(expected.check(&session(&log), until, "")).unwrap();
            assert_eq!(folded, until);
        }
        // Another event at a place that is looked at; and fewer events than are to be told.
        let mut other = log.clone();
        other[3] = crate::talk::prompt(77);
        block_on(expected.check(&session(&other), 3, "")).unwrap();
        for (log, until) in [(&other[..], 4), (&log[..8], 9)] {
            let held = block_on(expected.check(&session(log), until, ""));
            assert!(matches!(held, Err(End::Breach(_))), "{held:?}");
        }
    }

    #[test]
    fn what_differs_is_told_from_where_it_differs() {
        let told = |n: u64| {
            let log = crate::talk::talk(1, n);
            let mut expected = block_on(Expected::of(&log)).unwrap();
            expected.told.pop().unwrap()
        };
        told(29).same(&told(29), "").unwrap();
        let Err(End::Breach(why)) = told(29).same(&told(28), "here") else {
            panic!("they are not the same");
        };
        assert!(why.contains("here") && why.len() < 1500, "{why}");
        let (expected, observed) = why.split_once("observed: ").unwrap();
        let (_, expected) = expected.split_once("expected: ").unwrap();
        assert_ne!(expected.trim(), observed.trim());
    }
}
