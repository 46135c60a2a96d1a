//! Opening the database's directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use super::{Database, SledStore};
use crate::error::StoreError;
use crate::system;

/// Name of sled's own data file.
const DATA_FILE: &str = "db";

/// How long another holder of sled's own lock is waited for. We hold the directory's lock, so it is a database on its way out: sled's background threads keep the
/// file open for some milliseconds after it is dropped, and a killed process frees its descriptors one after another.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);
const RELEASE_POLL: Duration = Duration::from_millis(1);

/// A handle of our own on sled's data file.
#[derive(Debug)]
pub(super) struct DataFile(File);

impl DataFile {
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        system::sync_data(&self.0)
    }
}

impl Drop for DataFile {
    /// Waits until sled has let go of the file, so that a closed database can be opened again. Dropped after the database.
    fn drop(&mut self) {
        let begin = system::monotonic();
        while system::lock(&self.0).is_err() {
            if system::monotonic().saturating_sub(begin) >= RELEASE_LIMIT {
                tracing::warn!("The database is closed, but its file is still held");
                return;
            }
            std::thread::sleep(RELEASE_POLL);
        }
    }
}

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
            sled::Error::Io(error) if is_held(&error) => Self::Io(error),
            error => Self::Contents(error),
        }
    }
}

/// Whether somebody else holds sled's own lock. sled says so in words only.
fn is_held(error: &io::Error) -> bool {
    error.to_string().starts_with("could not acquire lock")
}

/// Opens, and waits a while for a holder that is on its way out.
fn open_when_released(configuration: &sled::Config) -> sled::Result<Database> {
    let begin = system::monotonic();
    loop {
        match configuration.open() {
            Err(sled::Error::Io(error))
                if is_held(&error) && system::monotonic().saturating_sub(begin) < RELEASE_LIMIT =>
            {
                std::thread::sleep(RELEASE_POLL);
            }
            opened => return opened,
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

/// Opens or creates the database; `cache` in bytes. May panic or take for ever on a damaged one: see [`crate::open()`] for the guard around it.
pub(crate) fn open(directory: &Path, cache: u64) -> Result<SledStore, OpenFailure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    remove_half_written_snapshots(directory)?;
    // No flushing in the background: every group is flushed and synced before it is answered.
    let configuration = sled::Config::new()
        .path(directory)
        .cache_capacity(cache)
        .flush_every_ms(None);
    let database = open_when_released(&configuration)?;
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(directory.join(DATA_FILE))?;
    file.sync_all()?;
    system::sync_directory(directory)?;
    SledStore::from_parts(database, DataFile::new(file)).map_err(OpenFailure::Row)
}
