//! Words and figures for people.

mod clean;
mod figures;
mod paint;
mod short;
mod when;

pub(crate) use clean::{block, line};
pub(crate) use figures::{bytes, count, dollars, plural};
pub(crate) use paint::Paint;
pub(crate) use short::Short;
pub(crate) use when::ago;
