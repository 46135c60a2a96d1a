//! Control groups that an earlier keeper left behind.

use std::io;

use super::marked::NodeMarks;
use crate::cgroup;
use crate::mark::Ordinal;

/// A control group that is not empty yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftGroup {
    /// The launch that it was made for; `None` if the keeper did not make it.
    pub launch: Option<Ordinal>,
}

/// Removes the control groups of the node's launches that are empty, sends SIGKILL to everyone in the others, and returns
/// those, for the caller to come back after a short wait until there are none (S46). Finds what has hidden its marks.
///
/// Only while no keeper of the node lives, and for groups below the caller's own: an earlier start of the node in another
/// place of the hierarchy has left its groups there.
///
/// # Errors
///
/// The node's folder of groups cannot be listed.
pub fn sweep_groups(node: &NodeMarks) -> io::Result<Vec<LeftGroup>> {
    let mut left = Vec::new();
    for group in cgroup::left_behind(&node.id)? {
        if group.remove().is_err() {
            group.kill().ok();
            left.push(LeftGroup {
                launch: group.ordinal(),
            });
        }
    }
    if left.is_empty() {
        cgroup::forget(&node.id);
    }
    Ok(left)
}
