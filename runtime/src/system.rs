//! System calls of this room: rustix behind the names used here, and the room's only `unsafe`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::pipe::PipeFlags;
use rustix::process::Resource;
use rustix::time::{ClockId, clock_gettime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Nanoseconds since boot, suspend included.
pub fn boot_time_nanos() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(now.tv_nsec).unwrap_or_default())
}

/// Milliseconds since 1970; zero on a machine whose clock stands before that.
pub(crate) fn wall_millis() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds
        .saturating_mul(1000)
        .saturating_add(u64::try_from(now.tv_nsec).unwrap_or_default() / 1_000_000)
}

/// A pipe: (read end, write end), both close-on-exec and blocking.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

/// Raises the soft limit of open files to the hard one; answers what the soft one was, for plugins to be started with.
///
/// # Errors
/// The kernel refused.
pub fn raise_open_files() -> io::Result<Option<u64>> {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    rustix::process::setrlimit(Resource::Nofile, limit)?;
    Ok(before)
}

/// A descriptor whose readiness can be waited for. `T` must own what it shows: it is given up only with the answer.
///
/// # Errors
/// The runtime refuses it (out of descriptors or memory).
pub(crate) fn watched<T: AsFd + AsRawFd>(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: `T: AsFd` promises that its descriptor is open as long as the value lives, and the two callers' types (`Link`, `OwnedFd`)
    // show the same descriptor for their whole life; `AsyncFd` owns the value and gives it up only after deregistering.
    #[expect(
        unsafe_code,
        reason = "tokio asks for the promise that the descriptor stays the same"
    )]
    let watched = unsafe { AsyncFd::register_with_interest(inner, interest) };
    watched.map_err(|error| io::Error::other(error.to_string()))
}
