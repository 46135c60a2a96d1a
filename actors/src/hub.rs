//! What all actors share: the machines of the entries, the cells, the services, and the way to the store and the launcher.
//!
//! One lock covers the supervisor's machines, so that "may it start" and "it starts" are one step for all entries together. It is held for
//! microseconds, never over an await, and nothing runs under it but the rules and the posting of their effects.

mod asking;
mod calls;
mod status;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use treewarden_model::declaration::Declaration;
use treewarden_model::entry::{self, Answer, Ask, Entry};
use treewarden_model::id::{NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::reload::Plan;
use treewarden_model::supervisor::{Directed, Supervisor};
use treewarden_model::time::{Clock, Timestamp, WallTime};
use treewarden_runtime::clock::SystemClock;
use treewarden_runtime::launcher::Launcher;
use treewarden_runtime::processes::Ordinal;
use treewarden_runtime::timers::Timers;
use treewarden_storage::StoreHandle;

use crate::cell::{EntryCell, EntryItem, LaunchCell, offer};
use crate::edge_server::EdgePhase;
use crate::mailbox::{Mailbox, lock};
use crate::meta::Metas;
use crate::services::Services;

pub(crate) use asking::Waiter;
pub(crate) use calls::HubCalls;

/// A configuration that was read, and whom to tell what applying it did.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) declarations: BTreeMap<EntryName, Declaration>,
    pub(crate) reply: oneshot::Sender<crate::answers::ReloadReport>,
}

/// What `entries` finds in its mailbox.
#[derive(Debug, Clone)]
pub(crate) enum EntriesItem {
    /// This entry needs an actor.
    Attend(Arc<EntryCell>),
    /// Apply what was read of the configuration.
    Apply(Arc<Mutex<Option<Loaded>>>),
}

/// Where declarations come from; the composition root knows.
pub trait ConfigSource: Send + Sync + 'static {
    /// Reads all declarations afresh. Blocking.
    ///
    /// # Errors
    /// Sentences that say where the file is wrong and how to mend it.
    fn load(&self) -> Result<BTreeMap<EntryName, Declaration>, Vec<String>>;
}

/// Who waits for an answer, and of which entry.
type Asked = (Arc<EntryCell>, oneshot::Sender<Result<Answer, String>>);

pub(crate) struct Hub {
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) timers: Timers,
    pub(crate) store: StoreHandle,
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) config: Arc<dyn ConfigSource>,
    pub(crate) node: NodeId,
    pub(crate) session: SessionNumber,
    pub(crate) data_dir: PathBuf,
    pub(crate) boot_id: uuid::Uuid,
    pub(crate) started_at: WallTime,
    pub(crate) warnings: Vec<String>,
    pub(crate) metas: Metas,
    pub(crate) services: Services,
    pub(crate) entries_mailbox: Mailbox<EntriesItem>,
    /// One reload at a time, so that what was read last is applied last.
    pub(crate) reloading: Arc<tokio::sync::Mutex<()>>,
    pub(crate) edge_phase: tokio::sync::watch::Sender<EdgePhase>,
    pub(crate) shutting_down: AtomicBool,
    /// What the keeper could not ascribe, for the status.
    pub(crate) unascribed: Mutex<Vec<String>>,
    pub(crate) root: std::sync::OnceLock<ractor::ActorCell>,
    supervisor: Mutex<Supervisor>,
    cells: Mutex<BTreeMap<EntryName, Arc<EntryCell>>>,
    launches: Mutex<HashMap<Ordinal, Arc<LaunchCell>>>,
    asks: Mutex<HashMap<Ask, Asked>>,
    next_ask: AtomicU64,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// What a hub is made of.
pub(crate) struct HubParts {
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) timers: Timers,
    pub(crate) store: StoreHandle,
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) config: Arc<dyn ConfigSource>,
    pub(crate) node: NodeId,
    pub(crate) session: SessionNumber,
    pub(crate) data_dir: PathBuf,
    pub(crate) boot_id: uuid::Uuid,
    pub(crate) warnings: Vec<String>,
}

impl Hub {
    /// A hub without entries in which nothing may be launched yet.
    pub(crate) fn new(parts: HubParts) -> Self {
        let started_at = parts.clock.wall();
        Self {
            clock: parts.clock,
            timers: parts.timers,
            store: parts.store,
            launcher: parts.launcher,
            config: parts.config,
            node: parts.node,
            session: parts.session,
            data_dir: parts.data_dir,
            boot_id: parts.boot_id,
            started_at,
            warnings: parts.warnings,
            metas: Metas::default(),
            services: Services::default(),
            entries_mailbox: Mailbox::default(),
            reloading: Arc::default(),
            edge_phase: tokio::sync::watch::Sender::new(EdgePhase::Open),
            shutting_down: AtomicBool::new(false),
            unascribed: Mutex::default(),
            root: std::sync::OnceLock::new(),
            supervisor: Mutex::new(Supervisor::held()),
            cells: Mutex::default(),
            launches: Mutex::default(),
            asks: Mutex::default(),
            next_ask: AtomicU64::new(1),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::SeqCst)
    }

    /// An entry's cell.
    pub(crate) fn cell(&self, name: &str) -> Option<Arc<EntryCell>> {
        lock(&self.cells).get(name).cloned()
    }

    /// All cells, by name.
    pub(crate) fn cells(&self) -> Vec<Arc<EntryCell>> {
        lock(&self.cells).values().cloned().collect()
    }

    /// Asks the machines, and posts what they say to whom it concerns, in the order they said it.
    pub(crate) fn step(&self, name: &EntryName, event: entry::Event) {
        self.with_supervisor(|supervisor, now| supervisor.step(name, event, now));
    }

    /// Nothing is launched until [`Self::release`].
    pub(crate) fn hold(&self) {
        lock(&self.supervisor).hold();
    }

    /// Launches are allowed, unless the node shuts down.
    pub(crate) fn release(&self) {
        self.with_supervisor(|supervisor, now| {
            // Asked under the lock that the shutdown's own hold takes: whichever comes second sees the first.
            if self.is_shutting_down() {
                Vec::new()
            } else {
                supervisor.release(now)
            }
        });
    }

    pub(crate) fn note_trouble(&self, name: &EntryName, trouble: Option<String>) {
        lock(&self.supervisor).note_trouble(name.as_str(), trouble);
    }

    /// A launch of an earlier start may still live; its end is told later (SUP-17).
    pub(crate) fn inherit(&self, name: &EntryName, launch: treewarden_model::id::LaunchNumber) {
        lock(&self.supervisor).inherit(name.as_str(), launch);
    }

    /// Lets every entry look around.
    pub(crate) fn look_at_all(&self) {
        self.with_supervisor(Supervisor::look_at_all);
    }

    /// The end of a launch of an earlier start.
    pub(crate) fn end_of_inherited(
        &self,
        result: treewarden_model::outcome::StopResult,
        at: WallTime,
    ) {
        let Some(cell) = self.cell(result.entry.as_str()) else {
            return; // No longer declared: the row and the log line are all there is.
        };
        *lock(&cell.last_stop_at) = Some(at);
        cell.post(entry::Event::Ended {
            result,
            dice: crate::entry::dice(),
        });
    }

    pub(crate) fn note_last_stop(
        &self,
        result: treewarden_model::outcome::StopResult,
        at: WallTime,
    ) {
        if let Some(cell) = self.cell(result.entry.as_str()) {
            *lock(&cell.last_stop_at) = Some(at);
        }
        let name = result.entry.clone();
        lock(&self.supervisor).note_last_stop(name.as_str(), result);
    }

    fn with_supervisor(&self, step: impl FnOnce(&mut Supervisor, Timestamp) -> Vec<Directed>) {
        let now = self.now();
        let mut supervisor = lock(&self.supervisor);
        let effects = step(&mut supervisor, now);
        if effects.is_empty() {
            return;
        }
        let cells = lock(&self.cells);
        for (name, effect) in effects {
            if let Some(cell) = cells.get(&name) {
                cell.mailbox.post(EntryItem::Effect(effect));
            }
        }
    }

    /// Adds entries as they are declared, with what is wanted of each; they are looked at when launches are allowed.
    pub(crate) fn add(
        &self,
        entries: impl IntoIterator<Item = (Declaration, entry::Desired)>,
    ) -> Vec<Arc<EntryCell>> {
        let mut supervisor = lock(&self.supervisor);
        let mut cells = lock(&self.cells);
        let mut added = Vec::new();
        for (declaration, desired) in entries {
            let name = declaration.name.clone();
            supervisor.add(
                name.clone(),
                offer(&declaration),
                Entry::new(desired, declaration.retry.clone()),
            );
            let cell = Arc::new(EntryCell::new(declaration));
            cells.insert(name, cell.clone());
            added.push(cell);
        }
        added
    }

    /// Makes the running set follow `newer` (SUP-01); processes follow as their machines allow.
    pub(crate) fn apply(&self, plan: &Plan, newer: &BTreeMap<EntryName, Declaration>) {
        for name in &plan.stopped {
            let ask = self.next_ask();
            self.step(name, entry::Event::Remove(ask));
        }
        for (name, declaration) in newer {
            // One that is still being removed is declared again rather than added a second time.
            let living = lock(&self.supervisor).entry(name.as_str()).is_some();
            let Some(cell) = self.cell(name.as_str()).filter(|_| living) else {
                for cell in self.add([(declaration.clone(), entry::Desired::Running)]) {
                    self.entries_mailbox.post(EntriesItem::Attend(cell));
                }
                continue;
            };
            let replace = plan.replaced.contains(name) || plan.started.contains(name);
            *lock(&cell.declaration) = Arc::new(declaration.clone());
            let (declared, retry) = (offer(declaration), declaration.retry.clone());
            self.with_supervisor(|supervisor, now| {
                supervisor.redeclare(name, declared, replace, retry, now)
            });
        }
        self.with_supervisor(Supervisor::look_at_all);
    }

    /// Whether an entry is no longer declared, though something of it is left.
    pub(crate) fn is_removing(&self, cell: &EntryCell) -> bool {
        lock(&self.supervisor)
            .entry(cell.name.as_str())
            .is_none_or(Entry::removing)
    }

    /// An entry that was removed: nothing of it is left.
    pub(crate) fn forget(&self, cell: &Arc<EntryCell>) {
        let mut cells = lock(&self.cells);
        if cells
            .get(&cell.name)
            .is_some_and(|present| Arc::ptr_eq(present, cell))
        {
            cells.remove(&cell.name);
        }
    }

    pub(crate) fn enlist(&self, ordinal: Ordinal, launch: Arc<LaunchCell>) {
        lock(&self.launches).insert(ordinal, launch);
    }

    pub(crate) fn delist(&self, ordinal: Ordinal) {
        lock(&self.launches).remove(&ordinal);
    }

    pub(crate) fn launch(&self, ordinal: Ordinal) -> Option<Arc<LaunchCell>> {
        lock(&self.launches).get(&ordinal).cloned()
    }

    pub(crate) fn launches(&self) -> Vec<Arc<LaunchCell>> {
        lock(&self.launches).values().cloned().collect()
    }
}

/// The keeper's name for a launch.
pub(crate) fn ordinal_of(launch: &LaunchCell) -> Ordinal {
    Ordinal::new(launch.tag.ordinal.0)
}
