//! Signal dispositions and masks.
#![expect(
    unsafe_code,
    reason = "libc refuses to touch two signals, nix knows no real-time ones, rustix no dispositions"
)]

use std::io;

use nix::sys::signal::Signal;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// The kernel's number of signals on the architectures that Treewarden runs on.
const SIGNAL_COUNT: libc::c_int = 64;
const SIGNAL_SET_BYTES: usize = 8;

/// The kernel's own form of an action, all zero: default disposition, no flags, empty mask. Its size is the same or less
/// on every architecture.
const DEFAULT_ACTION: [u64; 4] = [0; 4];

/// Sets every signal to its default disposition and unblocks all of them. Ignored signals and the mask survive an exec,
/// so a plugin would start with whatever its ancestors had.
///
/// By the kernel's own call: libc refuses the two signals that it keeps for itself, and some ancestor may ignore those too.
pub(crate) fn reset_all() -> io::Result<()> {
    let nothing = std::ptr::null_mut::<u64>();
    for signal in
        (1..=SIGNAL_COUNT).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
    {
        // SAFETY: the action is valid for reading and as large as the kernel's; the old one is not asked for; the last
        // argument is the size of the kernel's signal set, one bit a signal. The default disposition runs no code of ours.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT_ACTION.as_ptr(),
                nothing,
                SIGNAL_SET_BYTES,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(sigprocmask(
        SigmaskHow::SIG_SETMASK,
        Some(&SigSet::empty()),
        None,
    )?)
}

/// Blocks every signal and returns a descriptor that becomes readable on SIGCHLD. SIGCHLD keeps its default
/// disposition: were it ignored, the kernel would reap children itself and their exit statuses would be lost.
pub(crate) fn block_all_and_watch_children() -> io::Result<SignalFd> {
    // SAFETY: SIG_DFL installs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(
        &children,
        SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
    )?)
}
