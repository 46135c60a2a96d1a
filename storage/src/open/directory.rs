//! The directory itself: making it, and holding it alone.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::OpenError;
use crate::{launches, system};

const LOCK: &str = "lock";
const WORK: &str = "work";

/// Others may pass through to `work/`, where plugins of other users have their directories, and read nothing (SUP-30).
const MODE: u32 = 0o711;

/// Creates the directory if need be, and refuses file systems that keep neither locks nor syncs.
pub(super) fn prepare(directory: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => tighten(directory, &found)?,
        Ok(_) => {
            return Err(OpenError::io("use", directory)(io::Error::from(
                io::ErrorKind::NotADirectory,
            )));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(directory)?,
        Err(error) => return Err(OpenError::io("look at", directory)(error)),
    }
    match system::refused_file_system(directory).map_err(OpenError::io("look at", directory))? {
        Some(kind) => Err(OpenError::UnsupportedFileSystem {
            path: directory.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

/// Whoever may write into the directory may put a token or a database of their own there: one of ours is closed, a stranger's refused.
fn tighten(directory: &Path, found: &std::fs::Metadata) -> Result<(), OpenError> {
    const OTHERS_WRITE: u32 = 0o022;
    if found.permissions().mode() & OTHERS_WRITE == 0 {
        return Ok(());
    }
    std::fs::set_permissions(directory, Permissions::from_mode(MODE)).map_err(OpenError::io(
        "take other users' right to write from",
        directory,
    ))?;
    tracing::warn!(directory = %directory.display(), "The data directory could be written by other users; it was closed to them");
    Ok(())
}

fn create(directory: &Path) -> Result<(), OpenError> {
    let failed = || OpenError::io("create", directory);
    if let Some(parent) = directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent).map_err(failed())?;
    }
    DirBuilder::new()
        .mode(MODE)
        .create(directory)
        .map_err(failed())?;
    // The mode of a new directory is cut by the umask.
    std::fs::set_permissions(directory, Permissions::from_mode(MODE)).map_err(failed())
}

/// Refuses a directory that has no format but a log or a database: something took the format away, or it is not ours.
pub(super) fn refuse_traces(directory: &Path) -> Result<(), OpenError> {
    for name in [launches::FILE_NAME, super::DATABASE] {
        if directory.join(name).exists() {
            return Err(OpenError::corrupt(
                directory,
                format!("it has \"{name}\" but no \"{}\"", super::format::FILE_NAME),
            ));
        }
    }
    Ok(())
}

/// Creates the directory of the plugins' working directories.
pub(super) fn create_work(directory: &Path) -> Result<(), OpenError> {
    let work = directory.join(WORK);
    DirBuilder::new()
        .recursive(true)
        .mode(MODE)
        .create(&work)
        .map_err(OpenError::io("create", &work))?;
    std::fs::set_permissions(&work, Permissions::from_mode(MODE))
        .map_err(OpenError::io("create", &work))
}

/// The directory's lock. Close-on-exec, so no plugin inherits it; the kernel frees it when the process is gone.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock or says who has it, at once (SUP-19).
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK);
        // std opens everything close-on-exec.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(OpenError::io("open", &path))?;
        match system::lock(&file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(OpenError::Locked {
                    path: directory.to_owned(),
                    holder: holder(&mut file),
                });
            }
            Err(error) => return Err(OpenError::io("lock", &path)(error)),
        }
        if let Err(error) = write_holder(&mut file) {
            // For people only; a full disk must not keep a node from starting.
            tracing::warn!(error = %error, "The process id could not be written to the lock");
        }
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
