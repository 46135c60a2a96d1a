//! What an entry's status holds (interfaces.md §3).

use crate::declaration::{Limits, Placement, Source};
use crate::entry::Desired;
use crate::id::{Instance, LaunchNumber};
use crate::name::{EntryName, ServiceName};
use crate::outcome::StopResult;
use crate::time::WallTime;

/// The state of an entry as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateWord {
    /// Something it needs is not there.
    Waiting,
    /// On its way.
    Starting,
    /// It serves.
    Running,
    /// Being ended.
    Stopping,
    /// It ended by itself and is started again later.
    BackingOff,
    /// It ended by itself too often.
    Failed,
    /// The exit of its last launch is not confirmed.
    Blocked,
    /// Nothing runs.
    Stopped,
    /// No longer declared, but something of it is left.
    Removing,
}

impl StateWord {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::BackingOff => "backing_off",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Stopped => "stopped",
            Self::Removing => "removing",
        }
    }
}

/// The word for a machine's state.
pub const fn state_word(entry: &crate::entry::Entry) -> StateWord {
    use crate::entry::State;
    if entry.removing() {
        return StateWord::Removing;
    }
    match entry.state() {
        State::Stopped | State::Removed => StateWord::Stopped,
        State::Waiting => StateWord::Waiting,
        State::Starting => StateWord::Starting,
        State::Running { .. } => StateWord::Running,
        State::StoppingConsumers(_) | State::Stopping => StateWord::Stopping,
        State::BackingOff { .. } => StateWord::BackingOff,
        State::Failed => StateWord::Failed,
        State::Blocked => StateWord::Blocked,
    }
}

/// What holds a limit (SUP-30).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enforcement {
    /// The launch's control group, for the family as a whole.
    Cgroup,
    /// A resource limit, for each process.
    Rlimit,
    /// Nothing.
    NotEnforced,
}

impl Enforcement {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Rlimit => "rlimit",
            Self::NotEnforced => "not enforced",
        }
    }
}

/// What holds each limit of a launch; `None` where it has no such limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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

/// The process behind the present launch, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// What it runs as.
    pub instance: Instance,
    /// Which launch.
    pub launch: LaunchNumber,
    /// Its process id; `None` before there is one.
    pub pid: Option<u32>,
    /// Its own process has exited; its family is not confirmed gone yet (SUP-36).
    pub exited: bool,
    /// What holds its limits; `None` before there is a process.
    pub limits: Option<EnforcedLimits>,
}

/// An entry's status.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryStatus {
    /// Its name.
    pub name: EntryName,
    /// Where it runs.
    pub placement: Placement,
    /// Who declares it.
    pub source: Source,
    /// What is wanted.
    pub desired: Desired,
    /// Where it is.
    pub state: StateWord,
    /// Why, in a sentence.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The present launch.
    pub process: Option<Process>,
    /// Since when it is in this state.
    pub since: WallTime,
    /// Times it was started again by itself.
    pub restarts: u64,
    /// Services it provides.
    pub provides: Vec<ServiceName>,
    /// Services it uses.
    pub uses: Vec<ServiceName>,
    /// Limits as declared.
    pub limits: Limits,
    /// How its last launch ended.
    pub last_stop: Option<StopResult>,
    /// When that was.
    pub last_stop_at: Option<WallTime>,
    /// What its last launch met.
    pub last_error: Option<String>,
    /// When it is started again.
    pub next_retry_at: Option<WallTime>,
    /// The last lines it wrote to stderr, newest last.
    pub last_lines: Vec<String>,
    /// Its program and arguments.
    pub command: Vec<String>,
}
