//! The list as JSON.

use serde::Serialize;
use sessionlog::transcript::Tokens;
use sessionlog::{Card, Holder, Liveness, Timestamp};

use super::Row;
use crate::failure::Problem;

/// A session as JSON.
#[derive(Serialize)]
pub(super) struct Entry<'a> {
    id: &'a str,
    #[serde(flatten)]
    card: Option<CardFields<'a>>,
    live: Driver<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

#[derive(Serialize)]
struct CardFields<'a> {
    title: Option<&'a str>,
    directory: Option<&'a str>,
    branch: Option<&'a str>,
    harness: Option<&'a str>,
    model: Option<&'a str>,
    effort: Option<&'a str>,
    mode: Option<&'a str>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    events: u64,
    prompts: u64,
    replies: u64,
    calls: u64,
    tokens: Tokens,
    cost: Option<f64>,
    blocked_on: &'a [String],
}

#[derive(Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
enum Driver<'a> {
    Live { holder: Option<&'a Holder> },
    Idle,
    Unknown { reason: String },
}

impl<'a> Entry<'a> {
    pub(super) fn of(row: &'a Row) -> Self {
        Self {
            id: row.listed.id.as_str(),
            card: row.listed.card.as_ref().ok().map(CardFields::of),
            live: match &row.live {
                Ok(Liveness::Live(holder)) => Driver::Live {
                    holder: holder.as_ref(),
                },
                Ok(Liveness::Idle) => Driver::Idle,
                Ok(Liveness::Unknown(reason)) => Driver::Unknown {
                    reason: reason.clone(),
                },
                Ok(other) => Driver::Unknown {
                    reason: format!("{other:?}"),
                },
                Err(error) => Driver::Unknown {
                    reason: error.to_string(),
                },
            },
            error: row.listed.card.as_ref().err().map(Problem::of),
        }
    }
}

impl<'a> CardFields<'a> {
    fn of(card: &'a Card) -> Self {
        Self {
            title: card.title.as_deref(),
            directory: card.directory.as_deref(),
            branch: card.branch.as_deref(),
            harness: card.harness.as_deref(),
            model: card.model.as_deref(),
            effort: card.effort.as_deref(),
            mode: card.mode.as_deref(),
            created: card.created,
            updated: card.updated,
            events: card.events,
            prompts: card.prompts,
            replies: card.replies,
            calls: card.calls,
            tokens: card.tokens(),
            cost: card.cost(),
            blocked_on: &card.blocked_on,
        }
    }
}
