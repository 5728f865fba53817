//! What stops a command.

use std::error::Error as StdError;
use std::io::{self, Write};

use serde::Serialize;
use sessionlog::{Error, ErrorKind};

use crate::exit::Exit;
use crate::text::{Paint, line};

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error, with what to do about it if that is more than its kind says.
    Error(Error, Option<String>),
    /// Standard output could not be written.
    Output(io::Error),
}

/// What a command gives.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error, None)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// An error of the operating system, told as one of the log.
pub(crate) fn os_error(what: impl Into<String>, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => ErrorKind::InvalidInput,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, what).with_source(error)
}

impl Failure {
    /// An error with a hint of its own.
    pub(crate) fn hinted(error: Error, hint: impl Into<String>) -> Self {
        Self::Error(error, Some(hint.into()))
    }

    /// Tells it on standard error, and gives the exit that goes with it. A closed pipe is told to
    /// nobody: who closed it has seen enough.
    pub(crate) fn report(self, err: &mut dyn Write, json: bool, paint: Paint) -> Exit {
        let (error, hint) = match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::OK,
            Self::Error(error, _) if is_closed_pipe(&error) => return Exit::OK,
            Self::Output(error) => {
                let told = Error::internal("the output can't be written").with_source(error);
                (told, Some("make room where the output goes".to_owned()))
            }
            Self::Error(error, hint) => (error, hint),
        };
        let exit = Exit::of(error.kind());
        let hint = hint.unwrap_or_else(|| hint_for(error.kind()).to_owned());
        // Nothing is left to be done if even this can't be written.
        drop(if json {
            write_json(err, &error, &hint, exit)
        } else {
            write_text(err, &error, &hint, paint)
        });
        exit
    }
}

fn is_closed_pipe(error: &Error) -> bool {
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

fn hint_for(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput => "see sessionlog help, or the help of the command",
        ErrorKind::NotFound => "see what there is: sessionlog ls",
        ErrorKind::Conflict { .. } => "look at what came first, and decide again: sessionlog show",
        ErrorKind::LeaseHeld { .. } => {
            "wait for the holder, or read without the lease: sessionlog show"
        }
        ErrorKind::Fenced { .. } => "stop here: somebody else drives the session now",
        ErrorKind::Unavailable => "nothing happened: mend the cause and try again",
        ErrorKind::Indeterminate => "it may have happened: look with sessionlog show --last 5",
        ErrorKind::Corrupt { .. } => {
            "see every place with sessionlog verify, and what can be saved with sessionlog repair"
        }
        ErrorKind::Unsupported => "use another store, or a version of sessionlog that can do this",
        _ => "this is a fault of sessionlog: please report it",
    }
}

fn write_text(err: &mut dyn Write, error: &Error, hint: &str, paint: Paint) -> io::Result<()> {
    let told = line(&chain(error));
    writeln!(err, "{} {told}", paint.bad("sessionlog:"))?;
    writeln!(err, "{} {}", paint.dim("hint:"), line(hint))
}

/// An error and its causes, in one line, none of them twice.
pub(crate) fn chain(error: &Error) -> String {
    let mut told = error.to_string();
    for cause in causes(error) {
        told.push_str(": ");
        told.push_str(&cause);
    }
    told
}

/// The causes of an error, without those that an error above has in its words already.
fn causes(error: &Error) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    let told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        let above = std::iter::once(&told).chain(&causes);
        if !above.into_iter().any(|above| above.contains(&text)) {
            causes.push(text);
        }
        cause = error.source();
    }
    causes
}

fn write_json(err: &mut dyn Write, error: &Error, hint: &str, exit: Exit) -> io::Result<()> {
    #[derive(Serialize)]
    struct Told<'a> {
        error: Problem,
        hint: &'a str,
        exit: u8,
    }
    let told = Told {
        error: Problem::of(error),
        hint,
        exit: exit.code(),
    };
    crate::json::line(err, &told)
}

/// An error as JSON.
#[derive(Serialize)]
pub(crate) struct Problem {
    kind: &'static str,
    message: String,
    causes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<crate::json::Where>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<sessionlog::Holder>,
}

impl Problem {
    pub(crate) fn of(error: &Error) -> Self {
        let mut problem = Self {
            kind: error.kind().name(),
            message: error.message().to_owned(),
            causes: causes(error),
            place: None,
            tail: None,
            holder: None,
        };
        match error.kind() {
            ErrorKind::Corrupt { place } => problem.place = Some(place.into()),
            ErrorKind::Conflict { tail } => problem.tail = Some(tail.get()),
            ErrorKind::LeaseHeld { holder, .. } => problem.holder = Some(holder.clone()),
            _ => {}
        }
        problem
    }
}
