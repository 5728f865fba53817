//! Prices that the user gives.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use sessionlog::Error;
use sessionlog::transcript::Price;

use crate::failure::{Failure, Outcome, os_error};

/// A table of prices, by the full name of the model.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Prices(BTreeMap<String, Written>);

/// A price as it is written: all classes, since a class without a price would be free.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Written {
    input: f64,
    cache_read: f64,
    cache_write: f64,
    output: f64,
}

impl Prices {
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let text = std::fs::read(path)
            .map_err(|e| os_error(format!("the prices can't be read: {}", path.display()), e))?;
        serde_json::from_slice(&text).map_err(|e| {
            let told = format!("the prices can't be understood: {}", path.display());
            Failure::hinted(
                Error::invalid(told).with_source(e),
                r#"write {"model": {"input": 3, "cache_read": 0.3, "cache_write": 3.75, "output": 15}}"#,
            )
        })
    }

    pub(super) fn of(&self, model: &str) -> Option<Price> {
        let it = self.0.get(model)?;
        Some(Price {
            input: it.input,
            cache_read: it.cache_read,
            cache_write: it.cache_write,
            output: it.output,
        })
    }
}
