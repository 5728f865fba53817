//! What agents share: channels, triggers, a scratchpad, jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::SeqNum;

/// The payload of [`kinds::CHANNEL_SENT`](crate::transcript::kinds::CHANNEL_SENT).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSent {
    /// The channel.
    pub channel: String,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A channel: the messages themselves are read from the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// How many messages were sent.
    pub sent: u64,
    /// Where the last one is.
    pub last: SeqNum,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// The payload of [`kinds::TRIGGER_SET`](crate::transcript::kinds::TRIGGER_SET),
/// [`kinds::TRIGGER_FIRED`](crate::transcript::kinds::TRIGGER_FIRED) and
/// [`kinds::TRIGGER_REMOVED`](crate::transcript::kinds::TRIGGER_REMOVED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerEvent {
    /// The trigger.
    pub trigger: String,
    /// When it fires, in the words of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// A trigger that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Where it was set.
    pub set: SeqNum,
    /// When it fires, in the words of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// How often it fired.
    pub fired: u64,
}

/// The payload of [`kinds::SCRATCHPAD_SET`](crate::transcript::kinds::SCRATCHPAD_SET).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScratchpadSet<'a> {
    /// The key.
    pub key: String,
    /// The value; absent or `null` to take the key away.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub value: Option<&'a RawValue>,
}

/// The payload of [`kinds::JOB_CHANGED`](crate::transcript::kinds::JOB_CHANGED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobChanged {
    /// The job.
    pub job: String,
    /// Its state, in the words of the harness: `queued`, `running`, `done`, `failed`.
    #[serde(default)]
    pub state: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Channels, triggers, scratchpad and jobs, each in its last state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Board {
    channels: BTreeMap<String, Channel>,
    triggers: BTreeMap<String, Trigger>,
    scratchpad: BTreeMap<String, Box<RawValue>>,
    jobs: BTreeMap<String, (SeqNum, JobChanged)>,
}

impl Board {
    /// The channels, by name.
    pub fn channels(&self) -> &BTreeMap<String, Channel> {
        &self.channels
    }

    /// The triggers that are set, by name.
    pub fn triggers(&self) -> &BTreeMap<String, Trigger> {
        &self.triggers
    }

    /// A value of the scratchpad, byte for byte.
    pub fn scratch(&self, key: &str) -> Option<&RawValue> {
        self.scratchpad.get(key).map(|value| &**value)
    }

    /// The keys of the scratchpad.
    pub fn scratchpad(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        let all = self.scratchpad.iter();
        all.map(|(key, value)| (key.as_str(), &**value))
    }

    /// The jobs, each with its last change and where that is.
    pub fn jobs(&self) -> impl Iterator<Item = (SeqNum, &JobChanged)> {
        self.jobs.values().map(|(seq, job)| (*seq, job))
    }

    pub(in crate::transcript) fn send(&mut self, seq: SeqNum, it: ChannelSent) {
        let channel = self.channels.entry(it.channel).or_default();
        channel.sent += 1;
        channel.last = seq;
        channel.from = it.from;
    }

    pub(in crate::transcript) fn set(&mut self, seq: SeqNum, it: TriggerEvent) {
        let trigger = Trigger {
            set: seq,
            when: it.when,
            fired: 0,
        };
        self.triggers.insert(it.trigger, trigger);
    }

    pub(in crate::transcript) fn fire(&mut self, it: &TriggerEvent) {
        if let Some(trigger) = self.triggers.get_mut(&it.trigger) {
            trigger.fired += 1;
        }
    }

    pub(in crate::transcript) fn remove(&mut self, it: &TriggerEvent) {
        self.triggers.remove(&it.trigger);
    }

    pub(in crate::transcript) fn scribble(&mut self, it: ScratchpadSet<'_>) {
        match it.value.filter(|value| value.get() != "null") {
            Some(value) => {
                self.scratchpad.insert(it.key, value.to_owned());
            }
            None => {
                self.scratchpad.remove(&it.key);
            }
        }
    }

    pub(in crate::transcript) fn job(&mut self, seq: SeqNum, it: JobChanged) {
        self.jobs.insert(it.job.clone(), (seq, it));
    }
}
