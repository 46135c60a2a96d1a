//! A look at `/proc`, behind the node's back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

pub use rustix::process::Signal;

/// A process as `/proc` shows it.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// State letter: `R S D T Z`…
    pub state: char,
    /// Kernel start time in ticks.
    pub start_time: u64,
    /// Command line, parts joined by spaces; empty for a zombie.
    pub command: String,
    /// `TREEWARDEN_LAUNCH` in its environment.
    pub launch: Option<String>,
}

impl Process {
    /// Reads one process; `None` when there is none.
    pub fn read(pid: u32) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        // The name may hold spaces and brackets: fields count from its last bracket.
        let (_, after) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = after.split(' ').collect();
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            state: fields.first()?.chars().next()?,
            start_time: fields.get(19)?.parse().ok()?,
            command: zero_separated(&folder.join("cmdline")).join(" "),
            launch: zero_separated(&folder.join("environ"))
                .iter()
                .find_map(|pair| pair.strip_prefix("TREEWARDEN_LAUNCH=").map(str::to_owned)),
        })
    }

    /// Every process of the machine.
    pub fn all() -> Vec<Self> {
        let listing = std::fs::read_dir("/proc").expect("/proc is mounted");
        let pids = listing
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::read).collect()
    }

    /// Working directory; `None` for a zombie.
    pub fn working_directory(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()
    }

    /// Whether it runs: there, and no zombie.
    pub fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

fn zero_separated(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into())
        .collect()
}

/// Whether a process runs (a zombie does not).
pub fn alive(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| process.runs())
}

/// Unreaped dead children of a process.
pub fn zombies(parent: u32) -> Vec<Process> {
    Process::all()
        .into_iter()
        .filter(|process| process.parent == parent && !process.runs())
        .collect()
}

/// Children and their children, of a process.
pub fn descendants(of: u32) -> Vec<Process> {
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in Process::all() {
        children.entry(process.parent).or_default().push(process);
    }
    let (mut found, mut open) = (Vec::new(), vec![of]);
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// Number of open descriptors of a process.
pub fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Resident memory of a process in bytes.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Sends a signal to a process that a test knows to be its own doing.
///
/// # Panics
/// The number is none of a process.
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process number");
    let _ = rustix::process::kill_process(pid, signal);
}

/// Sends SIGKILL.
pub fn kill9(pid: u32) {
    signal(pid, Signal::KILL);
}
