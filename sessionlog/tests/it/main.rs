//! The facade and the rules of the workspace.

mod tidy;
mod url;
