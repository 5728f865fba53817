//! The title.

use serde::{Deserialize, Serialize};

use crate::card::{chosen_title, derived_title};
use crate::transcript::{Message, Role, Title, TitleBy};

/// The title of a session: the one that a person chose, else the last derived one, else the
/// beginning of the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Titles {
    title: Option<String>,
    by: Option<TitleBy>,
}

impl Titles {
    /// The title.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Who chose it; none if it is the beginning of the first request.
    pub fn by(&self) -> Option<TitleBy> {
        self.by
    }

    pub(in crate::transcript) fn set(&mut self, it: &Title) {
        let title = chosen_title(&it.title);
        if self.by.is_none_or(|by| it.by >= by) && !title.is_empty() {
            self.title = Some(title);
            self.by = Some(it.by);
        }
    }

    pub(in crate::transcript) fn hear(&mut self, message: &Message<'_>) {
        let request = message.role == Role::User
            && self.title.is_none()
            && message.agent.is_none()
            && !message.injected
            && message.results.is_empty();
        if request {
            self.title = Some(derived_title(&message.text())).filter(|title| !title.is_empty());
        }
    }
}
