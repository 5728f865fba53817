//! A stack that is large enough.
//!
//! The threads of a test have 2 MiB. A deep backend that is built without optimization, as tests are, needs
//! more below a law: each call that waits for another keeps the whole of it on the stack while it runs.

use std::{io, thread};

const SIZE: usize = 16 << 20;

/// Runs something on a large stack, and gives what it gives, or what it panicked with.
///
/// # Errors
/// There can't be a thread.
pub(crate) fn on_a_large_stack<T: Send>(
    run: impl FnOnce() -> T + Send,
) -> io::Result<thread::Result<T>> {
    thread::scope(|scope| {
        let thread = thread::current();
        let mut builder = thread::Builder::new().stack_size(SIZE);
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        Ok(builder.spawn_scoped(scope, run)?.join())
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn there_is_more_room_than_a_test_has() {
        let fill = || {
            black_box([1_u8; 6 << 20])
                .iter()
                .filter(|n| **n == 1)
                .count()
        };
        assert_eq!(on_a_large_stack(fill).unwrap().unwrap(), 6 << 20);
    }

    #[test]
    fn a_panic_is_told() {
        let ran = on_a_large_stack(|| std::panic::panic_any(7_u8)).unwrap();
        assert_eq!(ran.unwrap_err().downcast_ref::<u8>(), Some(&7));
    }
}
