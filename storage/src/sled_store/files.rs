//! Opening the database's directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::SledStore;
use crate::error::StoreError;
use crate::system;

/// Name of sled's own data file.
const DATA_FILE: &str = "db";

/// Why the database did not open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenFailure {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Contents(sled::Error),
    #[error(transparent)]
    Row(StoreError),
}

impl From<sled::Error> for OpenFailure {
    /// Tells what the operating system refused from what the contents are to blame for: sled makes both an IO error.
    fn from(error: sled::Error) -> Self {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match error {
            sled::Error::Io(error)
                if matches!(
                    error.kind(),
                    PermissionDenied | ReadOnlyFilesystem | StorageFull | QuotaExceeded
                ) =>
            {
                Self::Io(error)
            }
            error => Self::Contents(error),
        }
    }
}

/// A snapshot that a crash cut off is read as the snapshot and blocks the opening. It holds nothing that the log of the database does not.
fn remove_half_written_snapshots(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Opens or creates the database; `cache` in bytes. May panic or take for ever on a damaged one: see [`crate::open`] for the guard around it.
pub(crate) fn open(directory: &Path, cache: u64) -> Result<SledStore, OpenFailure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    remove_half_written_snapshots(directory)?;
    // No flushing in the background: every group is flushed and synced before it is answered.
    let database = sled::Config::new()
        .path(directory)
        .cache_capacity(cache)
        .flush_every_ms(None)
        .open()?;
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(directory.join(DATA_FILE))?;
    file.sync_all()?;
    system::sync_directory(directory)?;
    SledStore::from_parts(database, file).map_err(OpenFailure::Row)
}
