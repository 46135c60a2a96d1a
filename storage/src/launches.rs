//! `launches.log`: append-only, the truth about numbers that are never given twice, and about launches that have not ended.

use std::sync::{Arc, Mutex, PoisonError};

use treewarden_model::id::{LaunchNumber, LaunchOrdinal};
use treewarden_model::name::EntryName;

use crate::error::StoreError;

mod appender;
mod compaction;
mod file;
mod frame;
mod row;
mod state;

pub(crate) use appender::{Appender, AppenderSender};
pub(crate) use compaction::{remove_leftover, rewrite};
pub(crate) use file::{LogFile, ReadLog, read};
pub(crate) use state::LogState;

/// Name of the log in the data directory.
pub(crate) const FILE_NAME: &str = "launches.log";

/// The counters that numbers are given from, in memory. Giving costs no write: a number becomes durable with its launch's record, before the process may run,
/// and one that was given but never recorded named nothing.
#[derive(Debug, Clone)]
pub(crate) struct Numbers(Arc<Mutex<state::Counters>>);

impl Numbers {
    pub(crate) fn new(counters: state::Counters) -> Self {
        Self(Arc::new(Mutex::new(counters)))
    }

    /// The next launch number of `entry` and the next ordinal of the node (SUP-13).
    pub(crate) fn next(
        &self,
        entry: &EntryName,
    ) -> Result<(LaunchNumber, LaunchOrdinal), StoreError> {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters
            .next(entry)
            .ok_or_else(|| StoreError::Exhausted(entry.clone()))
    }

    /// A copy, for compaction.
    pub(crate) fn counters(&self) -> state::Counters {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
