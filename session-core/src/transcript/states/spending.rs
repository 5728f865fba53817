//! Tokens and cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::transcript::{Message, Meter, Tokens, Usage, UsageMode};

/// What a model costs, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Input read from a cache.
    pub cache_read: f64,
    /// Input written to a cache.
    pub cache_write: f64,
    /// Output, and reasoning.
    pub output: f64,
}

impl Price {
    /// The price of some tokens.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let all = [
            (self.input, tokens.input),
            (self.cache_read, tokens.cache_read),
            (self.cache_write, tokens.cache_write),
            (self.output, tokens.output),
            (self.output, tokens.reasoning),
        ];
        all.iter().map(|(price, n)| price * float(*n) / 1e6).sum()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a price needs no more than 52 bits"
)]
fn float(n: u64) -> f64 {
    n as f64
}

/// What a session used, as providers reported it: each response once, by model.
///
/// What a rollback or a compaction hides was used all the same. What a fork has from the session
/// that it was forked from is [`inherited`](Self::inherited), and counts there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spending {
    models: BTreeMap<String, Meter>,
    cumulative: Meter,
    cumulative_model: String,
    inherited: Tokens,
    inherited_cost: Option<f64>,
}

impl Spending {
    /// All tokens, with what was inherited.
    pub fn tokens(&self) -> Tokens {
        let mut all = self.cumulative.tokens();
        self.models.values().for_each(|meter| all += meter.tokens());
        all
    }

    /// The tokens of each model; the empty name stands for a model that was never named.
    pub fn by_model(&self) -> BTreeMap<&str, Tokens> {
        let mut all = BTreeMap::new();
        for (model, meter) in &self.models {
            *all.entry(model.as_str()).or_insert_with(Tokens::default) += meter.tokens();
        }
        let cumulative = self.cumulative.tokens();
        if cumulative != Tokens::default() {
            *all.entry(self.cumulative_model.as_str()).or_default() += cumulative;
        }
        all
    }

    /// The tokens that were used in the session that this one was forked from.
    pub fn inherited(&self) -> Tokens {
        self.inherited
    }

    /// The tokens that were used in this session: what sums over sessions add up.
    pub fn own(&self) -> Tokens {
        self.tokens().without(&self.inherited)
    }

    /// The cost that was recorded, in US dollars, with what was inherited; `None` if none was.
    pub fn cost(&self) -> Option<f64> {
        let meters = self.models.values().chain([&self.cumulative]);
        meters
            .filter_map(Meter::cost)
            .reduce(|sum, cost| sum + cost)
    }

    /// The cost that was recorded in this session.
    pub fn own_cost(&self) -> Option<f64> {
        let all = self.cost()?;
        Some(self.inherited_cost.map_or(all, |inherited| all - inherited))
    }

    /// The recorded cost, or else the one by the caller's prices. `None` if a model that was used
    /// has no price: no cost is invented.
    pub fn cost_by(&self, mut price: impl FnMut(&str) -> Option<Price>) -> Option<f64> {
        if let Some(recorded) = self.cost() {
            return Some(recorded);
        }
        let used = self
            .by_model()
            .into_iter()
            .filter(|(_, tokens)| tokens.total() > 0);
        used.map(|(model, tokens)| Some(price(model)?.of(&tokens)))
            .sum()
    }

    /// The part of all input that was read from a cache, 0 to 1; `None` if there was no input.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let tokens = self.tokens();
        let input = tokens.input.saturating_add(tokens.cache_write);
        let input = input.saturating_add(tokens.cache_read);
        (input > 0).then(|| float(tokens.cache_read) / float(input))
    }

    pub(in crate::transcript) fn report(&mut self, usage: &Usage, model: Option<&str>) {
        let model = model.unwrap_or_default();
        if usage.mode == UsageMode::Cumulative {
            self.cumulative.add(usage);
            model.clone_into(&mut self.cumulative_model);
        } else if let Some(meter) = self.models.get_mut(model) {
            meter.add(usage);
        } else {
            self.models.entry(model.to_owned()).or_default().add(usage);
        }
    }

    /// The usage of a reply.
    pub(in crate::transcript) fn hear(&mut self, message: &Message<'_>, model: Option<&str>) {
        if let Some(usage) = message.counted() {
            self.report(&usage, message.model.as_deref().or(model));
        }
    }

    /// All that was used so far was used elsewhere.
    pub(in crate::transcript) fn inherit(&mut self) {
        self.inherited = self.tokens();
        self.inherited_cost = self.cost();
    }
}
