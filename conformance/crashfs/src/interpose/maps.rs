//! Which watches cover mapped memory: asked of `/proc`, as for descriptors.

use core::mem::MaybeUninit;
use libc::AT_FDCWD;

use crate::{
    interpose::{
        gate::Hits,
        raw::{failed, sys},
    },
    slot::{self, ROOT_MAX},
};

/// The watches that cover the file that is mapped at `address`.
pub(crate) fn of_address(address: usize) -> Hits {
    let active = slot::active();
    if active == 0 {
        return Hits::NONE;
    }
    // SAFETY: the name ends with a NUL.
    let fd = unsafe {
        let name = c"/proc/thread-self/maps".as_ptr();
        sys!(SYS_openat, AT_FDCWD, name, libc::O_RDONLY | libc::O_CLOEXEC)
    };
    if failed(fd) {
        Hits::among(active, |_| true).unresolved();
        return Hits::NONE;
    }
    let mut search = Search::new(address);
    let mut buffer = MaybeUninit::<[u8; 2048]>::uninit();
    let start: *mut u8 = buffer.as_mut_ptr().cast();
    while !search.done {
        // SAFETY: the buffer is as long as said.
        let len = unsafe { sys!(SYS_read, fd, start, size_of_val(&buffer)) };
        if len <= 0 {
            break;
        }
        // SAFETY: the kernel wrote that many bytes.
        let chunk = unsafe { core::slice::from_raw_parts(start, len as usize) };
        chunk.iter().for_each(|byte| search.take(*byte));
    }
    // SAFETY: ours, and nobody else knows it.
    unsafe { sys!(SYS_close, fd) };
    let path = search.path.get(..search.len).unwrap_or(&[]);
    Hits::among(active, |slot| slot.covers(path))
}

/// Reads lines `start-end perms offset device inode   path`, byte by byte.
struct Search {
    address: usize,
    field: Field,
    number: usize,
    start: usize,
    path: [u8; ROOT_MAX + 1],
    len: usize,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Start,
    End,
    Middle,
    Path,
    Skip,
}

impl Search {
    fn new(address: usize) -> Search {
        Search {
            address,
            field: Field::Start,
            number: 0,
            start: 0,
            path: [0; ROOT_MAX + 1],
            len: 0,
            done: false,
        }
    }

    fn take(&mut self, byte: u8) {
        if self.done {
            return;
        }
        match (self.field, byte) {
            (field, b'\n') => {
                // The line of the address ends the search, with a path or without.
                self.done = matches!(field, Field::Middle | Field::Path);
                self.field = Field::Start;
                self.number = 0;
            }
            (Field::Start, b'-') => {
                self.start = self.number;
                self.number = 0;
                self.field = Field::End;
            }
            (Field::End, b' ') => {
                let inside = (self.start..self.number).contains(&self.address);
                self.field = if inside { Field::Middle } else { Field::Skip };
            }
            (Field::Start | Field::End, digit) => {
                let digit = (digit as char).to_digit(16).unwrap_or(0);
                self.number = (self.number << 4) | digit as usize;
            }
            (Field::Middle, b'/') => {
                self.field = Field::Path;
                self.keep(byte);
            }
            (Field::Path, _) => self.keep(byte),
            (Field::Middle | Field::Skip, _) => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if let Some(to) = self.path.get_mut(self.len) {
            *to = byte;
            self.len += 1;
        }
    }
}
