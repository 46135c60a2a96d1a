//! Kernel calls and `/proc`, behind names. The only module of this crate with `unsafe` code.

pub mod children;
pub(crate) mod clock;
pub(crate) mod descriptors;
pub mod process;
pub(crate) mod signals;
pub mod wait;

use std::io;

/// Makes the calling process a child subreaper: descendants whose parents die become its children, `setsid` and double
/// forks notwithstanding (SUP-32). Holds for the process, not for what it starts.
///
/// # Errors
///
/// None that a supported kernel would give.
pub fn become_subreaper() -> io::Result<()> {
    // The call takes any process number for "yes".
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// The id of this boot of the machine: with pid and start time it identifies a process over restarts of the node (SUP-18).
///
/// # Errors
///
/// `/proc` is not there or not readable.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}
