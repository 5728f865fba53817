//! Faults that a recorder delivers.

use crate::Call;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// At which call it begins: of the calls that [`FaultKind::strikes`], below the root and by
    /// any thread of the process, 1 is the next one from now (of a fault that was
    /// [injected behind another](crate::Recorder::inject_then): from the other's first hit). 0 never
    /// strikes.
    pub at: u64,
    /// Whether every matching call from then on fails as well, until
    /// [`Recorder::heal`](crate::Recorder::heal). A lasting [`FaultKind::Eintr`] strikes every
    /// second matching call, since callers repeat an interrupted call until it succeeds.
    pub lasting: bool,
}

/// What can go wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// The call fails with `EIO` and is not carried out. A flush is recorded as one that
    /// failed: what was written before it must never be taken for durable again.
    Eio = 1,
    /// The call fails with `ENOSPC` and is not carried out.
    Enospc = 2,
    /// The call fails with `EINTR` and is not carried out: the caller may repeat it.
    Eintr = 3,
    /// A write takes the first half of its bytes (rounded down) and says so.
    ShortWrite = 4,
    /// The call is carried out and then fails with `EIO`. An open closes its descriptor
    /// again; the new file stays. A flush is recorded as one that succeeded.
    AppliedButError = 5,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [FaultKind; 5] = [
        FaultKind::Eio,
        FaultKind::Enospc,
        FaultKind::Eintr,
        FaultKind::ShortWrite,
        FaultKind::AppliedButError,
    ];

    /// Which calls the kind can hit.
    ///
    /// | kind | calls |
    /// |---|---|
    /// | `Eio`, `AppliedButError` | all |
    /// | `Enospc` | all but [`Unlink`](Call::Unlink), [`Rmdir`](Call::Rmdir), [`FlushFolder`](Call::FlushFolder) and [`FlushAll`](Call::FlushAll) |
    /// | `Eintr` | [`Create`](Call::Create), [`Write`](Call::Write), [`Truncate`](Call::Truncate), [`Allocate`](Call::Allocate), [`Flush`](Call::Flush), [`FlushFolder`](Call::FlushFolder) |
    /// | `ShortWrite` | [`Write`](Call::Write) of two bytes or more |
    ///
    /// `sync` is never hit: it has no way to fail.
    #[must_use]
    pub fn strikes(self, call: Call) -> bool {
        match self {
            FaultKind::Eio | FaultKind::AppliedButError => true,
            FaultKind::Enospc => !matches!(
                call,
                Call::Unlink | Call::Rmdir | Call::FlushFolder | Call::FlushAll
            ),
            FaultKind::Eintr => matches!(
                call,
                Call::Create
                    | Call::Write
                    | Call::Truncate
                    | Call::Allocate
                    | Call::Flush
                    | Call::FlushFolder
            ),
            FaultKind::ShortWrite => call == Call::Write,
        }
    }
}
