//! Settings at the tail.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::transcript::{Message, SessionStarted, SettingsChanged};

/// The payload of [`kinds::PROVIDER_STATE`](crate::transcript::kinds::PROVIDER_STATE): something
/// that only the provider understands, such as the handle of a conversation that it keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderState<'a> {
    /// The provider.
    pub provider: String,
    /// Its state; absent or `null` for none from here on.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a RawValue>,
}

/// The settings as of the last event that changed them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The model: the one that was set or that replied last.
    pub model: Option<String>,
    /// The effort of its reasoning.
    pub effort: Option<String>,
    /// The mode of the harness.
    pub mode: Option<String>,
    /// What connects the harness to the model.
    pub connector: Option<String>,
    /// The tools that are offered.
    pub tools: Option<Vec<String>>,
    /// The id of the run: the same for a whole session, for the routing of caches.
    pub run: Option<String>,
    /// The working directory.
    pub directory: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The program that drives the session.
    pub harness: Option<String>,
    provider: BTreeMap<String, Box<RawValue>>,
}

impl Settings {
    /// The opaque state of a provider, byte for byte.
    pub fn provider_state(&self, provider: &str) -> Option<&RawValue> {
        self.provider.get(provider).map(|state| &**state)
    }

    pub(in crate::transcript) fn start(&mut self, it: SessionStarted) {
        set(&mut self.model, it.model);
        set(&mut self.directory, it.directory);
        set(&mut self.branch, it.branch);
        set(&mut self.harness, it.harness);
    }

    pub(in crate::transcript) fn change(&mut self, it: SettingsChanged) {
        set(&mut self.model, it.model);
        set(&mut self.effort, it.effort);
        set(&mut self.mode, it.mode);
        set(&mut self.connector, it.connector);
        set(&mut self.tools, it.tools);
        set(&mut self.run, it.run);
        set(&mut self.directory, it.directory);
        set(&mut self.branch, it.branch);
    }

    pub(in crate::transcript) fn hear(&mut self, message: &Message<'_>) {
        take(&mut self.model, message.model.as_ref());
        take(&mut self.directory, message.directory.as_ref());
        take(&mut self.branch, message.branch.as_ref());
        take(&mut self.harness, message.harness.as_ref());
    }

    pub(in crate::transcript) fn keep(&mut self, it: ProviderState<'_>) {
        match it.state.filter(|state| state.get() != "null") {
            Some(state) => {
                self.provider.insert(it.provider, state.to_owned());
            }
            None => {
                self.provider.remove(&it.provider);
            }
        }
    }
}

fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

fn take(field: &mut Option<String>, value: Option<&String>) {
    if let Some(value) = value.filter(|value| field.as_ref() != Some(value)) {
        *field = Some(value.clone());
    }
}
