//! Whether log and database belong together, and what the counters then are.

use std::path::Path;

use treewarden_model::id::LaunchNumber;
use treewarden_model::name::EntryName;
use treewarden_model::outcome::Outcome;

use super::format::{Format, Progress};
use crate::error::{OpenError, StoreError};
use crate::handle::all_pages;
use crate::identity::{CounterJump, GroupNumber};
use crate::launch::LaunchRecordKey;
use crate::launches::{self, LogFile, LogState, ReadLog};
use crate::options::{COUNTER_JUMP, GROUP_COMMANDS_MAX, LOG_COMPACTION};
use crate::sled_store::SledStore;
use crate::store::{Command, Store, StoredNumbers};

/// What the database knows.
#[derive(Debug)]
pub(super) struct Stored {
    empty: bool,
    group: GroupNumber,
    numbers: Option<StoredNumbers>,
    last_launches: Vec<(EntryName, LaunchNumber)>,
    /// Launches with a confirmed end, among the last of each entry.
    confirmed: Vec<LaunchRecordKey>,
}

impl Stored {
    pub(super) fn read(database: &SledStore, path: &Path) -> Result<Self, OpenError> {
        let read = || -> Result<Self, StoreError> {
            let last_launches = all_pages(|page| database.last_launches(page))?;
            let mut confirmed = Vec::new();
            for (entry, _) in &last_launches {
                // A damaged row leaves its launches open: they are looked after once more, which finds nothing.
                let Ok(stops) = database.stops_of(entry) else {
                    continue;
                };
                confirmed.extend(
                    stops
                        .into_iter()
                        .filter(|stop| {
                            stop.result.ending.outcome != Outcome::TerminationUnconfirmed
                        })
                        .map(|stop| LaunchRecordKey {
                            entry: entry.clone(),
                            launch: stop.result.launch,
                        }),
                );
            }
            Ok(Self {
                empty: database.is_empty(),
                group: database.group()?,
                numbers: database.numbers()?,
                last_launches,
                confirmed,
            })
        };
        read().map_err(|error| OpenError::corrupt(path, error.to_string()))
    }
}

/// Refuses a database that lost something, or that is another node's (SUP-19).
pub(super) fn fits(
    path: &Path,
    format: Format,
    log: Option<&ReadLog>,
    stored: &Stored,
) -> Result<(), OpenError> {
    let used = format.progress == Progress::Ready;
    if used && stored.empty {
        return Err(OpenError::corrupt(
            path,
            "it opens empty, and the directory was used",
        ));
    }
    if used && stored.numbers.is_none() {
        return Err(OpenError::corrupt(path, "it does not say whose it is"));
    }
    if let Some(numbers) = stored.numbers.filter(|numbers| numbers.node != format.node) {
        return Err(OpenError::corrupt(
            path,
            format!(
                "it belongs to node {}, the directory to {}",
                numbers.node, format.node
            ),
        ));
    }
    let witness = log.map(|log| log.state.witness).unwrap_or_default();
    if stored.group < witness {
        return Err(OpenError::corrupt(
            path,
            format!(
                "it ends with group {}, but group {witness} was synced",
                stored.group
            ),
        ));
    }
    Ok(())
}

/// How the log goes on.
#[derive(Debug, Clone, Copy)]
enum Append {
    /// After its last frame.
    After { size: u64, sequence: u64 },
    /// As a new file.
    Anew,
}

#[derive(Debug)]
pub(super) struct Compared {
    pub(super) state: LogState,
    pub(super) jump: Option<CounterJump>,
    append: Append,
    /// Launches that the log has as open and the database as ended.
    ended: Vec<LaunchRecordKey>,
}

/// Compares, and raises the counters where the log can't be trusted to hold the newest number (SUP-13).
pub(super) fn compare(
    directory: &Path,
    format: Format,
    log: Option<ReadLog>,
    stored: Stored,
) -> Result<Compared, OpenError> {
    fits(
        &directory.join(super::DATABASE),
        format,
        log.as_ref(),
        &stored,
    )?;
    let missing = log.is_none();
    let (mut state, torn, append) = match log {
        Some(log) if log.state.node != format.node => {
            let what = format!(
                "it belongs to node {}, the directory to {}",
                log.state.node, format.node
            );
            return Err(OpenError::corrupt(
                directory.join(launches::FILE_NAME),
                what,
            ));
        }
        Some(log) => {
            let torn = log.torn;
            (
                log.state,
                torn,
                Append::After {
                    size: log.whole,
                    sequence: log.sequence,
                },
            )
        }
        None => {
            let state = stored.numbers.map_or_else(
                || LogState::new(format.node),
                |numbers| LogState::from_stored(&numbers, stored.group),
            );
            (state, false, Append::Anew)
        }
    };
    let mut behind = false;
    if let Some(numbers) = stored.numbers {
        behind |= numbers.session > state.session
            || numbers.ordinal > state.counters.ordinal
            || numbers.launch_base > state.counters.launch_base;
        state.session = state.session.max(numbers.session);
        state.counters.ordinal = state.counters.ordinal.max(numbers.ordinal);
        state.counters.launch_base = state.counters.launch_base.max(numbers.launch_base);
    }
    for (entry, launch) in &stored.last_launches {
        behind |= state.counters.raise(entry, *launch);
    }
    // Ends that are on disk but whose mention in the log was not synced.
    let ended: Vec<_> = stored
        .confirmed
        .into_iter()
        .filter(|key| state.open.remove(key).is_some())
        .collect();
    let jump = match (
        missing && format.progress == Progress::Ready,
        behind && !missing,
        torn,
    ) {
        (true, ..) => Some((CounterJump::LogMissing, COUNTER_JUMP)),
        (_, true, _) => Some((CounterJump::LogBehind, COUNTER_JUMP)),
        // What was cut off is one group at most, so its numbers are behind by no more than that.
        (.., true) => Some((
            CounterJump::TornTail,
            u64::try_from(GROUP_COMMANDS_MAX).unwrap_or(u64::MAX),
        )),
        _ => None,
    };
    if let Some((_, by)) = jump {
        state.counters.jump(by);
        state.session.0 = state.session.0.saturating_add(by);
    }
    state.witness = stored.group;
    let append = if jump.is_some() { Append::Anew } else { append };
    Ok(Compared {
        state,
        jump: jump.map(|(jump, _)| jump),
        append,
        ended,
    })
}

/// Makes the session's number durable in the log and hands out its file.
pub(super) fn begin_log(directory: &Path, compared: &Compared) -> Result<LogFile, OpenError> {
    let path = directory.join(launches::FILE_NAME);
    match compared.append {
        Append::After { size, sequence } if size < LOG_COMPACTION => {
            LogFile::resume(directory, size, sequence, &compared.state, &compared.ended)
                .map_err(OpenError::io("write", path))
        }
        _ => launches::rewrite(directory, &compared.state).map_err(|error| OpenError::Io {
            action: "write",
            path,
            source: std::io::Error::other(error),
        }),
    }
}

/// Makes the database remember the counters.
pub(super) fn begin_session(
    database: &SledStore,
    path: &Path,
    state: &LogState,
) -> Result<(), OpenError> {
    let numbers = StoredNumbers {
        node: state.node,
        session: state.session,
        ordinal: state.counters.ordinal,
        launch_base: state.counters.launch_base,
    };
    let failed = |error: StoreError| OpenError::Io {
        action: "write",
        path: path.to_owned(),
        source: std::io::Error::other(error),
    };
    let committed = database
        .commit(&[Command::BeginSession(numbers)])
        .map_err(failed)?;
    committed
        .replies
        .into_iter()
        .try_for_each(|reply| reply.map(drop))
        .map_err(failed)
}
