//! How a law ends when it is not upheld.

use std::fmt::Debug;
use std::io;

use sessionlog_core::Error;

/// Why a law did not pass.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The backend broke it: what was expected and what was observed.
    Breach(String),
    /// It could not be measured here.
    NotMeasured(String),
    /// There is nothing here that the law is about, and why.
    Skipped(String),
    /// The suite itself is broken.
    Broken(String),
}

/// The outcome of a law.
pub(crate) type Held<T = ()> = Result<T, End>;

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Breach(format!(
            "expected: success\nobserved: {}: {error}{}",
            error.kind().name(),
            std::error::Error::source(&error).map_or(String::new(), |s| format!(" ({s})")),
        ))
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(format!("the suite's own files: {error}"))
    }
}

/// A breach in words.
pub(crate) fn breach(what: impl Into<String>) -> End {
    End::Breach(what.into())
}

/// A breach as two values that should be equal.
pub(crate) fn differs(what: &str, expected: &dyn Debug, observed: &dyn Debug) -> End {
    End::Breach(format!(
        "{what}\nexpected: {}\nobserved: {}",
        short(&format!("{expected:?}")),
        short(&format!("{observed:?}"))
    ))
}

/// At most about a screenful.
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 2000;
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!(
            "{}… ({} bytes)",
            text.get(..cut).unwrap_or_default(),
            text.len()
        ),
        None => text.to_owned(),
    }
}

/// Ends the law with a breach unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err($crate::breach::breach(format!($($what)+)));
        }
    };
}

/// Ends the law with a breach unless two values are equal: observed, expected.
macro_rules! ensure_eq {
    ($observed:expr, $expected:expr, $($what:tt)+) => {{
        let (observed, expected) = (&$observed, &$expected);
        if observed != expected {
            return Err($crate::breach::differs(&format!($($what)+), expected, observed));
        }
    }};
}

/// Ends the law with a breach unless a result is an error of a kind.
macro_rules! ensure_err {
    ($result:expr, $kind:pat $(if $guard:expr)?, $($what:tt)+) => {
        match &$result {
            Err(error) if matches!(error.kind(), $kind $(if $guard)?) => {}
            other => {
                return Err($crate::breach::breach(format!(
                    "{}\nexpected: {}\nobserved: {}",
                    format!($($what)+),
                    stringify!($kind),
                    $crate::breach::shown(other),
                )));
            }
        }
    };
}

/// A result in a failure's words.
pub(crate) fn shown<T>(result: &Result<T, Error>) -> String {
    match result {
        Ok(_) => "success".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

pub(crate) use {ensure, ensure_eq, ensure_err};
