//! Opening the database where it can do no harm: sled may panic or never return on a damaged file, and changes what it opens.

use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::compare::{self, Stored};
use super::format::{Format, Progress};
use crate::error::OpenError;
use crate::launches::ReadLog;
use crate::options::OpenOptions;
use crate::sled_store::{self, OpenFailure, SledStore};
use crate::system;

const THREAD: &str = "treewarden-open";

/// Databases up to this size, in bytes, are opened as a copy first, so that a damaged one stays as it was (SUP-19). Above it the copy would take longer than the opening.
const TRIAL_MAX: u64 = 64 * 1024 * 1024;

/// Opens the database; one that was used before, after a trial on a copy, where its size and the free space allow.
pub(super) fn open(
    path: &Path,
    options: &OpenOptions,
    log: Option<&ReadLog>,
    format: Format,
) -> Result<SledStore, OpenError> {
    if format.progress == Progress::Ready {
        let size = size(path)?;
        if size == 0 {
            return Err(OpenError::corrupt(
                path,
                "it is empty, and the directory was used",
            ));
        }
        // On a disk that is nearly full the copy would be in the way of what the node is needed for.
        let room = system::free_space(path)
            .is_ok_and(|free| free > options.storage_floor.saturating_add(size.saturating_mul(2)));
        if size <= TRIAL_MAX && room {
            let copy = Trial::copy(path)?;
            let trial = open_guarded(&copy.0, path, options)?;
            compare::fits(path, format, log, &Stored::read(&trial, path)?)?;
        }
    }
    open_guarded(path, path, options)
}

/// Bytes of all files in the database's directory; 0 if there are none.
fn size(path: &Path) -> Result<u64, OpenError> {
    let sum = || -> io::Result<u64> {
        let mut sum = 0;
        for entry in fs::read_dir(path)? {
            let found = entry?.metadata()?;
            if found.is_file() {
                sum += found.len();
            }
        }
        Ok(sum)
    };
    match sum() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        sum => sum.map_err(OpenError::io("look at", path)),
    }
}

/// A copy beside the database, removed when dropped.
struct Trial(PathBuf);

impl Trial {
    fn copy(path: &Path) -> Result<Self, OpenError> {
        let trial = Self(path.with_extension("trial"));
        // What an earlier trial left when it was killed.
        trial.remove().map_err(OpenError::io("remove", &trial.0))?;
        copy_directory(path, &trial.0).map_err(OpenError::io("copy the database to", &trial.0))?;
        Ok(trial)
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(error = %error, "A copy of the database could not be removed");
        }
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Opens on a thread of its own, under a time limit and with its panic caught and not shown. `named` is the path that errors name.
fn open_guarded(path: &Path, named: &Path, options: &OpenOptions) -> Result<SledStore, OpenError> {
    let (sender, receiver) = sync_channel(1);
    let (target, cache) = (path.to_owned(), options.cache);
    let _quiet = QuietPanics::begin();
    std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(move || {
            let opened = catch_unwind(AssertUnwindSafe(|| sled_store::open(&target, cache)));
            // Nobody waits any more after a time-out; the database is then closed again here.
            drop(sender.send(opened));
        })
        .map_err(OpenError::io("start a thread to open", named))?;
    match receiver.recv_timeout(options.open_limit) {
        Ok(Ok(Ok(database))) => Ok(database),
        Ok(Ok(Err(OpenFailure::Io(error)))) => Err(OpenError::io("open", named)(error)),
        Ok(Ok(Err(error))) => Err(OpenError::corrupt(named, error.to_string())),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(OpenError::corrupt(
            named,
            "the database panicked while opening it",
        )),
        Err(RecvTimeoutError::Timeout) => Err(OpenError::TimedOut {
            path: named.to_owned(),
            limit: options.open_limit,
        }),
    }
}

/// While it lives, panics of the opening thread are not printed; those of other threads are.
struct QuietPanics {
    before: Arc<PanicHook>,
    _alone: std::sync::MutexGuard<'static, ()>,
}

type PanicHook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The hook is the process's: two openings at once would restore each other's.
static HOOK: Mutex<()> = Mutex::new(());

impl QuietPanics {
    fn begin() -> Self {
        let alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
        let before: Arc<PanicHook> = Arc::new(panic::take_hook());
        let others = before.clone();
        panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(THREAD) {
                others(panic);
            }
        }));
        Self {
            before,
            _alone: alone,
        }
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        let before = self.before.clone();
        panic::set_hook(Box::new(move |panic| before(panic)));
    }
}
