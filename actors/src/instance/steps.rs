//! Carrying out one effect of a launch, without waiting: what takes time becomes a task whose end is an event.

use std::sync::Arc;

use treewarden_model::entry;
use treewarden_model::launch::{Effect, Event, Phase};
use treewarden_model::outcome::Cause;
use treewarden_model::termination;
use treewarden_model::time::{Clock as _, Timestamp};
use treewarden_runtime::connection::Trouble;
use treewarden_runtime::launcher::{LaunchEvents, LaunchTag, Surroundings};
use treewarden_runtime::log_lines::LineSink;
use treewarden_runtime::protocol::{Identity, InitializeParams, InitializeResult};
use treewarden_runtime::task;
use treewarden_storage::LaunchRecord;

use super::{ending, spec};
use crate::cell::{EntryCell, LaunchCell, LaunchItem};
use crate::hub::{Hub, HubCalls, ordinal_of};
use crate::mailbox::lock;

pub(super) fn carry_out(hub: &Arc<Hub>, cell: &Arc<LaunchCell>, effect: Effect) {
    match effect {
        Effect::Spawn => spawn(hub, cell),
        Effect::Record => record(hub, cell),
        Effect::OpenGate => open_gate(cell),
        Effect::Ready => ready(hub, cell),
        Effect::Withdraw => withdraw(hub, cell),
        Effect::ProcessExited(status) => {
            let tag = &cell.tag;
            tracing::debug!(entry = %tag.entry, launch = tag.launch.get(), status = ?status, "A plugin's own process exited");
        }
        Effect::Ladder(rung) => climb(hub, cell, rung),
        Effect::NeverRan(reason) => ending::never_ran(hub, cell, reason),
    }
}

/// An item that panics whenever it is tried: the launch can't go on as it should, and is ended as its phase allows.
pub(super) fn give_up(cell: &Arc<LaunchCell>, item: &LaunchItem) {
    let reason = "a fault of the node itself".to_owned();
    let tag = &cell.tag;
    tracing::error!(entry = %tag.entry, launch = tag.launch.get(), item = ?item, "A step of a launch panicked again and again and is given up");
    let phase = lock(&cell.machine).phase();
    match phase {
        Phase::Spawning => cell.post(Event::SpawnRefused(reason)),
        Phase::Recording => cell.post(Event::RecordFailed(reason)),
        Phase::Initializing { .. } => cell.post(Event::InitializeFailed(reason)),
        Phase::Running => cell.post(Event::Broken {
            reason,
            cause: Cause::Crashed,
        }),
        Phase::Ending => cell.post(Event::Kill {
            cause: Cause::Crashed,
        }),
        // The process is gone, but the entry was not told.
        Phase::Ended => cell.entry.post(entry::Event::NeverRan {
            reason,
            dice: crate::entry::dice(),
        }),
    }
}

fn climb(hub: &Arc<Hub>, cell: &Arc<LaunchCell>, rung: termination::Effect) {
    use termination::Effect as Rung;
    let process = cell.process.get();
    match rung {
        Rung::SendShutdown(timeout) => {
            let Some(process) = process else { return };
            let (connection, cell) = (process.connection.clone(), cell.clone());
            cell.asks();
            task::spawn("shutdown", async move {
                let answered = match connection.shutdown(timeout).await {
                    Some(answer) => Event::ShutdownAnswered(answer),
                    None => Event::Broken {
                        reason: "it closed its connection in the stop".to_owned(),
                        cause: Cause::ConnectionLost,
                    },
                };
                cell.post(answered);
                cell.heard();
            });
        }
        Rung::CloseConnection => {
            if let Some(process) = process {
                process.connection.close();
            }
        }
        Rung::FailCalls => {
            if let Some(process) = process {
                process.connection.fail_calls();
            }
        }
        Rung::Interrupt => {
            if let Some(process) = process {
                process.control.interrupt();
            }
        }
        Rung::Kill => {
            if let Some(process) = process {
                process.control.kill();
            }
        }
        Rung::WakeAt(at) => wake_at(hub, cell, at),
        Rung::Unconfirmed(found) => ending::unconfirmed(cell, found),
        Rung::Confirmed(found) => ending::confirmed(hub, cell, found),
    }
}

fn wake_at(hub: &Arc<Hub>, cell: &Arc<LaunchCell>, at: Timestamp) {
    // Weak: a timer must not keep a launch's memory until it fires.
    let cell = Arc::downgrade(cell);
    hub.timers.wake_at(at, move || {
        if let Some(cell) = cell.upgrade() {
            cell.post(Event::Tick);
        }
    });
}

fn spawn(hub: &Arc<Hub>, cell: &Arc<LaunchCell>) {
    fail::fail_point!("launch.spawn");
    let around = Surroundings {
        events: Arc::new(Ears(Arc::downgrade(cell))),
        host: Arc::new(HubCalls(hub.clone())),
        lines: Arc::new(Lines {
            hub: hub.clone(),
            entry: cell.entry.clone(),
            tag: cell.tag.clone(),
        }),
    };
    let (hub, cell) = (hub.clone(), cell.clone());
    task::spawn("spawn", async move {
        let spawned = match spec::of(&hub, &cell).await {
            Ok(spec) => hub.launcher.spawn(spec, around).await,
            Err(reason) => Err(reason),
        };
        cell.post(match spawned {
            Ok(process) => {
                cell.process.set(process).ok();
                Event::Spawned
            }
            Err(reason) => Event::SpawnRefused(reason),
        });
    });
}

/// The one durable step before a plugin's code may run (SUP-13, SUP-17).
fn record(hub: &Arc<Hub>, cell: &Arc<LaunchCell>) {
    fail::fail_point!("launch.spawned");
    let Some(process) = cell.process.get() else {
        return;
    };
    let tag = &cell.tag;
    let record = LaunchRecord {
        entry: tag.entry.clone(),
        launch: tag.launch,
        ordinal: tag.ordinal,
        instance: tag.instance.clone(),
        pid: process.pid,
        start_time: process.start_time,
        boot_id: hub.boot_id,
        session: hub.session,
        recorded_at: hub.clock.wall(),
    };
    // Locked from here on, so that an end that overtakes this waits for it.
    let Ok(mut recorded) = cell.recorded.clone().try_lock_owned() else {
        return;
    };
    let (hub, cell) = (hub.clone(), cell.clone());
    task::spawn("record launch", async move {
        cell.post(match hub.store.record_launch(record).await {
            Ok(()) => {
                *recorded = true;
                Event::Recorded
            }
            Err(error) => Event::RecordFailed(format!("its launch could not be recorded: {error}")),
        });
    });
}

fn open_gate(cell: &Arc<LaunchCell>) {
    fail::fail_point!("launch.recorded");
    let Some(process) = cell.process.get() else {
        return;
    };
    let (tag, declaration) = (&cell.tag, &cell.declaration);
    let mut params = InitializeParams::new(
        Identity {
            id: tag.instance.id.clone(),
            generation: treewarden_runtime::protocol::Generation::new(
                tag.instance.generation.get(),
            ),
        },
        treewarden_runtime::protocol::LaunchNumber::new(tag.launch.get()),
    );
    params.plugin.id = tag.entry.as_str().to_owned();
    params.config = declaration.config.clone();
    params.services = declaration
        .uses
        .iter()
        .map(|service| service.as_str().to_owned())
        .collect();
    let (connection, cell) = (process.connection.clone(), cell.clone());
    cell.asks();
    task::spawn("handshake", async move {
        cell.post(match connection.open(params).await {
            Ok(offered) => match missing(&cell, &offered) {
                None => Event::Initialized,
                Some(why) => Event::InitializeFailed(why),
            },
            Err(why) => Event::InitializeFailed(why),
        });
        cell.heard();
    });
}

/// A declared service that the plugin does not offer fails the start (interfaces.md §5).
fn missing(cell: &LaunchCell, offered: &InitializeResult) -> Option<String> {
    let lacking: Vec<&str> = cell
        .declaration
        .provides
        .iter()
        .map(treewarden_model::name::ServiceName::as_str)
        .filter(|service| !offered.provides.contains_key(*service))
        .collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "it is declared to provide {}, but did not offer that in initialize",
            lacking.join(", ")
        )
    })
}

fn ready(hub: &Arc<Hub>, cell: &Arc<LaunchCell>) {
    fail::fail_point!("launch.ready");
    let Some(process) = cell.process.get() else {
        return;
    };
    process.connection.accept();
    hub.services
        .announce(&cell.declaration.provides, &process.connection);
    let tag = &cell.tag;
    tracing::info!(
        entry = %tag.entry, launch = tag.launch.get(), instance = %tag.instance.id, generation = tag.instance.generation.get(),
        pid = process.pid, "An entry runs"
    );
    cell.entry.post(entry::Event::Ready);
}

fn withdraw(hub: &Arc<Hub>, cell: &Arc<LaunchCell>) {
    let Some(process) = cell.process.get() else {
        return;
    };
    process.connection.refuse_new();
    hub.services
        .withdraw(&cell.declaration.provides, &process.connection);
    cell.entry.post(entry::Event::Withdrawn);
}

/// Hears what happens to the connection.
struct Ears(std::sync::Weak<LaunchCell>);

impl LaunchEvents for Ears {
    fn trouble(&self, trouble: Trouble) {
        if let Some(cell) = self.0.upgrade() {
            cell.post(Event::Broken {
                reason: trouble.reason,
                cause: trouble.cause,
            });
        }
    }
}

/// Takes what the plugin writes to stderr. It holds the entry and not the launch: the last lines come when the launch has ended.
struct Lines {
    hub: Arc<Hub>,
    entry: Arc<EntryCell>,
    tag: LaunchTag,
}

impl Lines {
    fn keep(&self, stream: &'static str, text: &str) {
        lock(&self.entry.log).push(self.hub.clock.wall(), stream, text);
    }
}

impl LineSink for Lines {
    fn line(&self, text: &str) {
        self.keep("stderr", text);
        let tag = &self.tag;
        tracing::info!(
            target: "treewarden::plugin",
            entry = %tag.entry, launch = tag.launch.get(), instance = %tag.instance.id, generation = tag.instance.generation.get(), text,
            "stderr"
        );
    }

    fn dropped(&self, lines: u64, bytes: u64) {
        let text = format!("{lines} lines ({bytes} bytes) were dropped: it wrote too fast");
        self.keep("dropped", &text);
        tracing::warn!(entry = %self.tag.entry, lines, bytes, "A plugin wrote to stderr too fast; lines were dropped");
    }
}

/// The keeper's name for the launch.
pub(super) fn ordinal(cell: &LaunchCell) -> treewarden_runtime::processes::Ordinal {
    ordinal_of(cell)
}
