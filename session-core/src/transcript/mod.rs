//! The vocabulary of agent sessions: standard kinds and their payloads.
//!
//! Every kind is optional, and every field but the ones named as necessary is too: a log may hold
//! any kinds with any payloads. What is here is what replay, cards and the program understand.
//! Fields that a type does not know stay in the payload, which is never rewritten.

pub mod kinds;
mod message;
mod payload;
mod text;
mod usage;

pub use message::{Call, CallResult, Message, Role};
pub use payload::{
    PermissionRequested, PermissionResolved, SessionStarted, SettingsChanged, Source, Title,
    TitleBy,
};
pub use text::text_of;
pub use usage::{Meter, Tokens, Usage, UsageMode};
