//! Limits that a group holds (SUP-30).

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::wire::Limits;

/// What holds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The launch's control group: for the family as a whole.
    Cgroup,
    /// A resource limit: for each of its processes.
    Rlimit,
    /// Nothing.
    NotEnforced,
}

/// What holds each limit of a launch; `None` where there is no such limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct EnforcedLimits {
    /// Memory.
    pub memory: Option<Enforcement>,
    /// The number of processes.
    pub processes: Option<Enforcement>,
    /// Open files.
    pub open_files: Option<Enforcement>,
    /// Processor time.
    pub cpu: Option<Enforcement>,
}

impl EnforcedLimits {
    /// As it is without a group.
    pub(crate) fn by_rlimit(wanted: &Limits) -> Self {
        Self {
            memory: wanted.memory_bytes.map(|_| Enforcement::Rlimit),
            processes: wanted.processes.map(|_| Enforcement::NotEnforced),
            open_files: wanted.open_files.map(|_| Enforcement::Rlimit),
            cpu: wanted.cpu_thousandths.map(|_| Enforcement::NotEnforced),
        }
    }

    pub(crate) fn needs_group(&self) -> bool {
        [self.memory, self.processes, self.cpu].contains(&Some(Enforcement::Cgroup))
    }

    /// What is left for the shim to set.
    pub(crate) fn left_for_rlimit(&self, wanted: &Limits) -> Limits {
        let memory = self.memory == Some(Enforcement::Rlimit);
        Limits {
            memory_bytes: wanted.memory_bytes.filter(|_| memory),
            ..*wanted
        }
    }
}

/// Sets what the group at `folder` can hold. Controllers that are wanted and not there are asked for in the groups
/// `above`, the outermost first: only now, since a controller costs something for everyone below it.
pub(super) fn set(folder: &Path, above: [&Path; 2], wanted: &Limits) -> EnforcedLimits {
    let mut enforced = EnforcedLimits::by_rlimit(wanted);
    let group = Controlled { folder, above };
    if let Some(bytes) = wanted.memory_bytes
        && group
            .set("memory", "memory.max", &bytes.to_string())
            .is_ok()
    {
        // The limit is for all of its memory, and a family that has lost a member to it can't be relied on. Older
        // kernels and such without swap lack these files.
        fs::write(folder.join("memory.swap.max"), "0").ok();
        fs::write(folder.join("memory.oom.group"), "1").ok();
        enforced.memory = Some(Enforcement::Cgroup);
    }
    if let Some(count) = wanted.processes
        && group.set("pids", "pids.max", &count.to_string()).is_ok()
    {
        enforced.processes = Some(Enforcement::Cgroup);
    }
    if let Some(thousandths) = wanted.cpu_thousandths
        && group.set("cpu", "cpu.max", &quota(thousandths)).is_ok()
    {
        enforced.cpu = Some(Enforcement::Cgroup);
    }
    enforced
}

struct Controlled<'a> {
    folder: &'a Path,
    above: [&'a Path; 2],
}

impl Controlled<'_> {
    fn set(&self, controller: &str, file: &str, value: &str) -> io::Result<()> {
        let file = self.folder.join(file);
        if !file.exists() {
            for above in self.above {
                fs::write(
                    above.join("cgroup.subtree_control"),
                    format!("+{controller}"),
                )?;
            }
        }
        // Not created: in a group without the controller the file is missing.
        let mut open = fs::OpenOptions::new();
        io::Write::write_all(&mut open.write(true).open(file)?, value.as_bytes())
    }
}

/// Microseconds in each period. The kernel takes no quota below a millisecond.
fn quota(thousandths: u64) -> String {
    let period: u64 = if thousandths >= 10 {
        100_000
    } else {
        1_000_000
    };
    format!("{} {period}", thousandths.saturating_mul(period / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Limits = Limits {
        open_files: Some(9),
        memory_bytes: Some(1 << 20),
        processes: Some(5),
        cpu_thousandths: Some(500),
    };

    /// A folder with these files in place of a real group.
    fn group(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        folder
    }

    /// SUP-30: by the group, else by rlimit, else not enforced.
    #[test]
    fn each_limit_is_held_by_the_best_that_is_there() {
        let nothing = Path::new("/nowhere");
        let all = group(&["memory.max", "pids.max", "cpu.max"]);
        let enforced = set(all.path(), [nothing; 2], &WANTED);
        let (cgroup, rlimit) = (Some(Enforcement::Cgroup), Some(Enforcement::Rlimit));
        assert_eq!(
            enforced,
            EnforcedLimits {
                memory: cgroup,
                processes: cgroup,
                open_files: rlimit,
                cpu: cgroup
            }
        );
        assert!(enforced.needs_group());
        let read = |name: &str| fs::read_to_string(all.path().join(name)).unwrap();
        assert_eq!(
            [read("memory.max"), read("pids.max"), read("cpu.max")],
            ["1048576", "5", "50000 100000"]
        );
        assert_eq!(enforced.left_for_rlimit(&WANTED).memory_bytes, None);

        let some = group(&["pids.max"]);
        let enforced = set(some.path(), [nothing; 2], &WANTED);
        assert_eq!(
            enforced,
            EnforcedLimits {
                memory: rlimit,
                processes: cgroup,
                open_files: rlimit,
                cpu: Some(Enforcement::NotEnforced)
            }
        );
        assert_eq!(enforced.left_for_rlimit(&WANTED), WANTED);
        assert_eq!(
            set(some.path(), [nothing; 2], &Limits::default()),
            EnforcedLimits::default()
        );
    }

    #[test]
    fn controllers_are_asked_for_only_where_they_are_wanted() {
        let (above, parent) = (group(&[]), group(&[]));
        let folder = group(&[]);
        let wanted = Limits {
            processes: Some(5),
            ..Limits::default()
        };
        set(folder.path(), [above.path(), parent.path()], &wanted);
        for above in [&above, &parent] {
            let asked = fs::read_to_string(above.path().join("cgroup.subtree_control")).unwrap();
            assert_eq!(asked, "+pids");
        }
    }

    #[test]
    fn smallest_share_of_a_processor_is_a_quota_that_the_kernel_takes() {
        assert_eq!(quota(1), "1000 1000000");
        assert_eq!(quota(10), "1000 100000");
        assert_eq!(quota(2500), "250000 100000");
    }
}
