//! System calls without libc, so that the hooks can't call themselves.

use core::arch::asm;
use libc::c_long;

/// The number that the libc crate doesn't know on every processor.
#[cfg(target_arch = "x86_64")]
pub(crate) const SYS_SYNC_FILE_RANGE: c_long = 277;
#[cfg(target_arch = "aarch64")]
pub(crate) const SYS_SYNC_FILE_RANGE: c_long = 84;

/// Calls the kernel; the answer is its own, with errors as `-errno`.
/// Missing arguments are zero.
///
/// # Safety
///
/// As the system call: pointers among the arguments must be what it expects.
#[inline]
pub(crate) unsafe fn call<const N: usize>(number: c_long, args: [usize; N]) -> isize {
    let mut all = [0; 6];
    for (to, from) in all.iter_mut().zip(args) {
        *to = from;
    }
    // SAFETY: the caller answers for the arguments.
    unsafe { call6(number, all) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn call6(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer: isize;
    // SAFETY: the kernel's calling convention: rcx and r11 are lost, the rest
    // is kept; memory is assumed to be changed. The caller answers for the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn call6(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer: isize;
    // SAFETY: the kernel's calling convention: all registers but x0 are kept;
    // memory is assumed to be changed. The caller answers for the rest.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    answer
}

/// `sys!(SYS_x, a, b)`: the system call, its arguments cast as C would.
macro_rules! sys {
    ($number:ident $(, $arg:expr)* $(,)?) => {
        $crate::interpose::raw::call(libc::$number, [$($arg as usize),*])
    };
}
pub(crate) use sys;

/// Turns the kernel's answer into libc's: -1 and `errno` for an error. On
/// success `errno` stays as it was.
pub(crate) fn answer(ret: isize) -> isize {
    if !failed(ret) {
        return ret;
    }
    // SAFETY: libc gives a valid place in this thread's memory.
    unsafe { *libc::__errno_location() = errno(ret) };
    -1
}

/// Whether the kernel's answer is an error.
pub(crate) fn failed(ret: isize) -> bool {
    (-4095..0).contains(&ret)
}

/// The error in the kernel's answer.
pub(crate) fn errno(ret: isize) -> i32 {
    ret.wrapping_neg() as i32
}

/// The answer that stands for an error.
pub(crate) fn error(errno: i32) -> isize {
    -(errno as isize)
}

/// This process. Asked of the kernel each time: it differs after a `fork`.
pub(crate) fn pid() -> u32 {
    // SAFETY: takes no arguments.
    unsafe { sys!(SYS_getpid) as u32 }
}

/// Ends this process as a crash would.
pub(crate) fn die() -> ! {
    // SAFETY: plain numbers. The second is for the first process of a
    // container, which the kernel protects from its own signals.
    unsafe {
        sys!(SYS_kill, pid(), libc::SIGKILL);
        sys!(SYS_exit_group, 128 + libc::SIGKILL);
    }
    wait_for_ever()
}

/// Waits for the end of the process.
pub(crate) fn wait_for_ever() -> ! {
    loop {
        // SAFETY: no descriptors, no timeout, no signal mask.
        unsafe { sys!(SYS_ppoll, 0, 0, 0, 0, 0) };
    }
}
