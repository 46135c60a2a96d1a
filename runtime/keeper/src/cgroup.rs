//! Control groups, version 2: one for each launch, where they may be written (SUP-30, SUP-32, SUP-33).
//!
//! ```text
//! <the node's own group>/treewarden-<node id>/<ordinal>/     memory.max, pids.max, cpu.max; the whole family
//! ```
//!
//! Groups are never necessary: where none can be made, families are found by the process tree, and limits are set by
//! rlimit where there is one. A group is made before its launch's process is, and the process joins it while it waits
//! at the gate: no code of a plugin ever runs outside. What a family starts is born inside, and leaving needs the right
//! to write to the group of somebody else.

mod group;
mod limits;
mod location;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use group::Group;
pub use limits::{EnforcedLimits, Enforcement};

use crate::mark::Ordinal;
use crate::wire::Limits;
use location::Location;

/// Whether the keeper makes control groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupUse {
    /// Yes, if version 2 is mounted and the node's own group may be written.
    #[default]
    WhereWritable,
    /// The same, as on a kernel without `cgroup.kill` (before 5.14).
    WithoutKill,
    /// Never.
    Off,
}

impl CgroupUse {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::WhereWritable => "where-writable",
            Self::WithoutKill => "without-kill",
            Self::Off => "off",
        }
    }

    /// Reads the word for it: `where-writable`, `without-kill` or `off`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::WhereWritable, Self::WithoutKill, Self::Off]
            .into_iter()
            .find(|found| found.as_str() == word)
    }
}

/// The place where launches get their groups.
#[derive(Debug)]
pub(crate) struct Groups {
    location: Location,
    use_kill: bool,
    /// The node's folder, once it was made.
    made: Option<PathBuf>,
}

impl Groups {
    /// `None`: version 2 is not mounted, or the use is off. Whether it may be written shows when a group is made.
    pub(crate) fn find(cgroup_use: CgroupUse) -> Option<Self> {
        if cgroup_use == CgroupUse::Off {
            return None;
        }
        Some(Self {
            location: Location::of_this_process()?,
            use_kill: cgroup_use == CgroupUse::WhereWritable,
            made: None,
        })
    }

    /// Makes the group of a launch and sets those of its limits that it can hold; `None` if no group can be made.
    pub(crate) fn create(
        &mut self,
        node: &str,
        ordinal: Ordinal,
        wanted: &Limits,
    ) -> Option<(Group, EnforcedLimits)> {
        let name = folder_name(node)?;
        let parent = self.location.folder.join(&name);
        // Each time: whoever tidies up may have taken the empty folder away.
        make(&parent).ok()?;
        self.made = Some(parent.clone());
        let folder = parent.join(ordinal.to_string());
        let path = self.location.path_below(&format!("{name}/{ordinal}"));
        let group = Group::new(folder, path, self.use_kill);
        match fs::create_dir(group.folder()) {
            Ok(()) => {}
            // Left over under a number that has come round again; one that is not empty stays.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                group
                    .remove()
                    .and_then(|()| fs::create_dir(group.folder()))
                    .ok()?;
            }
            Err(_) => return None,
        }
        let above = [self.location.folder.as_path(), parent.as_path()];
        let enforced = limits::set(group.folder(), above, wanted);
        Some((group, enforced))
    }

    /// Removes the node's folder, if it is empty.
    pub(crate) fn leave(self) {
        if let Some(folder) = self.made {
            fs::remove_dir(folder).ok();
        }
    }
}

/// The groups that an earlier keeper of this node has left behind.
pub(crate) fn left_behind(node: &str) -> io::Result<Vec<Group>> {
    let (Some(location), Some(name)) = (Location::of_this_process(), folder_name(node)) else {
        return Ok(Vec::new());
    };
    let parent = location.folder.join(&name);
    let entries = match fs::read_dir(&parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let path = location.path_below(&format!("{name}/{}", entry.file_name().display()));
            found.push(Group::new(entry.path(), path, true));
        }
    }
    Ok(found)
}

/// Removes the folder of a node whose groups are gone.
pub(crate) fn forget(node: &str) {
    if let (Some(location), Some(name)) = (Location::of_this_process(), folder_name(node)) {
        fs::remove_dir(location.folder.join(name)).ok();
    }
}

/// The whole id, not only the tag: what is found under it is killed without asking for another mark.
fn folder_name(node: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!node.is_empty() && node.len() <= 64 && node.chars().all(plain))
        .then(|| format!("treewarden-{node}"))
}

fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for found in [
            CgroupUse::WhereWritable,
            CgroupUse::WithoutKill,
            CgroupUse::Off,
        ] {
            assert_eq!(CgroupUse::from_word(found.as_str()), Some(found));
        }
        assert_eq!(CgroupUse::from_word("on"), None);
    }

    #[test]
    fn no_id_leads_out_of_the_folder() {
        assert_eq!(folder_name("a-1").as_deref(), Some("treewarden-a-1"));
        for id in ["", "..", "a/b", "a b", &"a".repeat(65)] {
            assert_eq!(folder_name(id), None, "{id}");
        }
    }
}
