//! What starts a plugin, whatever the placement. `local` is one implementation; workers and runners bring theirs.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use treewarden_model::id::{Instance, LaunchNumber, LaunchOrdinal};
use treewarden_model::name::{EntryName, ServiceName};

use crate::connection::{Connection, HostCalls, Trouble};
use crate::log_lines::LineSink;

/// Which launch of which entry something belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchTag {
    /// The entry.
    pub entry: EntryName,
    /// Its launch.
    pub launch: LaunchNumber,
    /// Its number in the node.
    pub ordinal: LaunchOrdinal,
    /// What it runs as.
    pub instance: Instance,
}

/// All it takes to start a plugin.
#[derive(Clone)]
pub struct LaunchSpec {
    /// Which launch this is.
    pub tag: LaunchTag,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; made if it is not there.
    pub working_dir: PathBuf,
    /// Limits that its control group or the shim sets.
    pub limits: treewarden_keeper::wire::Limits,
    /// Services it may call.
    pub uses: Vec<ServiceName>,
}

impl std::fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Environment and configuration may hold secrets.
        f.debug_struct("LaunchSpec")
            .field("tag", &self.tag)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// Hears what happens to a launch. Calls must be quick; they come from several tasks.
pub trait LaunchEvents: Send + Sync + 'static {
    /// The connection can't go on, and why.
    fn trouble(&self, trouble: Trouble);
}

/// What a launch needs of its surroundings.
#[derive(Clone)]
pub struct Surroundings {
    /// Hears of trouble.
    pub events: Arc<dyn LaunchEvents>,
    /// Answers the plugin's own calls.
    pub host: Arc<dyn HostCalls>,
    /// Takes its log lines.
    pub lines: Arc<dyn LineSink>,
}

/// Ends a process, by whatever its placement has for that.
pub trait Control: Send + Sync + 'static {
    /// SIGTERM and SIGCONT to the family, or what stands for it.
    fn interrupt(&self);
    /// SIGKILL to the family until it is empty, or what stands for it.
    fn kill(&self);
    /// The family is gone: let go of its output after a short while.
    fn gone(&self);
}

/// A plugin process that waits at its gate.
#[derive(Clone)]
pub struct PluginProcess {
    /// Its process id.
    pub pid: u32,
    /// When the kernel started it, in clock ticks since boot.
    pub start_time: u64,
    /// What holds its limits.
    pub limits: treewarden_keeper::EnforcedLimits,
    /// The connection to it; [`Connection::open`] lets it run.
    pub connection: Connection,
    /// Ends it.
    pub control: Arc<dyn Control>,
}

impl std::fmt::Debug for PluginProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginProcess")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// A future that belongs to nobody yet.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts plugins.
pub trait Launcher: Send + Sync + 'static {
    /// Starts a process that waits at its gate. The error is a sentence for the entry's status.
    fn spawn(&self, spec: LaunchSpec, around: Surroundings)
    -> Boxed<Result<PluginProcess, String>>;
}
