//! What an earlier start of the node left over is dealt with before anything is started (SUP-17).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use treewarden_model::id::LaunchNumber;
use treewarden_model::outcome::{Cause, Ending, Evidence, Outcome, StopResult};
use treewarden_model::time::{Clock as _, Timestamp};
use treewarden_runtime::launcher::LaunchTag;
use treewarden_runtime::local;
use treewarden_runtime::processes::leftovers::{self, KeeperLast, KeeperState, NodeMarks};
use treewarden_runtime::processes::{LaunchText, Ordinal};
use treewarden_storage::{LaunchRecord, LaunchRecordKey};

use super::{LOOK_AGAIN, evidence, exit_status};
use crate::hub::Hub;
use crate::termination_log;

/// After this long a wait for an earlier keeper is mentioned.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the earlier keeper's end, kills what still bears this node's marks, and gives every launch left open its end.
pub(super) async fn deal_with(hub: &Arc<Hub>, data_dir: &Path, open: Vec<LaunchRecord>) {
    let began = hub.now();
    wait_for_keeper(hub, data_dir, began).await;
    let last = read_last(data_dir).await;
    let killed = kill_marked(hub).await;
    let in_groups = sweep_groups(hub).await;
    for record in open {
        let mut ending = ending_of(hub, &record, last.as_ref(), &killed, began);
        if in_groups.contains(&Ordinal::new(record.ordinal.0)) {
            ending.outcome = Outcome::Killed;
        }
        let result = StopResult {
            entry: record.entry.clone(),
            instance: record.instance.clone(),
            launch: record.launch,
            ending,
        };
        termination_log::confirmed(&result);
        let at = hub.clock.wall();
        let key = LaunchRecordKey {
            entry: record.entry,
            launch: record.launch,
        };
        if let Err(error) = hub.store.record_end(key, result.clone(), at).await {
            tracing::error!(error = %error, "The end of an earlier launch could not be stored");
        }
        hub.end_of_inherited(result, at);
    }
}

async fn wait_for_keeper(hub: &Hub, data_dir: &Path, began: Timestamp) {
    let (mut wait, mut mentioned) = (LOOK_AGAIN.0, false);
    loop {
        match leftovers::probe_keeper(data_dir) {
            Ok(KeeperState::Ended) => return,
            Ok(KeeperState::Living { holder }) => {
                if !mentioned && hub.now().since(began) >= PATIENCE {
                    mentioned = true;
                    let pid = holder.map(|holder| holder.pid.get());
                    tracing::warn!(
                        pid,
                        "The keeper of an earlier start still ends its processes; nothing is launched until it has ended"
                    );
                }
            }
            Err(error) => {
                if !mentioned {
                    mentioned = true;
                    tracing::error!(error = %error, "The keeper's lock can't be looked at; nothing is launched until it can");
                }
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LOOK_AGAIN.1);
    }
}

async fn read_last(data_dir: &Path) -> Option<KeeperLast> {
    let folder: PathBuf = data_dir.to_owned();
    match tokio::task::spawn_blocking(move || leftovers::read_last(&folder)).await {
        Ok(Ok(last)) => last,
        Ok(Err(error)) => {
            tracing::warn!(error = %error, "The last words of the earlier keeper can't be read; exit statuses are not known");
            None
        }
        Err(_) => None,
    }
}

/// What has hidden its marks is still in its launch's control group, and a keeper that was killed leaves its groups behind. Waits until
/// none is left, and says whose were not empty.
pub(super) async fn sweep_groups(hub: &Hub) -> BTreeSet<Ordinal> {
    let mut wait = LOOK_AGAIN.0;
    let mut found = BTreeSet::new();
    loop {
        let marks = marks(hub);
        match tokio::task::spawn_blocking(move || leftovers::sweep_groups(&marks)).await {
            Ok(Ok(left)) if left.is_empty() => return found,
            Ok(Ok(left)) => {
                for launch in left.into_iter().filter_map(|group| group.launch) {
                    if found.insert(launch) {
                        tracing::warn!(
                            ordinal = launch.get(),
                            "Processes of an earlier launch were still in its control group and are killed"
                        );
                    }
                }
            }
            // The tree and the marks have said all that can be known then.
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "Control groups of earlier launches can't be looked for");
                return found;
            }
            Err(_) => return found,
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LOOK_AGAIN.1);
    }
}

fn marks(hub: &Hub) -> NodeMarks {
    NodeMarks {
        tag: local::node_tag(hub.node),
        id: hub.node.to_string(),
    }
}

/// Both node and keeper may have been lost: then leaders are dead by their parent-death signal, but descendants may live (SUP-35).
async fn kill_marked(hub: &Hub) -> BTreeSet<LaunchText> {
    let marks = marks(hub);
    let mut wait = LOOK_AGAIN.0;
    let (mut killed, mut mentioned) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let marks = marks.clone();
        match tokio::task::spawn_blocking(move || leftovers::kill_marked(&marks)).await {
            Ok(Ok(found)) if found.is_empty() => return killed,
            Ok(Ok(found)) => {
                for process in found {
                    // Once each: one that the kernel holds is looked at again and again.
                    if mentioned.insert(process.identity.pid) {
                        tracing::warn!(
                            pid = process.identity.pid.get(),
                            "A process of an earlier start was still there and is killed; nothing is launched until it is gone"
                        );
                    }
                    killed.extend(process.launch_text);
                }
            }
            Ok(Err(error)) => {
                tracing::error!(error = %error, "The process table can't be read; nothing is launched until it can");
            }
            Err(error) => {
                tracing::error!(error = %error, "Looking for processes of an earlier start failed and is done again")
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LOOK_AGAIN.1);
    }
}

fn ending_of(
    hub: &Hub,
    record: &LaunchRecord,
    last: Option<&KeeperLast>,
    killed: &BTreeSet<LaunchText>,
    began: Timestamp,
) -> Ending {
    let tag = LaunchTag {
        entry: record.entry.clone(),
        launch: LaunchNumber::from_stored(record.launch.get()),
        ordinal: record.ordinal,
        instance: record.instance.clone(),
    };
    let text = local::launch_text(hub.node, &tag);
    let said = last.and_then(|last| last.launch(&text));
    let killed = match said {
        Some(said) => said.killed || killed.contains(&text),
        // Node and keeper were lost together: the kernel killed the leader when its keeper died. After a reboot nobody had to.
        None => record.boot_id == hub.boot_id || killed.contains(&text),
    };
    Ending {
        outcome: if killed {
            Outcome::Killed
        } else {
            Outcome::Exited
        },
        cause: Cause::ConnectionLost,
        // The keeper's last words, or that the whole process table holds none of its marks.
        evidence: Some(
            said.and_then(|said| said.evidence)
                .map_or(Evidence::Tree, evidence),
        ),
        exit_status: said.and_then(|said| said.exit_status).map(exit_status),
        duration: hub.now().since(began),
        cleanup: Vec::new(),
    }
}
