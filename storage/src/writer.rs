//! The store's thread: groups the commands that wait, has the backend commit them, then answers all.
//!
//! A thread of its own, never one of tokio's workers: a commit blocks for a sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use treewarden_model::outcome::Outcome;

use crate::error::StoreError;
use crate::health::{Counters, Health};
use crate::launch::LaunchRecordKey;
use crate::launches::AppenderSender;
use crate::open::DirectoryLock;
use crate::options::{GROUP_COMMANDS_MAX, QUEUE_MAX};
use crate::store::{Command, Reply, Store};

/// The backend, until the store is closed.
pub(crate) type Backend = Arc<RwLock<Option<Arc<dyn Store>>>>;

pub(crate) type Answer = oneshot::Sender<Result<Reply, StoreError>>;

#[derive(Debug)]
enum Message {
    Command {
        command: Command,
        answer: Answer,
        permit: OwnedSemaphorePermit,
    },
    Close {
        answer: Closing,
    },
}

/// A command, where its answer goes, and its place in the queue.
type Waiting = (Command, Answer, OwnedSemaphorePermit);

/// Where it is told that all is closed.
type Closing = oneshot::Sender<Result<(), StoreError>>;

/// Sends to the store's thread.
#[derive(Debug, Clone)]
pub(crate) struct WriterSender(SyncSender<Message>);

impl WriterSender {
    /// Hands over a command. The permit is one of [`QUEUE_MAX`], so there is room.
    pub(crate) fn command(
        &self,
        command: Command,
        answer: Answer,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), StoreError> {
        self.0
            .try_send(Message::Command {
                command,
                answer,
                permit,
            })
            .map_err(|_| StoreError::Closed)
    }

    /// Asks the thread to close everything. Closing twice, or with more closers than the queue has spare places, answers [`StoreError::Closed`].
    pub(crate) fn close(&self, answer: Closing) -> Result<(), StoreError> {
        self.0
            .try_send(Message::Close { answer })
            .map_err(|_| StoreError::Closed)
    }
}

/// The thread's own state.
pub(crate) struct Writer {
    backend: Backend,
    log: AppenderSender,
    health: Arc<Health>,
    messages: Receiver<Message>,
    /// Held until the last write is done.
    lock: DirectoryLock,
}

impl Writer {
    pub(crate) fn new(
        backend: Backend,
        log: AppenderSender,
        health: Arc<Health>,
        lock: DirectoryLock,
    ) -> (Self, WriterSender) {
        let (sender, messages) = sync_channel(QUEUE_MAX + 8);
        (
            Self {
                backend,
                log,
                health,
                messages,
                lock,
            },
            WriterSender(sender),
        )
    }

    /// Runs until it is told to close, or every handle is gone; then closes the log, the backend and the lock, in this order.
    pub(crate) fn run(self) {
        let mut closing = None;
        while closing.is_none() {
            let Ok(first) = self.messages.recv() else {
                break;
            };
            let (group, close) = self.gather(first);
            closing = close;
            self.commit(group);
        }
        let Self {
            backend,
            log,
            health,
            messages,
            lock,
        } = self;
        // What comes now is answered by the closed channel.
        drop(messages);
        let closed = log.close();
        drop(
            backend
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        drop(lock);
        if let Some(answer) = closing {
            drop(answer.send(health.check().and(closed)));
        }
    }

    fn gather(&self, first: Message) -> (Vec<Waiting>, Option<Closing>) {
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Command {
                    command,
                    answer,
                    permit,
                } => group.push((command, answer, permit)),
                Message::Close { answer } => return (group, Some(answer)),
            }
            next = if group.len() < GROUP_COMMANDS_MAX {
                self.messages.try_recv().ok()
            } else {
                None
            };
        }
        (group, None)
    }

    fn commit(&self, group: Vec<Waiting>) {
        // Asked once a group (SUP-38).
        let space = self.health.check_space();
        let mut commands = Vec::with_capacity(group.len());
        let mut answers = Vec::with_capacity(group.len());
        for (command, answer, permit) in group {
            let refused = if command.needs_space() {
                space.clone()
            } else {
                Ok(())
            };
            match self.health.check().and(refused) {
                Ok(()) => {
                    commands.push(command);
                    answers.push((answer, permit));
                }
                Err(error) => drop(answer.send(Err(error))),
            }
        }
        if commands.is_empty() {
            return;
        }
        match self.commit_durably(&commands) {
            Ok(replies) => {
                for ((answer, permit), reply) in answers.into_iter().zip(replies) {
                    drop(answer.send(reply));
                    drop(permit);
                }
            }
            Err(error) => {
                for (answer, permit) in answers {
                    drop(answer.send(Err(error.clone())));
                    drop(permit);
                }
            }
        }
    }

    fn commit_durably(
        &self,
        commands: &[Command],
    ) -> Result<Vec<Result<Reply, StoreError>>, StoreError> {
        let backend = self
            .backend
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .ok_or(StoreError::Closed)?;
        let committed = catch_unwind(AssertUnwindSafe(|| backend.commit(commands)))
            .unwrap_or_else(|_| {
                Err(StoreError::Failed {
                    reason: "the database panicked".into(),
                })
            })
            .map_err(|error| self.health.fail(&reason(&error)))?;
        let counters = &self.health.counters;
        counters.groups.fetch_add(1, Ordering::Relaxed);
        Counters::add(&counters.commands, commands.len());
        // Before the answers: whoever hears of an end may launch again, and that launch's record then lies behind the end in the log.
        let mut ended = Vec::new();
        let mut kept = true;
        for (command, reply) in commands.iter().zip(&committed.replies) {
            if let Some(launch) = ended_by(command, reply) {
                ended.push(launch);
                // Said before, or too old to be kept among the last stops: then only the log knows.
                kept &= *reply == Ok(Reply::Changed);
            }
        }
        if kept {
            self.log.synced(committed.group, ended)
        } else {
            self.log.synced_durably(committed.group, ended)
        }?;
        Ok(committed.replies)
    }
}

fn reason(error: &StoreError) -> String {
    match error {
        StoreError::Failed { reason } => reason.to_string(),
        other => other.to_string(),
    }
}

/// The launch that this command closed. An unconfirmed one stays open: it may still be running (SUP-12).
fn ended_by(command: &Command, reply: &Result<Reply, StoreError>) -> Option<LaunchRecordKey> {
    match command {
        Command::RecordEnd { launch, result, .. }
            if reply.is_ok() && result.ending.outcome != Outcome::TerminationUnconfirmed =>
        {
            Some(launch.clone())
        }
        _ => None,
    }
}
