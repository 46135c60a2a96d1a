//! Opening a data directory: lock, format, log, database, and whether they fit together.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, RwLock};

use treewarden_model::id::{NodeId, SessionNumber};
use uuid::Uuid;

use crate::error::{DamagedRow, OpenError};
use crate::handle::StoreHandle;
use crate::health::Health;
use crate::identity::{CounterJump, Identity};
use crate::launch::LaunchRecord;
use crate::launches::{self, Appender, Numbers};
use crate::options::OpenOptions;
use crate::store::{PageRequest, Store};
use crate::writer::Writer;

mod compare;
mod database;
mod directory;
mod format;

pub(crate) use directory::DirectoryLock;

use format::{Format, Progress};

/// Newest format of a data directory that this version reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// Name of the database's directory.
const DATABASE: &str = "db";

/// An opened data directory.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: StoreHandle,
    /// Whose directory it is, and the number of this start.
    pub identity: Identity,
    /// Launches whose end is not recorded, in the order of entries: their processes may still run and are dealt with first (SUP-17).
    pub open_launches: Vec<LaunchRecord>,
    /// Whether the directory is new.
    pub first_start: bool,
    /// Whether all counters were raised, and why (SUP-13). After [`CounterJump::LogMissing`], `open_launches` is empty for want of knowledge.
    pub counters_raised: Option<CounterJump>,
    /// Rows that could not be read, among the first of each kind.
    pub damaged: Vec<DamagedRow>,
}

/// Opens a data directory, creating it on first start. Blocks: meant to be called before, or outside of, async code.
///
/// In this order: create and lock the directory (SUP-19), read the format, read `launches.log`, open the database (on a thread of its own that may panic or take too
/// long), compare the two, raise counters if the log can't be trusted (SUP-13), write the new session number, start both writer threads.
/// Until all have been compared nothing is changed but what a first start creates. A crash in between is finished, or found again, by the next opening.
///
/// # Errors
/// See [`OpenError`]: all but `Io` leave the directory as it was.
pub fn open(directory: &Path, options: OpenOptions) -> Result<Opened, OpenError> {
    directory::prepare(directory)?;
    let lock = DirectoryLock::take(directory)?;
    let format = format::read(directory)?;
    let first_start = format.is_none_or(|format| format.progress == Progress::Creating);
    if format.is_none() {
        directory::refuse_traces(directory)?;
        format::write(
            directory,
            Format {
                node: NodeId(new_uuid()?),
                progress: Progress::Creating,
            },
        )?;
    }
    let format = match format {
        Some(format) => format,
        None => format::read(directory)?
            .ok_or_else(|| OpenError::corrupt(directory.join(format::FILE_NAME), "it vanished"))?,
    };

    let log = launches::read(directory)?;
    let database_path = directory.join(DATABASE);
    let database = database::open(&database_path, &options, log.as_ref(), format)?;
    let stored = compare::Stored::read(&database, &database_path)?;
    let mut compared = compare::compare(directory, format, log, stored)?;

    // From here on the directory is changed.
    compared.state.session = SessionNumber(compared.state.session.0.saturating_add(1));
    launches::remove_leftover(directory).map_err(OpenError::io("clean", directory))?;
    let file = compare::begin_log(directory, &compared)?;
    let state = compared.state;
    compare::begin_session(&database, &database_path, &state)?;
    if format.progress == Progress::Creating {
        directory::create_work(directory)?;
        format::write(
            directory,
            Format {
                progress: Progress::Ready,
                ..format
            },
        )?;
    }
    if let Some(jump) = compared.jump {
        tracing::warn!(reason = %jump, "All counters were raised, so that no number is given twice");
    }

    let identity = Identity {
        node: state.node,
        session: state.session,
    };
    let open_launches = state.open.values().cloned().collect();
    let damaged = database
        .walk(&PageRequest::first())
        .map_err(|error| OpenError::corrupt(&database_path, error.to_string()))?
        .damaged;
    for row in &damaged {
        tracing::error!(error = %row, "A row of the database is damaged");
    }

    let health = Arc::new(Health::new(directory, options.storage_floor));
    let numbers = Numbers::new(state.counters.clone());
    let backend: crate::writer::Backend = Arc::new(RwLock::new(Some(Arc::new(database))));
    let (appender, log) = Appender::new(
        directory.to_owned(),
        file,
        state,
        numbers.clone(),
        health.clone(),
    );
    let (writer, commands) = Writer::new(backend.clone(), log.clone(), health.clone(), lock);
    spawn(directory, "treewarden-log", health.clone(), move || {
        appender.run()
    })?;
    spawn(directory, "treewarden-store", health.clone(), move || {
        writer.run()
    })?;
    let store = StoreHandle::new(backend, commands, log, numbers, health);
    Ok(Opened {
        store,
        identity,
        open_launches,
        first_start,
        counters_raised: compared.jump,
        damaged,
    })
}

/// Starts a writer thread. One that panics closes the store: nothing durable is left to be done then.
fn spawn(
    directory: &Path,
    name: &'static str,
    health: Arc<Health>,
    run: impl FnOnce() + Send + 'static,
) -> Result<(), OpenError> {
    let guarded = move || {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            drop(health.fail(&format!("the thread {name} panicked")));
        }
    };
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(guarded);
    thread
        .map(drop)
        .map_err(OpenError::io("start a thread for", directory))
}

/// A random id, from the kernel.
fn new_uuid() -> Result<Uuid, OpenError> {
    use std::io::Read;
    let mut bytes = [0; 16];
    let path = "/dev/urandom";
    std::fs::File::open(path)
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(OpenError::io("read", path))?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}
