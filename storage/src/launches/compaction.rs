//! Writing the log anew with the fewest rows: new file, write, sync, rename, sync the directory.
//!
//! A crash before the rename leaves the old log and a leftover that the next opening removes; after it, the new log, which says the same.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::FILE_NAME;
use super::file::LogFile;
use super::state::LogState;
use crate::system;

const NEW_NAME: &str = "launches.log.new";

/// Why the log could not be written anew.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewriteError {
    /// The new file could not be written; the old one is untouched and goes on.
    #[error("could not write {NEW_NAME}: {0}")]
    Write(io::Error),
    /// A sync or the rename failed: which file is there after a power loss is not known.
    #[error("could not put {NEW_NAME} in place: {0}")]
    Place(io::Error),
}

/// Removes what a crash left of a compaction.
pub(crate) fn remove_leftover(directory: &Path) -> io::Result<()> {
    match std::fs::remove_file(directory.join(NEW_NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn create(directory: &Path, bytes: &[u8]) -> io::Result<File> {
    remove_leftover(directory)?;
    let mut file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(directory.join(NEW_NAME))?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Replaces the log by one that amounts to `state`, durably.
pub(crate) fn rewrite(directory: &Path, state: &LogState) -> Result<LogFile, RewriteError> {
    let mut bytes = Vec::new();
    let mut sequence = 0_u64;
    for row in state.rows() {
        sequence += 1;
        row.write(&mut bytes, sequence)
            .map_err(|error| RewriteError::Write(io::Error::other(error)))?;
    }
    let file = create(directory, &bytes).map_err(RewriteError::Write)?;
    let place = || -> io::Result<()> {
        file.sync_all()?;
        std::fs::rename(directory.join(NEW_NAME), directory.join(FILE_NAME))?;
        system::sync_directory(directory)
    };
    place().map_err(RewriteError::Place)?;
    Ok(LogFile::new(
        file,
        u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        sequence,
    ))
}

#[cfg(test)]
mod tests;
