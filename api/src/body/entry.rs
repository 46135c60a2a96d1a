//! An entry's status.

use serde::Serialize;
use treewarden_model::declaration::{Limits, Placement, Source};
use treewarden_model::entry::Desired;
use treewarden_model::name::ServiceName;
use treewarden_model::status::{EnforcedLimits, Enforcement, EntryStatus, Process};

use super::stop::{InstanceBody, StopBody};
use super::time::Moment;

/// A limit as declared, and what holds it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LimitBody {
    limit: u64,
    /// `cgroup`, `rlimit` or `not enforced`; null while nothing runs.
    enforced_by: Option<&'static str>,
}

/// The declared limits (SUP-30); null: none declared.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LimitsBody {
    memory: Option<LimitBody>,
    processes: Option<LimitBody>,
    open_files: Option<LimitBody>,
    cpu: Option<LimitBody>,
}

impl LimitsBody {
    fn new(limits: &Limits, enforced: Option<EnforcedLimits>) -> Self {
        let body = |limit: Option<u64>, held: fn(EnforcedLimits) -> Option<Enforcement>| {
            limit.map(|limit| LimitBody {
                limit,
                enforced_by: enforced.and_then(held).map(Enforcement::as_str),
            })
        };
        Self {
            memory: body(limits.memory, |enforced| enforced.memory),
            processes: body(limits.processes, |enforced| enforced.processes),
            open_files: body(limits.open_files, |enforced| enforced.open_files),
            cpu: body(limits.cpu, |enforced| enforced.cpu),
        }
    }
}

/// How the last launch ended, and when.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LastStopBody {
    #[serde(flatten)]
    stop: StopBody,
    ended_at: Option<Moment>,
}

/// An entry's status.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EntryBody {
    name: String,
    run: &'static str,
    source: &'static str,
    desired: &'static str,
    state: &'static str,
    reason: String,
    hint: Option<String>,
    instance: Option<InstanceBody>,
    launch: Option<u64>,
    /// Of the plugin's own process while it runs (SUP-36).
    pid: Option<u32>,
    since: Moment,
    restarts: u64,
    provides: Vec<String>,
    uses: Vec<String>,
    /// Leases come with runners.
    lease: Option<()>,
    isolation: &'static str,
    limits: LimitsBody,
    last_stop: Option<LastStopBody>,
    last_error: Option<String>,
    next_retry_at: Option<Moment>,
    last_lines: Vec<String>,
    command: Vec<String>,
}

impl From<EntryStatus> for EntryBody {
    fn from(status: EntryStatus) -> Self {
        let names = |services: &[ServiceName]| services.iter().map(ToString::to_string).collect();
        let process = status.process.as_ref();
        let last_stop_at = status.last_stop_at.map(Moment);
        Self {
            name: status.name.to_string(),
            run: match status.placement {
                Placement::Local => "local",
            },
            source: match status.source {
                Source::File => "file",
                Source::Api => "api",
            },
            desired: match status.desired {
                Desired::Running => "running",
                Desired::Stopped => "stopped",
            },
            state: status.state.as_str(),
            reason: status.reason,
            hint: status.hint,
            instance: process.map(|process| InstanceBody::from(&process.instance)),
            launch: process.map(|process| process.launch.get()),
            pid: process.and_then(|Process { pid, exited, .. }| pid.filter(|_| !exited)),
            since: Moment(status.since),
            restarts: status.restarts,
            provides: names(&status.provides),
            uses: names(&status.uses),
            lease: None,
            isolation: "none",
            limits: LimitsBody::new(&status.limits, process.and_then(|process| process.limits)),
            last_stop: status.last_stop.as_ref().map(|stop| LastStopBody {
                stop: StopBody::from(stop),
                ended_at: last_stop_at,
            }),
            last_error: status.last_error,
            next_retry_at: status.next_retry_at.map(Moment),
            last_lines: status.last_lines,
            command: status.command,
        }
    }
}

/// A page of entries.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EntriesBody {
    pub(crate) entries: Vec<EntryBody>,
    pub(crate) next_cursor: Option<String>,
}
