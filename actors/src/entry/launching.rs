//! Making a launch of a declaration: its numbers, its cell, and the machine that carries it on.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use treewarden_model::entry::Event;
use treewarden_model::id::Instance;
use treewarden_model::launch::Launch;
use treewarden_model::retry::Dice;
use treewarden_runtime::launcher::LaunchTag;
use uuid::Uuid;

use crate::cell::{EntryCell, LaunchCell, LaunchItem};
use crate::hub::{Hub, ordinal_of};
use crate::mailbox::{Mailbox, lock};

/// Begins a launch, or says why there is none.
pub(super) fn launch(hub: &Arc<Hub>, cell: &Arc<EntryCell>) {
    match prepare(hub, cell) {
        Ok(launch) => {
            hub.step(&cell.name, Event::Numbered(launch.tag.launch));
            hub.enlist(ordinal_of(&launch), launch.clone());
            *lock(&cell.launch) = Some(launch);
        }
        Err(reason) => {
            tracing::warn!(entry = %cell.name, error = reason, "An entry could not be launched");
            cell.post(Event::NeverRan {
                reason,
                dice: dice(),
            });
        }
    }
}

/// A random number for the machines, which draw none themselves.
pub(crate) fn dice() -> Dice {
    let [a, b, c, d, ..] = Uuid::new_v4().into_bytes();
    Dice(u32::from_le_bytes([a, b, c, d]))
}

fn prepare(hub: &Hub, cell: &Arc<EntryCell>) -> Result<Arc<LaunchCell>, String> {
    let (launch, ordinal) = hub
        .store
        .next_launch(&cell.name)
        .map_err(|error| error.to_string())?;
    let tag = LaunchTag {
        entry: cell.name.clone(),
        launch,
        ordinal,
        instance: Instance::local(Uuid::new_v4()),
    };
    let (machine, effects) = Launch::begin();
    let mailbox = Mailbox::default();
    for effect in effects {
        mailbox.post(LaunchItem::Effect(effect));
    }
    Ok(Arc::new(LaunchCell {
        tag,
        declaration: cell.declared(),
        mailbox,
        machine: Mutex::new(machine),
        process: OnceLock::new(),
        recorded: Arc::default(),
        exits: Mutex::default(),
        judged: tokio::sync::Notify::new(),
        entry: cell.clone(),
        actor_starts: AtomicU64::new(0),
    }))
}
