//! What can go wrong, one enum a boundary.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use treewarden_model::name::EntryName;

use crate::launch::LaunchRecordKey;

/// Why a data directory could not be opened. Nothing in it was changed, unless `Io` says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds it (SUP-19).
    #[error("{} is in use by another node{}", path.display(), holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Process id that the holder wrote down; `None` if it has not yet.
        holder: Option<u32>,
    },
    /// A newer version wrote it (SUP-19).
    #[error("{} has format {found}, written by a newer version; this version reads up to format {known}", path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format, as far as it could be read.
        found: String,
        /// Newest format that this version reads.
        known: u32,
    },
    /// It is damaged (SUP-19).
    #[error("{} is corrupt: {what}; it was left as it is; this version can not repair it: put back a copy made while the node was stopped, or move it away and start afresh", path.display())]
    Corrupt {
        /// The damaged file or directory.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// Locks and syncs do not mean there what they mean here.
    #[error("{} is on a {kind} file system, which keeps neither locks nor syncs; use a local disk", path.display())]
    UnsupportedFileSystem {
        /// The directory.
        path: PathBuf,
        /// Kind of the file system.
        kind: &'static str,
    },
    /// The database did not open in time.
    #[error("the database in {} did not open within {} seconds", path.display(), limit.as_secs())]
    TimedOut {
        /// The database.
        path: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// The operating system refused.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn corrupt(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.into(),
            what: what.into(),
        }
    }
}

/// A stored row that cannot be read. What depends on it stands still; the rest goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("row {key} cannot be read: {problem}")]
pub struct DamagedRow {
    /// Which row: its kind and its key.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Why the store did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Too little free space for what makes more (`storage_low`, SUP-38). Ends and stops are still recorded.
    #[error("only {free} bytes are free in the data directory; {floor} are kept in reserve")]
    Low {
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        floor: u64,
    },
    /// A write or sync failed earlier; the store is closed until the node starts again (`store_failed`, SUP-38).
    #[error("the store is closed after a failure: {reason}")]
    Failed {
        /// The first failure.
        reason: Arc<str>,
    },
    /// The store was closed on purpose.
    #[error("the store is closed")]
    Closed,
    /// A launch number that is not greater than the entry's last recorded one (SUP-13).
    #[error("{0} is not newer than the last recorded launch")]
    StaleLaunch(LaunchRecordKey),
    /// All numbers of a counter are used.
    #[error("there is no launch number left for {0}")]
    Exhausted(EntryName),
    /// Another token has this id or hash.
    #[error("another token has this id or hash")]
    TokenExists,
    /// More than a row may hold.
    #[error("{what} is larger than {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit, in bytes or items.
        limit: usize,
    },
    /// A row that the answer depends on cannot be read.
    #[error(transparent)]
    Damaged(#[from] DamagedRow),
}
