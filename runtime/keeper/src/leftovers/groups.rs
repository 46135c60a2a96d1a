//! Control groups that an earlier keeper left behind.

use std::io;

use super::marked::NodeMarks;
use crate::cgroup;

/// Kills whoever is in a control group of the node's launches, removes the groups that are empty, and returns how many
/// are left, for the caller to come back after a short wait until none is (S46). Finds what has hidden its marks.
///
/// Only while no keeper of the node lives, and for groups below the caller's own: an earlier start of the node in another
/// place of the hierarchy has left its groups there.
///
/// # Errors
///
/// The node's folder of groups cannot be listed.
pub fn sweep_groups(node: &NodeMarks) -> io::Result<usize> {
    let mut left = 0;
    for group in cgroup::left_behind(&node.id)? {
        if group.remove().is_err() {
            left += 1;
            group.kill().ok();
        }
    }
    if left == 0 {
        cgroup::forget(&node.id);
    }
    Ok(left)
}
