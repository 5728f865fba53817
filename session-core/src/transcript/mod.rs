//! The vocabulary of agent sessions, and their replay.
//!
//! Every kind is optional, and every field but the ones named as necessary is too: a log may hold
//! any kinds with any payloads. What is here is what replay, cards and the program understand.
//! Fields that a type does not know stay in the payload, which is never rewritten.

pub mod check;
mod compact;
mod conversation;
mod fields;
mod fork;
mod ids;
pub mod kinds;
mod load;
mod message;
mod moves;
mod native;
mod oddities;
mod payload;
mod policy;
mod render;
mod replay;
mod states;
mod text;
mod tree;
mod trees;
mod usage;
mod views;
mod wake;
mod weight;

pub use conversation::{Aside, Conversation, INTERRUPTED, Item, OpenCall, Origin, Why};
pub use message::{Call, CallResult, Message, Role};
pub use moves::{Compaction, HeadMoved, ImportantFile, Rollback};
pub use oddities::{Odd, Oddities, Oddity};
pub use payload::{
    PermissionRequested, PermissionResolved, SessionStarted, SettingsChanged, Source, Title,
    TitleBy,
};
pub use policy::SnapshotPolicy;
pub use render::{Dialect, Loss, Lost, Rendered};
pub use replay::Transcript;
pub use states::{
    Agent, AgentEnded, AgentStarted, Agents, Audit, Audited, Board, ChangedOutside, Channel,
    ChannelSent, FileState, FileTouched, Files, Forked, GitBaseline, HandedOver, JobChanged,
    Lineage, Notes, Notice, Origins, Paused, Pending, Permissions, Price, ProcessExited,
    ProcessStarted, Processes, ProviderState, Report, ReportFiled, ScratchpadSet, Settings,
    Spending, Succeeded, Titles, Trigger, TriggerEvent, TurnEnded, TurnStarted, Turns,
};
pub use text::text_of;
pub use trees::Branch;
pub use usage::{Meter, Tokens, Usage, UsageMode};
pub use wake::{Interrupted, Woken};
