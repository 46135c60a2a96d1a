//! Pinning: floor and subject of a row run on the same cores, since the same echo takes 5 or 90 µs depending on where its two ends run.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// The last core that this process may use: the first one takes most interrupts.
    One,
    /// The first two.
    Two,
}

impl Cores {
    fn numbers(self) -> anyhow::Result<Vec<usize>> {
        let mut own = CpuSet::new();
        // Of the initial affinity, not of an earlier row's.
        for number in allowed()? {
            own.set(number);
        }
        let all: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|number| own.is_set(*number))
            .collect();
        let chosen: Vec<usize> = match self {
            Self::One => all.last().copied().into_iter().collect(),
            Self::Two => all.into_iter().take(2).collect(),
        };
        anyhow::ensure!(!chosen.is_empty(), "no core may be used");
        Ok(chosen)
    }

    /// As shown in the table.
    pub(crate) fn label(self) -> String {
        let numbers = self.numbers().unwrap_or_default();
        numbers
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("+")
    }

    /// Pins every thread of this process and of its descendants: the node's, the keeper's and the plugins'. What they start later inherits it.
    pub(crate) fn pin(self) -> anyhow::Result<()> {
        let mut set = CpuSet::new();
        for number in self.numbers()? {
            set.set(number);
        }
        for thread in threads(Path::new("/proc/self")) {
            // A thread or process that has ended meanwhile needs no core.
            sched_setaffinity(Pid::from_raw(thread), &set).ok();
        }
        Ok(())
    }
}

/// What the process could use when it began.
fn allowed() -> anyhow::Result<Vec<usize>> {
    static ALLOWED: std::sync::OnceLock<Vec<usize>> = std::sync::OnceLock::new();
    if let Some(known) = ALLOWED.get() {
        return Ok(known.clone());
    }
    let set = sched_getaffinity(None)?;
    let found: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|number| set.is_set(*number))
        .collect();
    Ok(ALLOWED.get_or_init(|| found).clone())
}

/// Every thread of a process and, below it, of its descendants.
fn threads(process: &Path) -> Vec<i32> {
    let mut found = Vec::new();
    let Ok(tasks) = fs::read_dir(process.join("task")) else {
        return found;
    };
    for task in tasks.flatten().map(|task| task.path()) {
        found.extend(number(&task));
        let children = fs::read_to_string(task.join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            found.extend(threads(&PathBuf::from("/proc").join(child)));
        }
    }
    found
}

fn number(path: &Path) -> Option<i32> {
    path.file_name()?.to_str()?.parse().ok()
}
