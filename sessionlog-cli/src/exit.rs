//! Exit codes.

use std::process::ExitCode;

use sessionlog::ErrorKind;

/// How the program ends: 0, or one number for each kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// It worked.
    pub const OK: Self = Self(0);
    /// None of the other numbers fits.
    pub const OTHER: Self = Self(1);
    /// The arguments or the input are wrong.
    pub const INPUT: Self = Self(2);
    /// There is no such session.
    pub const NOT_FOUND: Self = Self(3);
    /// Somebody else drives the session, or was faster.
    pub const HELD: Self = Self(4);
    /// The store can't be reached, or did not answer.
    pub const UNAVAILABLE: Self = Self(5);
    /// Damage was found, or a promise is broken.
    pub const DAMAGE: Self = Self(6);
    /// This store or this version of the program can't do that.
    pub const UNSUPPORTED: Self = Self(7);

    /// The number.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The worse of two: damage first, then faults of the program, then what a person has to decide,
    /// then what may go away by itself.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        const FROM_THE_WORST: [Exit; 7] = [
            Exit::DAMAGE,
            Exit::OTHER,
            Exit::HELD,
            Exit::UNSUPPORTED,
            Exit::INPUT,
            Exit::UNAVAILABLE,
            Exit::NOT_FOUND,
        ];
        let both = [self, other];
        let worst = FROM_THE_WORST.into_iter().find(|exit| both.contains(exit));
        worst.unwrap_or(Self::OK)
    }

    /// The exit for an error of this kind.
    pub fn of(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidInput => Self::INPUT,
            ErrorKind::NotFound => Self::NOT_FOUND,
            ErrorKind::Conflict { .. } | ErrorKind::LeaseHeld { .. } | ErrorKind::Fenced { .. } => {
                Self::HELD
            }
            ErrorKind::Unavailable | ErrorKind::Indeterminate => Self::UNAVAILABLE,
            ErrorKind::Corrupt { .. } => Self::DAMAGE,
            ErrorKind::Unsupported => Self::UNSUPPORTED,
            _ => Self::OTHER,
        }
    }
}

/// The table for the help and the man page.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  it worked
  1  any other error
  2  wrong arguments or input
  3  no such session
  4  somebody else drives the session, or was faster
  5  the store can't be reached, or the outcome is not known
  6  damage was found, or a promise is broken
  7  this store or this version can't do that";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}
