//! `keeper.lock`: held as long as a keeper of this data directory lives.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::identity::ProcessIdentity;
use crate::system::clock::Moment;

const FILE_NAME: &str = "keeper.lock";
const PROBE_INTERVAL: Duration = Duration::from_millis(10);

/// Whether a keeper of a data directory lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperState {
    /// None holds the lock: an earlier keeper has ended and, unless it was killed, its families have too.
    Ended,
    /// One holds it.
    Living {
        /// Who says so of itself, for people to read; not to be signalled.
        holder: Option<ProcessIdentity>,
    },
}

/// Looks whether a keeper of this data directory lives; does not wait. The caller holds the directory's own lock, so
/// that no other node starts a keeper meanwhile.
///
/// # Errors
///
/// The lock file cannot be opened.
pub fn probe_keeper(data_dir: &Path) -> io::Result<KeeperState> {
    let path = data_dir.join(FILE_NAME);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeeperState::Ended),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(KeeperState::Ended),
        Err(Errno::WOULDBLOCK) => Ok(KeeperState::Living {
            holder: read_holder(&path),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Waits until no keeper lives, at most `patience`, and says how it stands then. Blocks the calling thread.
///
/// # Errors
///
/// As [`probe_keeper`].
pub fn wait_for_keeper(data_dir: &Path, patience: Duration) -> io::Result<KeeperState> {
    let end = Moment::now().after(patience);
    loop {
        let state = probe_keeper(data_dir)?;
        let left = end.until(Moment::now());
        if state == KeeperState::Ended || left.is_zero() {
            return Ok(state);
        }
        std::thread::sleep(left.min(PROBE_INTERVAL));
    }
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    #[error("another keeper still holds keeper.lock: {}", describe(*.0))]
    Held(Option<ProcessIdentity>),
    #[error("could not take keeper.lock: {0}")]
    Io(#[from] io::Error),
}

fn describe(holder: Option<ProcessIdentity>) -> String {
    holder.map_or_else(
        || "it does not say who it is".to_owned(),
        |holder| format!("process {}", holder.pid),
    )
}

/// Takes the lock for as long as the returned file stays open, and writes into it whose it is.
pub(crate) fn take_lock(data_dir: &Path, own: ProcessIdentity) -> Result<File, LockError> {
    let path = data_dir.join(FILE_NAME);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(LockError::Held(read_holder(&path))),
        Err(error) => return Err(LockError::Io(error.into())),
    }
    // For people only; a full disk must not keep the node from supervising.
    if let Ok(text) = serde_json::to_vec(&own) {
        file.set_len(0).and_then(|()| file.write_all(&text)).ok();
    }
    Ok(file)
}

fn read_holder(path: &Path) -> Option<ProcessIdentity> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ProcessId;
    use crate::system::process;

    /// SUP-35
    #[test]
    fn lock_tells_whether_a_keeper_lives() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(probe_keeper(folder.path()).unwrap(), KeeperState::Ended);
        let own = process::identity(ProcessId::current()).unwrap();
        let lock = take_lock(folder.path(), own).unwrap();
        assert_eq!(
            probe_keeper(folder.path()).unwrap(),
            KeeperState::Living { holder: Some(own) }
        );
        assert!(
            matches!(take_lock(folder.path(), own), Err(LockError::Held(Some(holder))) if holder == own)
        );
        drop(lock);
        assert_eq!(
            wait_for_keeper(folder.path(), Duration::ZERO).unwrap(),
            KeeperState::Ended
        );
    }
}
