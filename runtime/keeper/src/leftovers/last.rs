//! `keeper.last`: what a keeper that lost its node leaves behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::identity::ProcessIdentity;
use crate::mark::{LaunchText, Ordinal};
use crate::outcome::{Evidence, ExitStatus};

const FILE_NAME: &str = "keeper.last";
const TEMPORARY_NAME: &str = "keeper.last.new";
const VERSION: u32 = 1;

/// The last words of a keeper whose node was gone: written whole or not at all, and only once all its families are gone.
/// They stay until the next keeper leaves its own; launch texts tell whose they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperLast {
    /// The version of this form.
    version: u32,
    /// The boot in which this was written.
    pub boot_id: String,
    /// The keeper.
    pub keeper: ProcessIdentity,
    /// Every launch whose end the node may not have heard of.
    pub launches: Vec<LastLaunch>,
}

/// How one launch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastLaunch {
    /// The launch's ordinal.
    pub ordinal: Ordinal,
    /// The launch's text.
    pub launch_text: LaunchText,
    /// Its leader.
    pub leader: ProcessIdentity,
    /// The leader's exit status, if it was reaped.
    pub exit_status: Option<ExitStatus>,
    /// Whether SIGKILL ended a member of its family.
    pub killed: bool,
    /// What shows that its family is gone.
    pub evidence: Option<Evidence>,
    /// Whether the kernel ended a member of its family for want of memory.
    #[serde(default)]
    pub out_of_memory: bool,
}

impl KeeperLast {
    pub(crate) fn new(boot_id: String, keeper: ProcessIdentity, launches: Vec<LastLaunch>) -> Self {
        Self {
            version: VERSION,
            boot_id,
            keeper,
            launches,
        }
    }

    /// The launch with this text.
    #[must_use]
    pub fn launch(&self, text: &LaunchText) -> Option<&LastLaunch> {
        self.launches
            .iter()
            .find(|launch| launch.launch_text == *text)
    }
}

/// Why `keeper.last` could not be read. Exit statuses are then unknown; nothing else depends on the file.
#[derive(Debug, thiserror::Error)]
pub enum LastError {
    /// The file is there and cannot be read.
    #[error("could not read keeper.last: {0}")]
    Unreadable(#[from] io::Error),
    /// The file is not what a keeper writes.
    #[error("keeper.last is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// A keeper of another version wrote it.
    #[error("keeper.last has version {found}, this program reads {VERSION}")]
    OtherVersion {
        /// The version found.
        found: u32,
    },
}

/// Reads `keeper.last`; `None` if no keeper of this data directory ever lost its node.
///
/// # Errors
///
/// [`LastError`]; a damaged file never panics and is left as it is.
pub fn read_last(data_dir: &Path) -> Result<Option<KeeperLast>, LastError> {
    let bytes = match fs::read(data_dir.join(FILE_NAME)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let last: KeeperLast = serde_json::from_slice(&bytes)?;
    if last.version == VERSION {
        Ok(Some(last))
    } else {
        Err(LastError::OtherVersion {
            found: last.version,
        })
    }
}

/// Writes `keeper.last`: a crash leaves the former file or the new one, never a part.
pub(crate) fn write_last(data_dir: &Path, last: &KeeperLast) -> io::Result<()> {
    let temporary = data_dir.join(TEMPORARY_NAME);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(last)?)?;
    file.sync_all()?;
    fs::rename(&temporary, data_dir.join(FILE_NAME))?;
    File::open(data_dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{ProcessId, StartTime};

    fn sample() -> KeeperLast {
        let identity = ProcessIdentity {
            pid: ProcessId::current(),
            start_time: StartTime(5),
        };
        let launch = LastLaunch {
            ordinal: Ordinal::new(1),
            launch_text: LaunchText("n/e/1".into()),
            leader: identity,
            exit_status: Some(ExitStatus::Signal {
                signal: 9,
                core: false,
            }),
            killed: true,
            evidence: Some(Evidence::Tree),
            out_of_memory: false,
        };
        KeeperLast::new("boot".into(), identity, vec![launch])
    }

    /// SUP-37
    #[test]
    fn last_words_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_last(folder.path()).unwrap(), None);
        write_last(folder.path(), &sample()).unwrap();
        assert_eq!(read_last(folder.path()).unwrap(), Some(sample()));
        assert!(!folder.path().join(TEMPORARY_NAME).exists());
    }

    /// SUP-37: an unknown status is said to be unknown, whatever the file holds.
    #[test]
    fn damaged_last_words_are_an_error_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        write_last(folder.path(), &sample()).unwrap();
        let path = folder.path().join(FILE_NAME);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(
                matches!(read_last(folder.path()), Err(LastError::Damaged(_))),
                "cut at {length}"
            );
            assert_eq!(fs::read(&path).unwrap().len(), length);
        }
        let other = String::from_utf8(whole)
            .unwrap()
            .replace("\"version\": 1", "\"version\": 2");
        fs::write(&path, other).unwrap();
        assert!(matches!(
            read_last(folder.path()),
            Err(LastError::OtherVersion { found: 2 })
        ));
    }
}
