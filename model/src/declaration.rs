//! What an entry is declared to be.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::name::{EntryName, ServiceName};
use crate::retry::RetryPolicy;

pub mod document;
pub mod problem;
pub mod section;

/// Graceful stop unless the entry says otherwise (supervision.md §6).
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Who declares an entry (SUP-39).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The configuration file.
    File,
    /// The HTTP API.
    Api,
}

/// Where an entry runs. Runners and workers come with their own issues and are refused on reading until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    /// A child process on the host's machine.
    Local,
}

/// A value of a plugin's environment. Never shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum EnvValue {
    /// Written in the declaration.
    Literal(String),
    /// Read from this file by the host at each launch, without its final newline.
    File(PathBuf),
}

impl std::fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("Literal(…)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Limits of an entry's processes; what is absent is unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Number of processes.
    pub processes: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Thousandths of one processor.
    pub cpu: Option<u64>,
}

/// An entry as declared. `PartialEq` decides what a reload replaces (SUP-01), so everything that a process can notice is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: EntryName,
    /// Who declares it.
    pub source: Source,
    /// Where it runs.
    pub placement: Placement,
    /// Program and arguments; never empty. A program with a slash is absolute here; a bare name is looked up in the plugin's PATH.
    pub command: Vec<String>,
    /// Environment beside the node's own variables.
    pub env: BTreeMap<String, EnvValue>,
    /// Handed to the plugin in `initialize`.
    pub config: serde_json::Value,
    /// Services it provides.
    pub provides: Vec<ServiceName>,
    /// Services it uses.
    pub uses: Vec<ServiceName>,
    /// Limits of its processes.
    pub limits: Limits,
    /// When it is started again by itself.
    pub retry: RetryPolicy,
    /// Bound of the graceful stop.
    pub shutdown_timeout: Duration,
}

impl Declaration {
    /// Whether a running process of `self` still fits `newer`: all is equal but `retry` (SUP-01).
    pub fn runs_the_same(&self, newer: &Self) -> bool {
        let retry = newer.retry.clone();
        Self {
            retry,
            ..self.clone()
        } == *newer
    }
}
