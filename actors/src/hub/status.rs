//! The status of an entry, put together from its machine and its cell.

use std::sync::Arc;

use treewarden_model::entry::State;
use treewarden_model::status::{self, EntryStatus, Process, state_word};
use treewarden_model::time::{Clock as _, WallTime};
use treewarden_runtime::processes::{EnforcedLimits, Enforcement};

use super::Hub;
use crate::cell::EntryCell;
use crate::limits::STATUS_LINES;
use crate::mailbox::lock;

impl Hub {
    /// `None`: the entry is gone.
    pub(crate) fn status(&self, cell: &Arc<EntryCell>) -> Option<EntryStatus> {
        let (now, wall) = (self.now(), self.clock.wall());
        let ago = |at: treewarden_model::time::Timestamp| {
            WallTime(
                wall.0
                    .saturating_sub(u64::try_from(now.since(at).as_millis()).unwrap_or_default()),
            )
        };
        let entry = lock(&self.supervisor).entry(cell.name.as_str()).cloned()?;
        let declaration = cell.declared();
        let launch = cell.launch();
        let process = launch.as_ref().map(|launch| {
            let machine = lock(&launch.machine);
            Process {
                instance: launch.tag.instance.clone(),
                launch: launch.tag.launch,
                pid: launch.process.get().map(|process| process.pid),
                exited: machine.termination().process_exited(),
                limits: launch.process.get().map(|process| enforced(process.limits)),
            }
        });
        let next_retry_at = match entry.state() {
            State::BackingOff { until } => Some(wall.plus(until.since(now))),
            _ => None,
        };
        let mut reason = entry.reason(now);
        if process.as_ref().is_some_and(|process| process.exited) {
            reason.push_str(" Its own process has exited; processes it started are still there.");
        }
        let last_error = launch
            .as_ref()
            .and_then(|launch| lock(&launch.machine).trouble().map(ToOwned::to_owned))
            .or_else(|| entry.last_trouble().map(ToOwned::to_owned));
        Some(EntryStatus {
            name: cell.name.clone(),
            placement: declaration.placement,
            source: declaration.source,
            desired: entry.desired(),
            state: state_word(&entry),
            reason,
            hint: entry.hint().map(ToOwned::to_owned),
            process,
            since: ago(entry.since()).max(self.started_at),
            restarts: entry.restarts(),
            provides: declaration.provides.clone(),
            uses: declaration.uses.clone(),
            limits: declaration.limits.clone(),
            last_stop: entry.last_stop().cloned(),
            last_stop_at: *lock(&cell.last_stop_at),
            last_error,
            next_retry_at,
            last_lines: lock(&cell.log)
                .tail(STATUS_LINES)
                .into_iter()
                .map(|line| line.text)
                .collect(),
            command: declaration.command.clone(),
        })
    }
}

/// The keeper's words, as the status has them.
fn enforced(limits: EnforcedLimits) -> status::EnforcedLimits {
    let word = |found: Enforcement| match found {
        Enforcement::Cgroup => status::Enforcement::Cgroup,
        Enforcement::Rlimit => status::Enforcement::Rlimit,
        Enforcement::NotEnforced => status::Enforcement::NotEnforced,
    };
    status::EnforcedLimits {
        memory: limits.memory.map(word),
        processes: limits.processes.map(word),
        open_files: limits.open_files.map(word),
        cpu: limits.cpu.map(word),
    }
}
