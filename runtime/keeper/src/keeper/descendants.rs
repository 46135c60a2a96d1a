//! Everything below one of the keeper's own children, each through a pidfd that surely is a descendant's.
//!
//! Between reading a number in a list of children and opening a pidfd for it, the process may end and its number be
//! given to a stranger. So with the pidfd open the parent is read: it must be the process whose list it was, and both
//! that process and the child must be alive *after* the reading, which shows that both numbers were their own all along.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::identity::{ProcessId, ProcessIdentity};
use crate::system::{children, process};

/// One descriptor is held a level. What is deeper comes up by adoption once its ancestors are gone.
const MAX_DEPTH: usize = 64;

/// Calls `visit` for every living descendant of `root`, which is an unreaped child of the keeper and not visited itself.
/// Parents come before their children, so that a signal that stops a parent from forking comes first.
pub(super) fn walk(root: ProcessId, visit: &mut dyn FnMut(ProcessIdentity, BorrowedFd<'_>)) {
    below(root, None, MAX_DEPTH, visit);
}

fn below(
    parent: ProcessId,
    parent_pidfd: Option<BorrowedFd<'_>>,
    depth: usize,
    visit: &mut dyn FnMut(ProcessIdentity, BorrowedFd<'_>),
) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for pid in children::of(parent) {
        let Ok(pidfd) = pidfd_open(pid.raw(), PidfdFlags::empty()) else {
            continue;
        };
        let Ok(stat) = process::stat(pid) else {
            continue;
        };
        let parent_is_the_same = parent_pidfd.is_none_or(is_alive);
        if stat.parent == Some(parent) && parent_is_the_same && is_alive(pidfd.as_fd()) {
            // Its children first into the list, it may be gone after the visit.
            visit(
                ProcessIdentity {
                    pid,
                    start_time: stat.start_time,
                },
                pidfd.as_fd(),
            );
            below(pid, Some(pidfd.as_fd()), depth, visit);
        }
    }
}

fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let mut entries = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(
        &mut entries,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    ) == Ok(0)
}
