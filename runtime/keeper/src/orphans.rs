//! What a node does when its keeper is lost (SUP-35).
//!
//! The node is a child subreaper above the keeper, so the keeper's children become its own; their leaders have been sent
//! SIGKILL by the kernel, since their parent died. Once the keeper's pidfd says that it has ended, the node calls
//! [`pass`] until it is done: then no descendant of any launch is left, which is evidence `tree` for all of them.

use std::collections::BTreeSet;
use std::io;

use rustix::process::{Signal, kill_process};

use crate::identity::ProcessId;
use crate::outcome::ExitStatus;
use crate::system::children;
use crate::system::wait::{Look, peek, reap};

pub use crate::system::become_subreaper;

/// How it stands after one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The children reaped in this pass, with their exit statuses: leaders among them, and the keeper itself.
    pub reaped: Vec<(ProcessId, ExitStatus)>,
    /// What is left.
    pub state: OrphanState,
}

/// Whether children are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrphanState {
    /// These were living when last looked; each was sent SIGKILL. Come back soon.
    Remaining {
        /// Their process numbers.
        pids: Vec<ProcessId>,
    },
    /// The process has no child at all.
    Done,
}

/// Reaps all that have ended and sends SIGKILL to every other child of the calling process, **whatever it is**, once. Never waits.
///
/// Only for a process that has no children but a lost keeper and its orphans, and in which nothing else reaps: then a
/// listed child is unreaped, and its number its own.
///
/// # Errors
///
/// None that a supported kernel would give.
pub fn pass() -> io::Result<Pass> {
    let mut reaped = Vec::new();
    loop {
        match peek()? {
            Look::Ended(pid, status) => {
                reap(pid)?;
                reaped.push((pid, status));
            }
            Look::NoChild => {
                return Ok(Pass {
                    reaped,
                    state: OrphanState::Done,
                });
            }
            Look::AllRunning => break,
        }
    }
    // The kernel gives orphans to any thread of the process.
    let pids: BTreeSet<ProcessId> = children::of(ProcessId::current()).into_iter().collect();
    for pid in &pids {
        kill_process(pid.raw(), Signal::KILL).ok();
    }
    Ok(Pass {
        reaped,
        state: OrphanState::Remaining {
            pids: pids.into_iter().collect(),
        },
    })
}
