//! System calls of this room: rustix behind the names used here, and the room's only `unsafe`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::pipe::PipeFlags;
use rustix::process::Resource;
use rustix::time::{ClockId, clock_gettime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The open flag that keeps a FIFO or a device from blocking whoever opens it.
pub const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// The open flag that refuses a symbolic link.
pub const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

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

/// Arenas of the allocator: as many as threads that allocate all the time.
#[cfg(target_env = "gnu")]
const ARENAS: libc::c_int = 2;

/// Bounds the memory that glibc's allocator keeps for reuse: by default it gives up to eight arenas a core to threads, and what is freed
/// in one is of no use to another (3 kB an idle plugin). Takes effect for arenas not yet made, so call it before any thread is started;
/// repeating it changes nothing.
pub fn bound_allocator_arenas() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: takes two numbers, passes no memory, and changes a setting under the allocator's own lock.
        #[expect(unsafe_code, reason = "glibc's settings have no safe interface")]
        let accepted = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
        if accepted != 1 {
            tracing::debug!("The allocator kept its own number of arenas");
        }
    }
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
