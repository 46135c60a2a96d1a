//! Waiting for children without blocking.
#![expect(
    unsafe_code,
    reason = "rustix hides which child waitid found, nix loses a child that a real-time signal ended"
)]

use std::io;
use std::mem::MaybeUninit;

use crate::identity::ProcessId;
use crate::outcome::ExitStatus;

/// What a look at the children found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// This child has ended with this status.
    Ended(ProcessId, ExitStatus),
    /// There are children, and none has ended.
    AllRunning,
    /// There is no child at all (`ECHILD`).
    NoChild,
}

/// Finds a child that has ended, and leaves it unreaped: its number stays its own.
///
/// # Errors
///
/// None that a supported kernel would give.
pub fn peek() -> io::Result<Look> {
    look(libc::P_ALL, 0, libc::WNOWAIT)
}

/// Reaps one child that has ended: its number is free from then on.
///
/// # Errors
///
/// None that a supported kernel would give.
pub fn reap_any() -> io::Result<Look> {
    look(libc::P_ALL, 0, 0)
}

/// Reaps this child if it has ended.
///
/// # Errors
///
/// None that a supported kernel would give.
pub fn reap(pid: ProcessId) -> io::Result<Look> {
    look(libc::P_PID, pid.get().unsigned_abs(), 0)
}

fn look(kind: libc::idtype_t, id: libc::id_t, more: libc::c_int) -> io::Result<Look> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::__WALL | more;
    loop {
        let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the pointer is valid for writing one siginfo_t for the length of the call.
        let result = unsafe { libc::waitid(kind, id, information.as_mut_ptr(), flags) };
        if result == 0 {
            // SAFETY: all zero bytes are a valid siginfo_t, and the kernel may have filled it.
            return Ok(read(&unsafe { information.assume_init() }));
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINTR) => {}
            error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Look::NoChild),
            error => return Err(error),
        }
    }
}

fn read(information: &libc::siginfo_t) -> Look {
    // SAFETY: after a successful waitid the SIGCHLD fields are the valid ones, or all is zero.
    let (pid, status) = unsafe { (information.si_pid(), information.si_status()) };
    let Ok(pid) = ProcessId::try_from(pid) else {
        return Look::AllRunning;
    };
    let status = match information.si_code {
        libc::CLD_EXITED => ExitStatus::Code(status),
        code => ExitStatus::Signal {
            signal: status,
            core: code == libc::CLD_DUMPED,
        },
    };
    Look::Ended(pid, status)
}
