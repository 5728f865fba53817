//! Options by name, from a query, a builder, the environment or a profile.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use sessionlog_core::{Error, Result};

/// The options of a place. It has no `Debug`, since they can be secrets.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    given: BTreeMap<String, String>,
    /// Environment variables, which count where nothing was given.
    pub(crate) vars: BTreeMap<String, String>,
}

impl Settings {
    /// Reads `name=value&name=value`. Values are percent-decoded, and a plus sign is one: secrets of
    /// S3 have them.
    pub(crate) fn parse(query: &str) -> Result<Self> {
        let mut settings = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Error::invalid("an option is given as name=value, with & between them")
            })?;
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| Error::invalid(format!("the value is not UTF-8: {name}")))?;
            if settings.given.contains_key(name) {
                return Err(Error::invalid(format!("an option is given twice: {name}")));
            }
            settings.set(name, value.into_owned());
        }
        Ok(settings)
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.given.insert(name.to_ascii_lowercase(), value);
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.given.remove(name)
    }

    #[cfg(feature = "_cloud")]
    pub(crate) fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    #[cfg(feature = "_cloud")]
    /// The variables whose names begin so, in lower case.
    pub(crate) fn vars(&self, prefix: &str) -> impl Iterator<Item = (String, &str)> {
        let named = self.vars.iter().filter(move |(k, _)| k.starts_with(prefix));
        named.map(|(k, v)| (k.to_ascii_lowercase(), v.as_str()))
    }

    #[cfg(feature = "_cloud")]
    /// The values that no message may repeat.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        const NAMES: [&str; 6] = ["KEY", "SECRET", "TOKEN", "SAS", "PASSWORD", "CREDENTIALS"];
        let all = self.given.iter().chain(&self.vars);
        let secret = all.filter(|(name, value)| {
            let name = name.to_ascii_uppercase();
            !value.is_empty() && NAMES.iter().any(|part| name.contains(part))
        });
        secret.map(|(_, value)| value.as_str())
    }

    /// Where requests go, if that was said.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        let given = ["endpoint", "endpoint_url", "aws_endpoint", "base_url"];
        let vars = [
            "AWS_ENDPOINT_URL_S3",
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT",
            "AZURE_STORAGE_ENDPOINT",
        ];
        let given = given.iter().find_map(|k| self.given.get(*k));
        let found = given.or_else(|| vars.iter().find_map(|k| self.vars.get(*k)));
        found.map(String::as_str)
    }
}
