//! Tokens and cost, as providers report them.

use std::collections::VecDeque;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Numbers of tokens that do not overlap, whatever the provider's own words mean.
///
/// Providers differ: some count cached tokens inside the input and reasoning inside the output,
/// some do not. Who writes an event subtracts, so that here the sum of all fields is the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Input that was neither read from a cache nor written to one.
    pub input: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Visible output.
    pub output: u64,
    /// Reasoning that is not part of the visible output.
    pub reasoning: u64,
}

impl Tokens {
    /// All tokens together.
    pub fn total(&self) -> u64 {
        [
            self.cache_read,
            self.cache_write,
            self.output,
            self.reasoning,
        ]
        .iter()
        .fold(self.input, |sum, n| sum.saturating_add(*n))
    }

    /// These tokens without some of them.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.input = self.input.saturating_sub(other.input);
        self.cache_read = self.cache_read.saturating_sub(other.cache_read);
        self.cache_write = self.cache_write.saturating_sub(other.cache_write);
        self.output = self.output.saturating_sub(other.output);
        self.reasoning = self.reasoning.saturating_sub(other.reasoning);
        self
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// What a count stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageMode {
    /// One response.
    #[default]
    Response,
    /// Everything since the session began: the last one wins.
    Cumulative,
}

/// The payload of [`kinds::USAGE_REPORTED`](super::kinds::USAGE_REPORTED), and the field `usage` of
/// a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Usage {
    /// What the count stands for.
    pub mode: UsageMode,
    /// The response that is counted: of several counts with one key the last wins.
    pub key: Option<String>,
    /// The tokens.
    pub tokens: Tokens,
    /// The cost in US dollars, only if the provider or the harness recorded one.
    pub cost: Option<f64>,
}

/// Usage as it is written: all on one level. Written out, since a flattened field makes the reader
/// keep a copy of all of them first.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(skip_serializing_if = "is_response")]
    mode: UsageMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl From<Written> for Usage {
    fn from(it: Written) -> Self {
        Self {
            mode: it.mode,
            key: it.key,
            tokens: Tokens {
                input: it.input,
                cache_read: it.cache_read,
                cache_write: it.cache_write,
                output: it.output,
                reasoning: it.reasoning,
            },
            cost: it.cost,
        }
    }
}

impl From<Usage> for Written {
    fn from(it: Usage) -> Self {
        Self {
            mode: it.mode,
            key: it.key,
            input: it.tokens.input,
            cache_read: it.tokens.cache_read,
            cache_write: it.tokens.cache_write,
            output: it.tokens.output,
            reasoning: it.tokens.reasoning,
            cost: it.cost,
        }
    }
}

fn is_response(mode: &UsageMode) -> bool {
    *mode == UsageMode::Response
}

/// Adds usage up: each response once, cumulative counts replaced.
///
/// It remembers the counts of the last [`Meter::WINDOW`] keys, since the parts of a reply stand
/// near each other though not next to each other; a key that returns later counts anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    settled: Tokens,
    cost: Option<f64>,
    cumulative: Tokens,
    cumulative_cost: Option<f64>,
    recent: VecDeque<(String, Tokens, Option<f64>)>,
}

impl Meter {
    /// How many responses can still be corrected.
    pub const WINDOW: usize = 64;

    /// Counts a report.
    pub fn add(&mut self, usage: &Usage) {
        match (usage.mode, &usage.key) {
            (UsageMode::Cumulative, _) => {
                self.cumulative = usage.tokens;
                self.cumulative_cost = usage.cost.or(self.cumulative_cost);
            }
            (UsageMode::Response, None) => self.settle(usage.tokens, usage.cost),
            (UsageMode::Response, Some(key)) => {
                if let Some(seen) = self.recent.iter_mut().find(|(seen, ..)| seen == key) {
                    *seen = (key.clone(), usage.tokens, usage.cost.or(seen.2));
                    return;
                }
                self.recent
                    .push_back((key.clone(), usage.tokens, usage.cost));
                if self.recent.len() > Self::WINDOW
                    && let Some((_, tokens, cost)) = self.recent.pop_front()
                {
                    self.settle(tokens, cost);
                }
            }
        }
    }

    fn settle(&mut self, tokens: Tokens, cost: Option<f64>) {
        self.settled += tokens;
        self.cost = sum(self.cost, cost);
    }

    /// All tokens so far.
    pub fn tokens(&self) -> Tokens {
        let mut total = self.settled;
        total += self.cumulative;
        self.recent
            .iter()
            .for_each(|(_, tokens, _)| total += *tokens);
        total
    }

    /// The recorded cost so far; `None` if none was recorded: no price is invented.
    pub fn cost(&self) -> Option<f64> {
        let settled = sum(self.cost, self.cumulative_cost);
        self.recent
            .iter()
            .fold(settled, |total, (_, _, cost)| sum(total, *cost))
    }
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(key: Option<&str>, output: u64, mode: UsageMode) -> Usage {
        let tokens = Tokens {
            output,
            ..Tokens::default()
        };
        Usage {
            mode,
            key: key.map(Into::into),
            tokens,
            cost: None,
        }
    }

    #[test]
    fn each_response_counts_once_and_cumulative_counts_replace() {
        let mut meter = Meter::default();
        for output in [1, 5, 9] {
            meter.add(&report(Some("a"), output, UsageMode::Response));
            meter.add(&report(Some("b"), output * 10, UsageMode::Response));
        }
        meter.add(&report(None, 1, UsageMode::Response));
        assert_eq!(meter.tokens().output, 9 + 90 + 1);
        for output in [100, 200, 200] {
            meter.add(&report(None, output, UsageMode::Cumulative));
        }
        assert_eq!(meter.tokens().output, 300);
        assert_eq!(meter.cost(), None);
        for n in 0..200 {
            meter.add(&report(Some(&n.to_string()), 1, UsageMode::Response));
        }
        assert_eq!(meter.tokens().output, 500);
    }
}
