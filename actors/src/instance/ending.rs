//! How a launch ends: the result, the log line, the row, and the word to the entry (SUP-11).

use std::sync::Arc;

use treewarden_model::entry;
use treewarden_model::outcome::{CleanupCauseKind, Ending, ExitStatus, StopResult};
use treewarden_model::time::Clock as _;
use treewarden_runtime::task;

use super::steps::ordinal;
use crate::cell::LaunchCell;
use crate::entry::dice;
use crate::hub::Hub;
use crate::mailbox::lock;
use crate::termination_log;

/// There was never a process.
pub(super) fn never_ran(hub: &Arc<Hub>, cell: &Arc<LaunchCell>, reason: String) {
    tracing::warn!(entry = %cell.tag.entry, launch = cell.tag.launch.get(), error = reason, "An entry could not be launched");
    let_go(hub, cell);
    cell.entry.post(entry::Event::NeverRan {
        reason,
        dice: dice(),
    });
}

/// It can't be confirmed; the owner waits on.
pub(super) fn unconfirmed(cell: &Arc<LaunchCell>, mut ending: Ending) {
    let found = cell.process.get().map(|process| described(process.pid));
    for cause in &mut ending.cleanup {
        if cause.kind == CleanupCauseKind::TerminationUnconfirmed
            && let Some(found) = &found
        {
            cause.message = format!("{}: {found}", cause.message);
        }
    }
    let result = result(cell, ending);
    termination_log::not_confirmed(&result);
    cell.entry.post(entry::Event::Unconfirmed(result));
}

/// The family is gone.
pub(super) fn confirmed(hub: &Arc<Hub>, cell: &Arc<LaunchCell>, ending: Ending) {
    fail::fail_point!("end.confirmed");
    let result = result(cell, ending);
    termination_log::confirmed(&result);
    if let Some(process) = cell.process.get() {
        process.control.gone();
        process.connection.finish();
    }
    let trouble = trouble(cell, &result.ending);
    hub.note_trouble(&cell.tag.entry, trouble);
    let at = hub.clock.wall();
    *lock(&cell.entry.last_stop_at) = Some(at);
    let under_way = cell.entry.fence.begin();
    let (store, row, recorded) = (hub.clone(), result.clone(), cell.recorded.clone());
    task::spawn("record end", async move {
        // A launch that was stopped at its gate never ran and is in no log: its number is burned, and nothing is to be remembered.
        if !*recorded.lock().await {
            return drop(under_way);
        }
        let key = treewarden_storage::LaunchRecordKey {
            entry: row.entry.clone(),
            launch: row.launch,
        };
        if let Err(error) = store.store.record_end(key, row, at).await {
            tracing::error!(error = %error, "The end of a launch could not be stored");
            under_way.fail(&error);
        }
        fail::fail_point!("end.recorded");
        drop(under_way);
    });
    let_go(hub, cell);
    cell.entry.post(entry::Event::Ended {
        result,
        dice: dice(),
    });
}

/// What the launch met. The shim's exit codes say more than the closed pipe that comes with them.
fn trouble(cell: &LaunchCell, ending: &Ending) -> Option<String> {
    let machine = lock(&cell.machine);
    let why = match ending.exit_status {
        Some(ExitStatus::Code(127)) => {
            "it was not found, or what it names as its interpreter was not"
        }
        Some(ExitStatus::Code(126)) => "it can't be executed",
        _ => return machine.trouble().map(ToOwned::to_owned),
    };
    if machine.was_ready() {
        return machine.trouble().map(ToOwned::to_owned);
    }
    Some(format!(
        "its program could not be started: {why}; its log says more"
    ))
}

fn let_go(hub: &Hub, cell: &Arc<LaunchCell>) {
    hub.delist(ordinal(cell));
    let mut present = lock(&cell.entry.launch);
    if present
        .as_ref()
        .is_some_and(|launch| Arc::ptr_eq(launch, cell))
    {
        *present = None;
    }
}

fn result(cell: &LaunchCell, ending: Ending) -> StopResult {
    let tag = &cell.tag;
    StopResult {
        entry: tag.entry.clone(),
        instance: tag.instance.clone(),
        launch: tag.launch,
        ending,
    }
}

/// The process as the kernel sees it (SUP-07).
fn described(pid: u32) -> String {
    use treewarden_runtime::processes::system::process;
    let Some(id) = i32::try_from(pid)
        .ok()
        .and_then(|pid| treewarden_runtime::processes::ProcessId::try_from(pid).ok())
    else {
        return format!("pid {pid}");
    };
    let state = process::stat(id).map_or_else(
        |_| "gone, but a descendant is left".to_owned(),
        |stat| format!("state {}", stat.state),
    );
    let channel = process::wait_channel(id).unwrap_or_else(|| "not known".to_owned());
    format!("pid {pid}, {state}, kernel wait channel {channel}")
}
