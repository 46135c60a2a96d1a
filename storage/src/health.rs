//! Whether the store still takes durable work (SUP-38).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;
use crate::system;

/// State of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreHealth {
    /// All is taken.
    Open,
    /// Free space is under the floor: launches and new rows are refused.
    Low,
    /// A write or sync failed: everything durable is refused until the node starts again.
    Failed(Arc<str>),
}

/// What the store did since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStatistics {
    /// Groups synced.
    pub groups: u64,
    /// Commands in them.
    pub commands: u64,
    /// Launches recorded.
    pub launches: u64,
    /// Syncs of `launches.log`.
    pub log_syncs: u64,
    /// Compactions of `launches.log`.
    pub log_compactions: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) groups: AtomicU64,
    pub(crate) commands: AtomicU64,
    pub(crate) launches: AtomicU64,
    pub(crate) log_syncs: AtomicU64,
    pub(crate) log_compactions: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Shared by the handle and both writer threads.
#[derive(Debug)]
pub(crate) struct Health {
    directory: PathBuf,
    floor: u64,
    failure: OnceLock<Arc<str>>,
    pub(crate) counters: Counters,
}

impl Health {
    pub(crate) fn new(directory: &Path, floor: u64) -> Self {
        Self {
            directory: directory.to_owned(),
            floor,
            failure: OnceLock::new(),
            counters: Counters::default(),
        }
    }

    /// Closes the store for this process. The first reason stays; a second failure is only its consequence.
    pub(crate) fn fail(&self, reason: &str) -> StoreError {
        let first = self.failure.get_or_init(|| {
            tracing::error!(
                error = reason,
                "The store failed and takes no more durable work until the node is started again"
            );
            reason.into()
        });
        StoreError::Failed {
            reason: first.clone(),
        }
    }

    /// Answers with the failure, if there was one.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            Some(reason) => Err(StoreError::Failed {
                reason: reason.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Looks at the free space, which costs a microsecond. A directory that cannot be asked counts as full enough to refuse.
    pub(crate) fn check_space(&self) -> Result<(), StoreError> {
        let free = system::free_space(&self.directory).unwrap_or(0);
        if free < self.floor {
            Err(StoreError::Low {
                free,
                floor: self.floor,
            })
        } else {
            Ok(())
        }
    }

    pub(crate) fn state(&self) -> StoreHealth {
        if let Some(reason) = self.failure.get() {
            return StoreHealth::Failed(reason.clone());
        }
        if self.check_space().is_err() {
            StoreHealth::Low
        } else {
            StoreHealth::Open
        }
    }

    pub(crate) fn statistics(&self) -> StoreStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreStatistics {
            groups: read(&self.counters.groups),
            commands: read(&self.counters.commands),
            launches: read(&self.counters.launches),
            log_syncs: read(&self.counters.log_syncs),
            log_compactions: read(&self.counters.log_compactions),
        }
    }
}
