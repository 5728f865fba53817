//! The program `sessionlog`.
fn main() {}
