//! Whether the calls of this build reach the hooks.

use std::{fmt, sync::OnceLock};

use crate::interpose;

/// Why calls can't be counted in this build or on this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotArmed {
    reason: String,
}

impl fmt::Display for NotArmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file calls are not measured: {}", self.reason)
    }
}

impl std::error::Error for NotArmed {}

/// Makes sure that counting works here: writes, renames and flushes probes in
/// a folder below [`std::env::temp_dir`], and looks for exactly these calls.
///
/// There is one probe through std, one through `rustix` (which reaches the
/// kernel by itself if it was built without its feature `use-libc`), one
/// through libc's `syscall`, and a look at what shared libraries would call.
/// Costs a few milliseconds once; later calls give the same answer.
///
/// # Errors
///
/// [`NotArmed`] with the reason: another system than 64-bit Linux with glibc,
/// no `/proc`, a probe that failed, or a probe whose calls were not seen.
pub fn armed() -> Result<(), NotArmed> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    ANSWER
        .get_or_init(|| match unsupported() {
            Some(reason) => Err(reason.into()),
            None => interpose::probe::run(),
        })
        .clone()
        .map_err(|reason| NotArmed { reason })
}

/// Why this build or this system is not supported.
pub(crate) fn unsupported() -> Option<&'static str> {
    if cfg!(not(feature = "hooks")) {
        return Some("the feature \"hooks\" of sessionlog-crashfs is off");
    }
    if cfg!(not(target_os = "linux")) {
        return Some("calls are interposed on Linux only");
    }
    if cfg!(not(all(target_env = "gnu", target_pointer_width = "64"))) {
        return Some("on Linux, calls are interposed in 64-bit programs with glibc only");
    }
    if cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return Some("on Linux, calls are interposed on x86-64 and aarch64 only");
    }
    None
}
