//! A process that even SIGKILL does not end for a while: held by the cgroup v1 freezer.

use std::path::{Path, PathBuf};

use crate::process::Process;

/// Where the v1 freezer usually is.
const ROOT: &str = "/sys/fs/cgroup/freezer";

/// Frozen processes; they thaw when this is dropped.
#[derive(Debug)]
pub struct Freezer {
    group: PathBuf,
}

impl Freezer {
    /// Freezes one process. `None` where the machine has no such freezer, or it may not be used.
    pub fn freeze(pid: u32) -> Option<Self> {
        let group = Path::new(ROOT).join(format!("treewarden-test-{}-{pid}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let freezer = Self { group };
        std::fs::write(freezer.group.join("cgroup.procs"), pid.to_string()).ok()?;
        std::fs::write(freezer.group.join("freezer.state"), "FROZEN").ok()?;
        crate::wait_until("it is frozen", std::time::Duration::from_secs(5), || {
            std::fs::read_to_string(freezer.group.join("freezer.state"))
                .is_ok_and(|state| state.trim() == "FROZEN")
        });
        Some(freezer)
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        let _ = std::fs::write(self.group.join("freezer.state"), "THAWED");
    }

    /// Processes held.
    pub fn held(&self) -> Vec<Process> {
        let pids = std::fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        pids.lines()
            .filter_map(|pid| Process::read(pid.parse().ok()?))
            .collect()
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.thaw();
        for process in self.held() {
            let _ = std::fs::write(
                Path::new(ROOT).join("cgroup.procs"),
                process.pid.to_string(),
            );
        }
        let _ = std::fs::remove_dir(&self.group);
    }
}
