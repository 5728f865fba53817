//! Tool calls without a result.

use std::collections::HashMap;

use sessionlog::transcript::Message;

/// Counts the calls of a whole log that no later result answers, whatever became of them since.
#[derive(Debug, Default)]
pub(crate) struct Unanswered(HashMap<String, u64>);

impl Unanswered {
    pub(crate) fn add(&mut self, message: &Message<'_>) {
        for result in &message.results {
            if let Some(open) = self.0.get_mut(&result.id) {
                *open -= 1;
                if *open == 0 {
                    self.0.remove(&result.id);
                }
            }
        }
        for call in &message.calls {
            *self.0.entry(call.id.clone()).or_default() += 1;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(messages: &[&str]) -> u64 {
        let mut all = Unanswered::default();
        for message in messages {
            all.add(&serde_json::from_str(message).unwrap());
        }
        all.count()
    }

    #[test]
    fn a_call_id_used_twice_needs_two_results() {
        let call = r#"{"role":"assistant","calls":[{"id":"","name":"a"}]}"#;
        let result = r#"{"role":"tool","results":[{"id":""},{"id":"other"}]}"#;
        assert_eq!(count(&[call, call, result]), 1);
        assert_eq!(count(&[call, result, call, result]), 0);
        assert_eq!(count(&[result, call]), 1);
    }
}
