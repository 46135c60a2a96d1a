//! Which processes are a node's, by marks that the node does not decide about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::process::Process;
use crate::wait::Stopwatch;

/// What the launches of one node have in common.
#[derive(Debug)]
pub(super) struct Marks {
    directory: PathBuf,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// First part of `TREEWARDEN_LAUNCH`.
    nodes: BTreeSet<String>,
    /// RLIMIT_RTTIME without the launch's own 30 bits.
    tags: BTreeSet<u64>,
}

impl Marks {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            learned: Mutex::default(),
        }
    }

    /// Running processes that bear a mark: the node's directory in the command line or as working directory, the node's
    /// id in the environment, or its tag among the limits (which an emptied environment does not take away).
    pub(super) fn processes(&self) -> Vec<Process> {
        let mut learned = self.learned.lock().unwrap();
        let all: Vec<Process> = Process::all().into_iter().filter(Process::runs).collect();
        let directory = self.directory.display().to_string();
        let near = |process: &&Process| {
            process.command.contains(&directory)
                || process
                    .working_directory()
                    .is_some_and(|folder| folder.starts_with(&self.directory))
        };
        for process in all
            .iter()
            .filter(near)
            .filter(|process| process.launch.is_some())
        {
            learned.nodes.extend(node_of(process));
            learned.tags.extend(tag_of(process));
        }
        let marked = |process: &Process| {
            node_of(process).is_some_and(|node| learned.nodes.contains(&node))
                || tag_of(process).is_some_and(|tag| learned.tags.contains(&tag))
        };
        let own = std::process::id();
        all.iter()
            .filter(|process| process.pid != own && (near(process) || marked(process)))
            .cloned()
            .collect()
    }

    /// Waits until no process is left; gives those that stayed.
    pub(super) fn wait_gone(&self, bound: Duration) -> Vec<Process> {
        let watch = Stopwatch::start();
        loop {
            let left = self.processes();
            if left.is_empty() || watch.elapsed() > bound {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn node_of(process: &Process) -> Option<String> {
    process
        .launch
        .as_deref()?
        .split_once('/')
        .map(|(node, _)| node.to_owned())
}

fn tag_of(process: &Process) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.pid)).ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let soft: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(soft >> 30)
}
