//! What belongs to an entry or to a launch, beside its actor: it outlives the actor, so that a replacement goes on where the dead one stood.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};

use treewarden_model::declaration::Declaration;
use treewarden_model::launch::{self, Launch};
use treewarden_model::name::EntryName;
use treewarden_model::time::WallTime;
use treewarden_model::{entry, supervisor};
use treewarden_runtime::launcher::{LaunchTag, PluginProcess};
use treewarden_runtime::log_lines::Budget;

use crate::entry::Wishes;
use crate::exits::Exits;
use crate::fence::Fence;
use crate::log_ring::LogRing;
use crate::mailbox::{Mailbox, lock};

/// What an entry's actor finds in its mailbox.
#[derive(Debug, Clone)]
pub(crate) enum EntryItem {
    /// Something happened: the machines are asked.
    Event(entry::Event),
    /// The machines said what to do.
    Effect(entry::Effect),
}

/// An entry.
#[derive(Debug)]
pub(crate) struct EntryCell {
    pub(crate) name: EntryName,
    pub(crate) mailbox: Mailbox<EntryItem>,
    pub(crate) declaration: Mutex<Arc<Declaration>>,
    pub(crate) launch: Mutex<Option<Arc<LaunchCell>>>,
    pub(crate) log: Mutex<LogRing>,
    /// Bound of its structured log, and how many records it dropped since one was kept.
    pub(crate) records: Mutex<(Option<Budget>, u64)>,
    pub(crate) fence: Arc<Fence>,
    pub(crate) wishes: Mutex<Wishes>,
    /// Nothing of it is left; nobody answers any more.
    pub(crate) gone: AtomicBool,
    /// Callers that wait for an answer of this entry.
    pub(crate) waiting: AtomicUsize,
    pub(crate) last_stop_at: Mutex<Option<WallTime>>,
    /// How often its actor was started.
    pub(crate) actor_starts: AtomicU64,
}

impl EntryCell {
    pub(crate) fn new(declaration: Declaration) -> Self {
        Self {
            name: declaration.name.clone(),
            mailbox: Mailbox::default(),
            declaration: Mutex::new(Arc::new(declaration)),
            launch: Mutex::default(),
            log: Mutex::default(),
            records: Mutex::default(),
            fence: Arc::default(),
            wishes: Mutex::default(),
            gone: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            last_stop_at: Mutex::default(),
            actor_starts: AtomicU64::new(0),
        }
    }

    pub(crate) fn declared(&self) -> Arc<Declaration> {
        lock(&self.declaration).clone()
    }

    pub(crate) fn launch(&self) -> Option<Arc<LaunchCell>> {
        lock(&self.launch).clone()
    }

    pub(crate) fn post(&self, event: entry::Event) {
        self.mailbox.post(EntryItem::Event(event));
    }
}

/// What a declaration offers, for the supervisor.
pub(crate) fn offer(declaration: &Declaration) -> supervisor::Offer {
    supervisor::Offer {
        provides: declaration.provides.clone(),
        uses: declaration.uses.clone(),
    }
}

/// What an instance's actor finds in its mailbox.
#[derive(Debug, Clone)]
pub(crate) enum LaunchItem {
    /// Something happened: the machine is asked.
    Event(launch::Event),
    /// The machine said what to do.
    Effect(launch::Effect),
}

/// A launch: the owner of its process together with the keeper, whatever becomes of its actor (SUP-35).
#[derive(Debug)]
pub(crate) struct LaunchCell {
    pub(crate) tag: LaunchTag,
    /// As it was when the launch began; the entry's may be newer.
    pub(crate) declaration: Arc<Declaration>,
    pub(crate) mailbox: Mailbox<LaunchItem>,
    pub(crate) machine: Mutex<Launch>,
    pub(crate) process: OnceLock<PluginProcess>,
    /// Whether the launch is on disk; locked while it is being written. An end is only written of a launch that was (SUP-13: the log
    /// of launches must never be behind what else is stored).
    pub(crate) recorded: Arc<tokio::sync::Mutex<bool>>,
    pub(crate) exits: Mutex<Exits>,
    /// Something that [`Exits`] waits for was posted.
    pub(crate) judged: tokio::sync::Notify,
    pub(crate) entry: Arc<EntryCell>,
    pub(crate) actor_starts: AtomicU64,
}

impl LaunchCell {
    pub(crate) fn post(&self, event: launch::Event) {
        self.mailbox.post(LaunchItem::Event(event));
    }

    pub(crate) fn ended(&self) -> bool {
        lock(&self.machine).phase() == launch::Phase::Ended
    }
}
