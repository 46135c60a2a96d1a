//! Keeps a keeper: deals with what an earlier start left over, starts a keeper, and cleans up when it is lost (SUP-17, SUP-35).
//!
//! ```text
//! earlier keeper's end ─▶ leftovers dealt with ─▶ keeper runs, launches released ─▶ lost: launches held
//!                                                        ▲                             │
//!                                                        └── node has no child left ◀──┘
//! ```
//!
//! A task and not an actor: nothing may start while it has not done its work, and no supervisor's rule may cut that work short.

mod leftovers;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use treewarden_model::launch::Event;
use treewarden_model::outcome;
use treewarden_runtime::keeper::{FamilyEnd, Keeper, KeeperSink};
use treewarden_runtime::local::LocalLauncher;
use treewarden_runtime::processes::orphans::{self, OrphanState};
use treewarden_runtime::processes::system::wait::{self, Look};
use treewarden_runtime::processes::wire::UnascribedProcess;
use treewarden_runtime::processes::{Evidence, ExitStatus, KeeperOptions, Ordinal, ProcessId};
use treewarden_runtime::task;
use treewarden_storage::LaunchRecord;

use crate::cell::LaunchCell;
use crate::hub::{Hub, ordinal_of};
use crate::mailbox::lock;

/// First and longest wait between looks at processes that are being ended.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));
/// Wait before a keeper that could not be started is tried again.
const START_AGAIN: Duration = Duration::from_secs(1);

/// How the keeper is started.
#[derive(Debug, Clone)]
pub struct KeeperSetup {
    /// Options for the keeper library.
    pub options: KeeperOptions,
}

/// Whether the keeper's work is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WardenState {
    /// It is wanted.
    Working,
    /// It has ended, and the node has no child left.
    Ended,
}

pub(crate) struct Warden {
    hub: Arc<Hub>,
    launcher: LocalLauncher,
    setup: KeeperSetup,
    lost: Arc<Notify>,
    state: watch::Sender<WardenState>,
}

/// Ends the warden.
#[derive(Debug, Clone)]
pub(crate) struct WardenHandle {
    launcher: LocalLauncher,
    state: watch::Receiver<WardenState>,
}

impl WardenHandle {
    /// Closes the keeper and resolves when it and every child of the node is gone. The hub must be shutting down.
    pub(crate) async fn close(&mut self) {
        if let Some(keeper) = self.launcher.keeper() {
            keeper.close();
        }
        self.state
            .wait_for(|state| *state == WardenState::Ended)
            .await
            .map(|_| ())
            .ok();
    }
}

impl Warden {
    /// Starts the work; `open` are the launches that an earlier start left without an end.
    pub(crate) fn start(
        hub: Arc<Hub>,
        launcher: LocalLauncher,
        setup: KeeperSetup,
        open: Vec<LaunchRecord>,
    ) -> WardenHandle {
        let state = watch::Sender::new(WardenState::Working);
        let handle = WardenHandle {
            launcher: launcher.clone(),
            state: state.subscribe(),
        };
        let warden = Self {
            hub,
            launcher,
            setup,
            lost: Arc::new(Notify::new()),
            state,
        };
        task::spawn("warden", async move { warden.run(open).await });
        handle
    }

    fn data_dir(&self) -> PathBuf {
        self.setup.options.data_dir.clone()
    }

    async fn run(self, open: Vec<LaunchRecord>) {
        leftovers::deal_with(&self.hub, &self.data_dir(), open).await;
        loop {
            let mut statuses = Vec::new();
            if self.hub.is_shutting_down() {
                break;
            }
            let sink = Arc::new(Sink {
                hub: self.hub.clone(),
                lost: self.lost.clone(),
            });
            match Keeper::start(&self.setup.options, sink).await {
                Ok(keeper) => {
                    tracing::debug!(pid = keeper.pid().get(), "The keeper runs");
                    self.launcher.set_keeper(Some(keeper.clone()));
                    if self.hub.is_shutting_down() {
                        keeper.close();
                    } else {
                        self.hub.release();
                    }
                    statuses = self.until_lost(keeper.pid()).await;
                }
                Err(error) => {
                    tracing::error!(error = %error, "The keeper could not be started; nothing is launched until it is");
                    tokio::time::sleep(START_AGAIN).await;
                }
            }
            self.hub.hold();
            // One that never greeted is reaped below like one that was lost.
            if self.launcher.set_keeper(None).is_some() && !self.hub.is_shutting_down() {
                tracing::error!(
                    "The keeper was lost; what it kept is being ended, then another is started"
                );
            }
            self.after_loss(statuses).await;
        }
        self.state.send_replace(WardenState::Ended);
    }

    /// Waits for the keeper's end. Meanwhile strangers that the node adopts (as the first process of a container it adopts every orphan)
    /// are reaped; what is answered are exit statuses met on the way that may belong to launches of a keeper that is just ending.
    async fn until_lost(&self, keeper: ProcessId) -> Vec<(ProcessId, ExitStatus)> {
        let mut statuses = Vec::new();
        let mut children = match signal(SignalKind::child()) {
            Ok(children) => children,
            Err(error) => {
                tracing::error!(error = %error, "Strangers can't be reaped");
                self.lost.notified().await;
                return statuses;
            }
        };
        loop {
            tokio::select! {
                () = self.lost.notified() => return statuses,
                _ = children.recv() => {}
            }
            while let Ok(Look::Ended(pid, status)) = wait::peek() {
                // The keeper itself is reaped when its loss is dealt with; behind it nobody is a stranger.
                if pid == keeper || wait::reap(pid).is_err() {
                    break;
                }
                if self
                    .hub
                    .launches()
                    .iter()
                    .any(|launch| is_leader(launch, pid))
                {
                    statuses.push((pid, status));
                }
            }
        }
    }

    /// The node, a subreaper above its keeper, kills and reaps all it adopted; then every launch is known to be gone.
    async fn after_loss(&self, mut statuses: Vec<(ProcessId, ExitStatus)>) {
        let mut wait = LOOK_AGAIN.0;
        loop {
            match orphans::pass() {
                Ok(pass) => {
                    statuses.extend(pass.reaped);
                    if pass.state == OrphanState::Done {
                        break;
                    }
                }
                Err(error) => {
                    tracing::error!(error = %error, "The node's children could not be looked at")
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_AGAIN.1);
        }
        leftovers::sweep_groups(&self.hub).await;
        // Every launch, also one whose process the node has not heard of yet: if it hears of it now, it is told that it is gone.
        for launch in self.hub.launches() {
            let status = statuses
                .iter()
                .find(|(pid, _)| is_leader(&launch, *pid))
                .map(|(_, status)| exit_status(*status));
            let reason = "its keeper was lost".to_owned();
            launch.post(Event::Broken {
                reason,
                cause: outcome::Cause::ConnectionLost,
            });
            launch.told(Event::ProcessExited(status));
            launch.told(Event::FamilyGone {
                evidence: outcome::Evidence::Tree,
                killed: true,
            });
        }
        lock(&self.hub.unascribed).clear();
    }
}

fn is_leader(launch: &LaunchCell, pid: ProcessId) -> bool {
    launch
        .process
        .get()
        .is_some_and(|process| u32::try_from(pid.get()) == Ok(process.pid))
}

/// The keeper's words, as the rules have them.
fn exit_status(status: ExitStatus) -> outcome::ExitStatus {
    match status {
        ExitStatus::Code(code) => outcome::ExitStatus::Code(code),
        ExitStatus::Signal { signal, .. } => outcome::ExitStatus::Signal(signal),
    }
}

fn evidence(evidence: Evidence) -> outcome::Evidence {
    match evidence {
        Evidence::Cgroup => outcome::Evidence::Cgroup,
        Evidence::Tree => outcome::Evidence::Tree,
        Evidence::Group => outcome::Evidence::Group,
    }
}

struct Sink {
    hub: Arc<Hub>,
    lost: Arc<Notify>,
}

impl KeeperSink for Sink {
    fn exited(&self, ordinal: Ordinal, status: ExitStatus) {
        if let Some(launch) = self.hub.launch(ordinal) {
            launch.told(Event::ProcessExited(Some(exit_status(status))));
        }
    }

    fn gone(&self, ordinal: Ordinal, end: FamilyEnd) {
        if let Some(launch) = self.hub.launch(ordinal) {
            if end.out_of_memory {
                launch.told(Event::OutOfMemory);
            }
            launch.told(Event::FamilyGone {
                evidence: evidence(end.evidence),
                killed: end.killed,
            });
        }
    }

    fn unascribed(&self, processes: Vec<UnascribedProcess>, more: usize) {
        let mut named: Vec<String> = processes
            .iter()
            .map(|process| format!("{} (pid {})", process.name, process.identity.pid))
            .collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        if !named.is_empty() {
            tracing::warn!(
                processes = named.join(", "),
                "Processes can't be ascribed to a launch; exits wait for them"
            );
        }
        *lock(&self.hub.unascribed) = named;
    }

    fn lost(&self) {
        self.lost.notify_one();
    }
}

/// The shutdown begins: nothing is launched from here on.
pub(crate) fn begin_shutdown(hub: &Hub) {
    hub.shutting_down.store(true, Ordering::SeqCst);
    // Whatever is still added or wanted by then is not launched any more.
    hub.hold();
}

/// Launches that live, for a report.
pub(crate) fn living(hub: &Hub) -> Vec<String> {
    hub.launches()
        .iter()
        .map(|launch| format!("{} (launch {})", launch.tag.entry, ordinal_of(launch)))
        .collect()
}
