//! What an object store's refusal means, and what to do about it.

use std::error::Error as StdError;
use std::fmt;

use object_store::Error as StoreError;
use sessionlog_core::Error;

use super::guard::refusal;

/// Turns an error of the object store into one that tells what to do. `doing` says what was refused:
/// "read the head of session s1".
///
/// The answer is `Unavailable` where the same request can succeed later, `NotFound` for a key that is
/// not there, `Unsupported` for what the store can't do, and `InvalidInput` for what somebody has to
/// correct first: credentials, permissions, region, bucket. A missing bucket is never `NotFound`,
/// which would say that a session is not there. Whether a write that failed may have happened is for
/// the caller to settle; this function doesn't know.
pub(crate) fn told(error: StoreError, doing: &str) -> Error {
    if let Some(refusal) = refusal(&error) {
        return refusal;
    }
    let cause = Cause::of(&error);
    let message = |text: &str| format!("can't {doing}: {text}");
    let told = match (cause.meaning(), error) {
        (Some(Meaning::Correct(text)), _) => Error::invalid(message(text)),
        (Some(Meaning::Later(text)), _) => Error::unavailable(message(text)),
        (None, StoreError::NotFound { .. }) => Error::not_found(message("it is not there")),
        (None, StoreError::InvalidPath { .. }) => Error::invalid(message(
            "the key is not one that object stores take, choose another prefix",
        )),
        (None, StoreError::NotSupported { .. } | StoreError::NotImplemented { .. }) => {
            Error::unsupported(message("the object store can't do that"))
        }
        (None, StoreError::UnknownConfigurationKey { key, store }) => {
            Error::invalid(format!("{store} has no option of this name: {key}"))
        }
        (None, _) => Error::unavailable(message("the object store gave an error")),
    };
    told.with_source(cause)
}

enum Meaning {
    /// Somebody has to correct this.
    Correct(&'static str),
    /// It can succeed later.
    Later(&'static str),
}

/// The part of an error that may be shown: never a query of a URL, and of an answer's body only the
/// code and the message.
#[derive(Debug)]
struct Cause {
    status: Option<u16>,
    code: Option<String>,
    text: String,
}

/// Longer messages of servers are cut.
const LONGEST: usize = 500;

impl Cause {
    fn of(error: &StoreError) -> Self {
        let whole = deepest_telling(error);
        let status = between(&whole, "status code: ", " ").and_then(|s| s.parse().ok());
        let code = tag(&whole, "Code");
        let mut text = match (&status, &code) {
            (None, None) => shown(&whole),
            _ => {
                let head = whole.split(['<', '{']).next().unwrap_or_default();
                let mut text = shown(head).trim_end_matches([' ', ':']).to_owned();
                for part in [code.clone(), tag(&whole, "Message")].into_iter().flatten() {
                    text.push_str(": ");
                    text.push_str(&part);
                }
                text
            }
        };
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
        }
        Self { status, code, text }
    }

    fn meaning(&self) -> Option<Meaning> {
        use Meaning::{Correct, Later};
        if let Some(meaning) = self.code.as_deref().and_then(by_code) {
            return Some(meaning);
        }
        let says = |part: &str| self.text.contains(part);
        if METADATA.iter().any(|part| says(part)) {
            return Some(Correct(
                "there are no credentials: none were given, and the metadata service of the machine \
                 gave none; set them in the environment, choose a profile, or give them as options",
            ));
        }
        if says("incorrectly configured region") {
            return Some(Correct(WRONG_REGION));
        }
        if says("HTTPS scheme") || says("scheme is not allowed") || says("BadScheme") {
            return Some(Correct(PLAIN_HTTP));
        }
        Some(match self.status? {
            301 | 307 | 308 => Correct(WRONG_REGION),
            401 => Correct(
                "the store does not accept the credentials, or there are none: check them in the \
                 environment, the profile or the options",
            ),
            403 => Correct(NO_PERMISSION),
            429 => Later("the store asks to slow down, try again later"),
            500..=599 => Later("the store has a fault of its own, try again later"),
            _ => return None,
        })
    }
}

const WRONG_REGION: &str =
    "the bucket is in another region or behind another endpoint: set region or endpoint";

const PLAIN_HTTP: &str = "the endpoint has no TLS: use https, or allow_http=true on a network that \
                          you trust";

const NO_PERMISSION: &str = "permission denied: the credentials need to read, write, delete and list under the prefix \
     (on S3: GetObject, PutObject, DeleteObject, and ListBucket, without which a key that is not \
     there looks like this, too)";

/// Where the credentials of a machine are asked for.
const METADATA: &[&str] = &[
    "/latest/api/token",
    "/latest/meta-data",
    "/computeMetadata/",
    "/metadata/identity",
    "/oauth2/token?api-version",
    "169.254.",
];

fn by_code(code: &str) -> Option<Meaning> {
    use Meaning::{Correct, Later};
    Some(match code {
        "NoSuchBucket" | "ContainerNotFound" | "ContainerBeingDeleted" => Correct(
            "there is no such bucket: check its name, region and endpoint, or make it first",
        ),
        "AccessDenied"
        | "AllAccessDisabled"
        | "AuthorizationPermissionMismatch"
        | "AuthorizationFailure"
        | "InsufficientAccountPermissions" => Correct(NO_PERMISSION),
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "AuthenticationFailed"
        | "InvalidSecurity"
        | "InvalidToken"
        | "NoAuthenticationInformation" => Correct(
            "the store does not accept the credentials: check key and secret, and which account \
             they belong to",
        ),
        "ExpiredToken" | "TokenRefreshRequired" => Correct(
            "the credentials have expired: get new ones, and start again where they were given as \
             options",
        ),
        "RequestTimeTooSkewed" | "RequestExpired" => {
            Correct("the clock of this machine is wrong: set it")
        }
        "AuthorizationHeaderMalformed"
        | "PermanentRedirect"
        | "TemporaryRedirect"
        | "IllegalLocationConstraintException" => Correct(WRONG_REGION),
        "SlowDown" | "ServerBusy" | "Throttling" | "TooManyRequests" | "RequestLimitExceeded" => {
            Later("the store asks to slow down, try again later")
        }
        _ => return None,
    })
}

/// The error and its causes as one text; each one already repeats what is below it.
fn deepest_telling(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let below = cause.to_string();
        if !text.contains(&below) {
            text.push_str(": ");
            text.push_str(&below);
        }
        source = cause.source();
    }
    text
}

/// The text without the queries of its URLs, which can hold signatures.
fn shown(text: &str) -> String {
    let mut words = text.split(' ').map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => before,
        _ => word,
    });
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + " " + word)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split(after).next()
}

fn tag(text: &str, name: &str) -> Option<String> {
    let found = between(text, &format!("<{name}>"), &format!("</{name}>"))?;
    Some(shown(found.lines().next().unwrap_or_default()))
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Cause {}

#[cfg(test)]
mod tests {
    use sessionlog_core::ErrorKind;

    use super::*;

    /// An error as the crate words them.
    fn answered(status: u16, body: &str) -> StoreError {
        let text = format!(
            "Error performing GET http://127.0.0.1:1/b/k?X-Amz-Signature=fakesecret in 2ms - Server \
             returned non-2xx status code: {status} Reason: {body}"
        );
        match status {
            404 => StoreError::NotFound {
                path: "k".into(),
                source: text.into(),
            },
            403 => StoreError::PermissionDenied {
                path: "k".into(),
                source: text.into(),
            },
            _ => StoreError::Generic {
                store: "S3",
                source: text.into(),
            },
        }
    }

    fn xml(code: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>what it is</Message>\
             <StringToSign>fakesecret</StringToSign></Error>"
        )
    }

    #[test]
    fn each_refusal_says_what_to_correct() {
        for (status, code, kind, says) in [
            (404, "NoSuchKey", ErrorKind::NotFound, "not there"),
            (404, "NoSuchBucket", ErrorKind::InvalidInput, "make it"),
            (404, "ContainerNotFound", ErrorKind::InvalidInput, "make it"),
            (403, "AccessDenied", ErrorKind::InvalidInput, "ListBucket"),
            (403, "Odd", ErrorKind::InvalidInput, "ListBucket"),
            (
                403,
                "InvalidAccessKeyId",
                ErrorKind::InvalidInput,
                "key and secret",
            ),
            (
                403,
                "RequestTimeTooSkewed",
                ErrorKind::InvalidInput,
                "clock",
            ),
            (400, "ExpiredToken", ErrorKind::InvalidInput, "expired"),
            (
                400,
                "AuthorizationHeaderMalformed",
                ErrorKind::InvalidInput,
                "region",
            ),
            (301, "PermanentRedirect", ErrorKind::InvalidInput, "region"),
            (503, "SlowDown", ErrorKind::Unavailable, "slow down"),
            (500, "InternalError", ErrorKind::Unavailable, "fault"),
        ] {
            let error = told(answered(status, &xml(code)), "read k");
            assert_eq!(*error.kind(), kind, "{code}: {error}");
            assert!(error.message().contains(says), "{code}: {error}");
            assert!(error.message().starts_with("can't read k: "), "{error}");
            let all = format!("{error:?}{}", error.source().unwrap());
            assert!(all.contains(code) && all.contains("what it is"), "{all}");
            assert!(!all.contains("fakesecret"), "{all}");
        }
    }

    #[test]
    fn a_machine_without_credentials_is_told_so() {
        let error = StoreError::Generic {
            store: "S3",
            source:
                "Error performing PUT http://127.0.0.1:1/latest/api/token in 1ms - HTTP error: \
                     error sending request"
                    .into(),
        };
        let error = told(error, "list sessions");
        assert_eq!(*error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains("no credentials"), "{error}");
    }

    #[test]
    fn a_body_that_is_no_xml_stays_out() {
        let error = told(answered(403, "{\"token\":\"fakesecret\"}"), "read k");
        let all = format!("{error:?}");
        assert!(all.contains("403") && !all.contains("fakesecret"), "{all}");
    }
}
