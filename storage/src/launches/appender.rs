//! The log's thread: takes what waits, appends it in one write, syncs once, answers all.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use treewarden_model::id::LaunchNumber;

use super::Numbers;
use super::compaction::{RewriteError, rewrite};
use super::file::LogFile;
use super::row::LogRow;
use super::state::LogState;
use crate::error::StoreError;
use crate::health::{Counters, Health};
use crate::identity::GroupNumber;
use crate::launch::{LaunchRecord, LaunchRecordKey};
use crate::options::{GROUP_COMMANDS_MAX, LOG_COMPACTION, QUEUE_MAX, WITNESS_INTERVAL};
use crate::system;

/// What the log's thread is told.
#[derive(Debug)]
enum Message {
    /// Record a launch, durably, and answer.
    Launch {
        record: Box<LaunchRecord>,
        answer: oneshot::Sender<Result<(), StoreError>>,
        permit: OwnedSemaphorePermit,
    },
    /// A synced group: which it was, and the launches whose confirmed end is in it. Needs no sync of its own: the database has it.
    Synced {
        group: GroupNumber,
        ended: Vec<LaunchRecordKey>,
        /// Somebody waits until the ends are on disk here too.
        answer: Option<Told>,
    },
    /// Write the witness, sync and end.
    Close { answer: Told },
}

/// Where somebody waits, blocking.
type Told = SyncSender<Result<(), StoreError>>;

/// Sends to the log's thread.
#[derive(Debug, Clone)]
pub(crate) struct AppenderSender(SyncSender<Message>);

impl AppenderSender {
    /// Hands over a launch. The permit is one of [`QUEUE_MAX`], so there is room.
    pub(crate) fn launch(
        &self,
        record: LaunchRecord,
        answer: oneshot::Sender<Result<(), StoreError>>,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), StoreError> {
        self.0
            .try_send(Message::Launch {
                record: Box::new(record),
                answer,
                permit,
            })
            .map_err(|_| StoreError::Closed)
    }

    /// Tells of a synced group. Waits for room; the log's thread waits for nobody, so this ends.
    pub(crate) fn synced(
        &self,
        group: GroupNumber,
        ended: Vec<LaunchRecordKey>,
    ) -> Result<(), StoreError> {
        self.0
            .send(Message::Synced {
                group,
                ended,
                answer: None,
            })
            .map_err(|_| StoreError::Closed)
    }

    /// The same, and returns when the ends are on disk in the log: for those that the database does not keep.
    pub(crate) fn synced_durably(
        &self,
        group: GroupNumber,
        ended: Vec<LaunchRecordKey>,
    ) -> Result<(), StoreError> {
        let (answer, synced) = sync_channel(1);
        self.0
            .send(Message::Synced {
                group,
                ended,
                answer: Some(answer),
            })
            .map_err(|_| StoreError::Closed)?;
        synced.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Closes the log and waits until it is closed. An already closed one is fine.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let (answer, closed) = sync_channel(1);
        if self.0.send(Message::Close { answer }).is_err() {
            return Err(StoreError::Closed);
        }
        closed.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// The thread's own state.
pub(crate) struct Appender {
    directory: PathBuf,
    file: LogFile,
    state: LogState,
    numbers: Numbers,
    health: Arc<Health>,
    messages: Receiver<Message>,
    /// Size at which the next compaction is due.
    compact_at: u64,
    /// When the oldest unsynced row was written.
    unsynced_since: Option<Duration>,
    /// Witness that is on disk.
    witnessed: GroupNumber,
}

impl Appender {
    pub(crate) fn new(
        directory: PathBuf,
        file: LogFile,
        state: LogState,
        numbers: Numbers,
        health: Arc<Health>,
    ) -> (Self, AppenderSender) {
        // Launches have permits; the store's thread and a closing handle come on top.
        let (sender, messages) = sync_channel(QUEUE_MAX + 8);
        let compact_at = LOG_COMPACTION.max(file.size().saturating_mul(2));
        let witnessed = state.witness;
        let appender = Self {
            directory,
            file,
            state,
            numbers,
            health,
            messages,
            compact_at,
            unsynced_since: None,
            witnessed,
        };
        (appender, AppenderSender(sender))
    }

    /// Runs until it is told to close, or nobody is left to tell it.
    pub(crate) fn run(mut self) {
        loop {
            let first = match self.unsynced_since {
                None => self
                    .messages
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => {
                    let age = system::monotonic().saturating_sub(since);
                    self.messages
                        .recv_timeout(WITNESS_INTERVAL.saturating_sub(age))
                }
            };
            match first {
                Ok(first) => {
                    if let Some((answer, closed)) = self.group(first) {
                        // Whoever is told may use the directory for something else: nothing of it is open any more.
                        drop(self);
                        drop(answer.send(closed));
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // Nobody is left to hear of a failure; it is in the log, and the next opening notices.
                    drop(self.write_and_sync());
                    return;
                }
            }
            if self
                .unsynced_since
                .is_some_and(|since| system::monotonic().saturating_sub(since) >= WITNESS_INTERVAL)
            {
                drop(self.write_and_sync());
            }
            self.compact_if_due();
        }
    }

    /// Handles what waits; answers whom to tell of the closing, if it was told to close, and what.
    fn group(&mut self, first: Message) -> Option<(Told, Result<(), StoreError>)> {
        let mut waiting = Vec::new();
        let mut told = Vec::new();
        let mut closing = None;
        let mut low = None;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Launch {
                    record,
                    answer,
                    permit,
                } => {
                    // Asked once a group (SUP-38).
                    let space = low.get_or_insert_with(|| self.health.check_space()).clone();
                    match self
                        .health
                        .check()
                        .and(space)
                        .and_then(|()| self.take(&record))
                    {
                        Ok(()) => waiting.push((answer, permit)),
                        Err(error) => drop(answer.send(Err(error))),
                    }
                }
                Message::Synced {
                    group,
                    ended,
                    answer,
                } => {
                    self.take_synced(group, &ended);
                    told.extend(answer);
                }
                Message::Close { answer } => {
                    closing = Some(answer);
                    break;
                }
            }
            if waiting.len() >= GROUP_COMMANDS_MAX {
                break;
            }
            next = self.messages.try_recv().ok();
        }
        let done = if waiting.is_empty() && told.is_empty() && closing.is_none() {
            self.write()
        } else {
            self.write_and_sync()
        };
        if done.is_ok() {
            Counters::add(&self.health.counters.launches, waiting.len());
        }
        for (answer, permit) in waiting {
            drop(answer.send(done.clone()));
            drop(permit);
        }
        for answer in told {
            drop(answer.send(done.clone()));
        }
        closing.map(|answer| (answer, done))
    }

    fn take(&mut self, record: &LaunchRecord) -> Result<(), StoreError> {
        let key = record.key();
        let newest = self
            .state
            .counters
            .launches
            .get(&record.entry)
            .copied()
            .unwrap_or(LaunchNumber::NONE);
        if record.launch <= newest.max(self.state.counters.launch_base) {
            return Err(StoreError::StaleLaunch(key));
        }
        self.file
            .push_launch(record)
            .map_err(|_| StoreError::TooLarge {
                what: "the launch's record",
                limit: 16 * 1024,
            })?;
        self.state.counters.raise(&record.entry, record.launch);
        self.state.open.insert(key, record.clone());
        Ok(())
    }

    fn take_synced(&mut self, group: GroupNumber, ended: &[LaunchRecordKey]) {
        self.state.witness = self.state.witness.max(group);
        for key in ended {
            if self.state.open.remove(key).is_some() {
                self.push(&LogRow::ended(key));
            }
        }
        self.unsynced_since.get_or_insert_with(system::monotonic);
    }

    fn push(&mut self, row: &LogRow) {
        if let Err(error) = self.file.push(row) {
            self.health.fail(&format!(
                "could not encode a record of launches.log: {error}"
            ));
        }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        // After a failure nothing is written: what lies behind a torn frame would look like damage in the middle.
        self.health.check()?;
        self.file.append().map_err(|error| {
            self.health
                .fail(&format!("could not write launches.log: {error}"))
        })
    }

    /// Writes the witness with whatever else waits, and syncs.
    fn write_and_sync(&mut self) -> Result<(), StoreError> {
        self.unsynced_since = None;
        self.health.check()?;
        if self.state.witness > self.witnessed {
            self.push(&LogRow::Witness(self.state.witness.0));
        }
        self.write()?;
        self.file.sync().map_err(|error| {
            self.health
                .fail(&format!("could not sync launches.log: {error}"))
        })?;
        self.witnessed = self.state.witness;
        self.health
            .counters
            .log_syncs
            .fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn compact_if_due(&mut self) {
        // Under the floor the old file is good enough.
        if self.file.size() < self.compact_at
            || self.health.check().is_err()
            || self.health.check_space().is_err()
        {
            return;
        }
        // The numbers given so far, not those recorded so far: a burned one is not given again either.
        let state = LogState {
            counters: self.numbers.counters(),
            ..self.state.clone()
        };
        match rewrite(&self.directory, &state) {
            Ok(file) => {
                self.file = file;
                self.unsynced_since = None;
                self.witnessed = self.state.witness;
                self.health
                    .counters
                    .log_compactions
                    .fetch_add(1, Ordering::Relaxed);
            }
            Err(error @ RewriteError::Write(_)) => {
                tracing::warn!(error = %error, "The log of launches stays as it is until it has doubled");
            }
            Err(error @ RewriteError::Place(_)) => drop(
                self.health
                    .fail(&format!("could not compact launches.log: {error}")),
            ),
        }
        self.compact_at = LOG_COMPACTION.max(self.file.size().saturating_mul(2));
    }
}

#[cfg(test)]
mod tests;
