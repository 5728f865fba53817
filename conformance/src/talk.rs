//! Conversations to store: prompts, replies with calls, results that come, come late, come twice or
//! never, and everything that moves the head. A seed makes always the same one.

use sessionlog_core::transcript::kinds;
use sessionlog_core::{Kind, NewEvent, SeqNum};

use crate::make::with_data;

/// The first `len` events of the conversation of a seed.
pub(crate) fn talk(seed: u64, len: u64) -> Vec<NewEvent> {
    let mut talk = Talk {
        dice: Dice::new(seed),
        calls: 0,
        open: Vec::new(),
        answered: Vec::new(),
        places: Vec::new(),
    };
    (0..len)
        .map(|seq| {
            let (kind, json) = talk.next(seq);
            NewEvent {
                kind,
                ..with_data(seed * 10_000 + seq, json)
            }
        })
        .collect()
}

/// `head` to a position.
pub(crate) fn head(n: u64, to: SeqNum) -> NewEvent {
    NewEvent {
        kind: kinds::HEAD,
        ..with_data(n, format!(r#"{{"to":{to}}}"#))
    }
}

/// A prompt of the user.
pub(crate) fn prompt(n: u64) -> NewEvent {
    NewEvent {
        kind: kinds::MESSAGE,
        ..with_data(n, user(n))
    }
}

/// A rollback of so many messages.
pub(crate) fn rollback(n: u64, dropped: u64) -> NewEvent {
    NewEvent {
        kind: kinds::ROLLBACK,
        ..with_data(n, format!(r#"{{"dropped":{dropped}}}"#))
    }
}

/// Numbers that a seed decides.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(2);
        dice.below(2);
        dice
    }

    /// A number below another, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end.max(1)
    }

    /// Heads or tails.
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.below(from.len() as u64);
        from.get(usize::try_from(at).unwrap_or(0))
    }
}

struct Talk {
    dice: Dice,
    calls: u64,
    open: Vec<String>,
    answered: Vec<String>,
    /// Where messages and checkpoints are.
    places: Vec<u64>,
}

impl Talk {
    fn next(&mut self, seq: u64) -> (Kind, String) {
        let (kind, json) = match self.dice.below(20) {
            _ if seq == 0 => (kinds::MESSAGE, user(seq)),
            4..8 => (kinds::MESSAGE, self.reply(seq)),
            8..12 if !self.open.is_empty() => (kinds::MESSAGE, self.results()),
            12 => (kinds::MESSAGE, self.stray()),
            13 => (kinds::MESSAGE, part(seq)),
            14 | 15 => {
                let dropped = self.dice.below(4);
                (kinds::ROLLBACK, format!(r#"{{"dropped":{dropped}}}"#))
            }
            16 | 17 => (kinds::HEAD, self.moved()),
            18 => (kinds::COMPACTION, self.checkpoint(seq)),
            19 => (kinds::NOTICE, r#"{"text":"cancelled"}"#.to_owned()),
            _ => (kinds::MESSAGE, user(seq)),
        };
        if kind == kinds::MESSAGE || kind == kinds::COMPACTION {
            self.places.push(seq);
        }
        (kind, json)
    }

    fn reply(&mut self, seq: u64) -> String {
        let mut ids = Vec::new();
        for _ in 0..=self.dice.below(3) {
            self.calls += 1;
            ids.push(format!("c{}", self.calls));
        }
        // Some providers use an id again.
        let again = self.dice.pick(&self.answered).cloned();
        if let Some(again) = again.filter(|_| self.dice.below(4) == 0) {
            ids.push(again);
        }
        self.open.extend(ids.iter().cloned());
        let anthropic = self.dice.below(2) == 0;
        let blocks = list(&ids, |id| match anthropic {
            true => format!(r#"{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}"#),
            false => format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":"{{}}"}}}}"#
            ),
        });
        let message = match anthropic {
            true => format!(r#"{{"role":"assistant","content":[{blocks}]}}"#),
            false => format!(r#"{{"role":"assistant","content":null,"tool_calls":[{blocks}]}}"#),
        };
        let calls = list(&ids, |id| format!(r#"{{"id":"{id}","name":"t"}}"#));
        format!(
            r#"{{"role":"assistant","response":"r{seq}","calls":[{calls}],"message":{message}}}"#
        )
    }

    /// Results of calls that wait, in any order.
    fn results(&mut self) -> String {
        let mut ids = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let at = usize::try_from(self.dice.below(self.open.len() as u64)).unwrap_or(0);
            if at < self.open.len() {
                ids.push(self.open.remove(at));
            }
        }
        self.answered.extend(ids.iter().cloned());
        let chat = self.dice.below(2) == 0;
        results(&ids, chat)
    }

    /// A result that no call waits for: late, double or unknown.
    fn stray(&mut self) -> String {
        let known = self.dice.pick(&self.answered).cloned();
        let known = known.filter(|_| self.dice.below(4) > 0);
        results(&[known.unwrap_or_else(|| "nobody".to_owned())], false)
    }

    fn moved(&mut self) -> String {
        let to = self.dice.pick(&self.places).copied();
        match to.filter(|_| self.dice.below(6) > 0) {
            Some(to) => format!(r#"{{"to":{to}}}"#),
            None => r#"{"to":null}"#.to_owned(),
        }
    }

    fn checkpoint(&mut self, seq: u64) -> String {
        let kept = seq.saturating_sub(1 + self.dice.below(6));
        match self.dice.below(2) {
            0 => format!(r#"{{"summary":"up to {seq}","kept_from":{kept}}}"#),
            _ => format!(r#"{{"summary":"up to {seq}"}}"#),
        }
    }
}

fn list(ids: &[String], each: impl Fn(&str) -> String) -> String {
    let all: Vec<_> = ids.iter().map(|id| each(id)).collect();
    all.join(",")
}

fn user(n: u64) -> String {
    format!(r#"{{"role":"user","message":{{"role":"user","content":"prompt {n}"}}}}"#)
}

/// A piece of a reply of which more was to come.
fn part(n: u64) -> String {
    let message = format!(r#"{{"role":"assistant","content":"piece {n}"}}"#);
    format!(r#"{{"role":"assistant","response":"r{n}","more":true,"message":{message}}}"#)
}

/// Results as a message: a tool's where that can be said, else the user's.
fn results(ids: &[String], chat: bool) -> String {
    let named = list(ids, |id| format!(r#"{{"id":"{id}"}}"#));
    match ids {
        [id] if chat => format!(
            r#"{{"role":"tool","results":[{named}],"message":{{"role":"tool","tool_call_id":"{id}","content":"of {id}"}}}}"#
        ),
        _ => {
            let blocks = list(ids, |id| {
                format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"of {id}"}}"#)
            });
            format!(
                r#"{{"role":"user","results":[{named}],"message":{{"role":"user","content":[{blocks}]}}}}"#
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_conversation_of_json() {
        for seed in 0..20 {
            let events = talk(seed, 60);
            assert_eq!(events, talk(seed, 60));
            assert_eq!(events.get(..20), Some(&*talk(seed, 20)));
            for event in &events {
                let value = event.data.parse::<serde_json::Value>();
                assert!(value.is_ok(), "{}", event.data.as_text());
            }
        }
    }
}
