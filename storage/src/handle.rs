//! What the rest of the node holds of the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use tokio::sync::{Semaphore, oneshot};
use treewarden_model::id::{LaunchNumber, LaunchOrdinal};
use treewarden_model::name::EntryName;
use treewarden_model::outcome::StopResult;
use treewarden_model::time::WallTime;

use crate::desired::Desired;
use crate::error::{DamagedRow, StoreError};
use crate::health::{Health, StoreHealth, StoreStatistics};
use crate::launch::{LaunchRecord, LaunchRecordKey};
use crate::launches::{AppenderSender, Numbers};
use crate::options::QUEUE_MAX;
use crate::stop::RecordedStop;
use crate::store::{Command, Page, PageRequest, Reply, Store, WalkPosition};
use crate::token::{
    LABEL_MAX, OPERATION_MAX, OPERATIONS_MAX, Operations, Token, TokenHash, TokenId,
};
use crate::writer::{Backend, WriterSender};

/// The store, cheap to clone.
///
/// **Durability.** A command that answers `Ok` is on disk. **Cancellation.** Dropping a future stops only the waiting; a command that was handed over is
/// carried out. **Crash.** A command that was not answered is there whole or not at all. **Bounds.** 1024 commands and as many launches may wait;
/// beyond it a call waits for a place first.
///
/// # Errors
/// Every durable command answers [`StoreError::Failed`] after the first failed write or sync, and [`StoreError::Closed`] after [`StoreHandle::close`].
#[derive(Debug, Clone)]
pub struct StoreHandle {
    backend: Backend,
    writer: WriterSender,
    log: AppenderSender,
    numbers: Numbers,
    health: Arc<Health>,
    commands: Arc<Semaphore>,
    launches: Arc<Semaphore>,
}

impl StoreHandle {
    pub(crate) fn new(
        backend: Backend,
        writer: WriterSender,
        log: AppenderSender,
        numbers: Numbers,
        health: Arc<Health>,
    ) -> Self {
        let places = || Arc::new(Semaphore::new(QUEUE_MAX));
        Self {
            backend,
            writer,
            log,
            numbers,
            health,
            commands: places(),
            launches: places(),
        }
    }

    /// Gives the next launch number of `entry` and the next launch ordinal of the node, from memory (SUP-13).
    ///
    /// They become durable with [`Self::record_launch`]; if the launch fails before, they are burned for this process. A crash before the record may give them again:
    /// no process ran under them.
    ///
    /// # Errors
    /// [`StoreError::Low`] and [`StoreError::Failed`], so that no process is started in vain; [`StoreError::Exhausted`].
    pub fn next_launch(
        &self,
        entry: &EntryName,
    ) -> Result<(LaunchNumber, LaunchOrdinal), StoreError> {
        self.health.check()?;
        self.health.check_space()?;
        self.numbers.next(entry)
    }

    /// Records a launch with its process identity: one append and one `fdatasync` of `launches.log`, shared by all who wait. The process may run only after this (SUP-13, SUP-17).
    ///
    /// A crash after the sync and before the process runs leaves an open launch whose process is gone: the next start finds that out.
    ///
    /// # Errors
    /// [`StoreError::Low`] under the free-space floor; [`StoreError::StaleLaunch`] for a number that is not newer than the entry's last recorded one.
    pub async fn record_launch(&self, record: LaunchRecord) -> Result<(), StoreError> {
        self.health.check()?;
        let permit = self
            .launches
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        self.log.launch(record, answer, permit)?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Records how a launch ended, as the entry's last stop. Idempotent.
    ///
    /// A confirmed end is final and closes the launch; `termination_unconfirmed` leaves it open (it may still be running, SUP-12) and gives way to a later
    /// end of the same launch. A crash after the answer never shows the launch open again.
    ///
    /// # Errors
    /// As for the type; never [`StoreError::Low`].
    pub async fn record_end(
        &self,
        launch: LaunchRecordKey,
        result: StopResult,
        at: WallTime,
    ) -> Result<(), StoreError> {
        self.send(Command::RecordEnd {
            launch,
            result: Box::new(result),
            at,
        })
        .await
        .map(drop)
    }

    /// Sets what is wanted of an entry (SUP-39). The last one holds.
    ///
    /// # Errors
    /// As for the type; never [`StoreError::Low`]: a stop must get through, and a start is refused where it launches.
    pub async fn set_desired(&self, entry: &EntryName, desired: Desired) -> Result<(), StoreError> {
        self.send(Command::SetDesired {
            entry: entry.clone(),
            desired,
        })
        .await
        .map(drop)
    }

    /// Forgets what was wanted of an entry that is gone. Its counters and stops stay.
    ///
    /// # Errors
    /// As for the type.
    pub async fn forget_desired(&self, entry: &EntryName) -> Result<(), StoreError> {
        self.send(Command::ForgetDesired {
            entry: entry.clone(),
        })
        .await
        .map(drop)
    }

    /// What is wanted of every entry that somebody wanted something of. Read page by page: not a snapshot.
    ///
    /// # Errors
    /// [`StoreError::Closed`], [`StoreError::Failed`]. Rows that can't be read are left out here and named by [`Self::walk`].
    pub fn desired(&self) -> Result<Vec<(EntryName, Desired)>, StoreError> {
        self.query(|store| all_pages(|request| store.desired(request)))
    }

    /// What is wanted of one entry; `None`: nobody said.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when its row can't be read.
    pub fn desired_of(&self, entry: &EntryName) -> Result<Option<Desired>, StoreError> {
        self.query(|store| store.desired_of(entry))
    }

    /// The last stop of an entry and when it was recorded.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when its row can't be read.
    pub fn last_stop(
        &self,
        entry: &EntryName,
    ) -> Result<Option<(StopResult, WallTime)>, StoreError> {
        Ok(self.stops(entry)?.pop().map(|stop| (stop.result, stop.at)))
    }

    /// The last [`crate::STOPS_KEPT`] stops of an entry, newest last (SUP-10).
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when its row can't be read.
    pub fn stops(&self, entry: &EntryName) -> Result<Vec<RecordedStop>, StoreError> {
        self.query(|store| store.stops_of(entry))
    }

    /// Keeps a token. The same token again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::TokenExists`], [`StoreError::TooLarge`], [`StoreError::Low`].
    pub async fn put_token(&self, token: Token) -> Result<(), StoreError> {
        check_token(&token)?;
        self.send(Command::PutToken(Box::new(token)))
            .await
            .map(drop)
    }

    /// Ends a token; answers whether it was there.
    ///
    /// # Errors
    /// As for the type; never [`StoreError::Low`].
    pub async fn delete_token(&self, id: TokenId) -> Result<bool, StoreError> {
        self.send(Command::DeleteToken(id))
            .await
            .map(|reply| reply == Reply::Changed)
    }

    /// The token with this hash, ended or not.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when its row can't be read.
    pub fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        self.query(|store| store.token_by_hash(hash))
    }

    /// One page of the tokens, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError::Closed`], [`StoreError::Failed`].
    pub fn tokens(&self, page: &PageRequest<TokenId>) -> Result<Page<Token, TokenId>, StoreError> {
        self.query(|store| store.tokens(page))
    }

    /// One step of a walk over all rows that names those that can't be read. Meant for the background, after the node is ready.
    ///
    /// # Errors
    /// [`StoreError::Closed`], [`StoreError::Failed`].
    pub fn walk(
        &self,
        page: &PageRequest<WalkPosition>,
    ) -> Result<(Vec<DamagedRow>, Option<WalkPosition>), StoreError> {
        let page = self.query(|store| store.walk(page))?;
        Ok((page.damaged, page.next))
    }

    /// Whether durable work is taken (SUP-38). Looks at the free space each time, which costs a microsecond.
    pub fn health(&self) -> StoreHealth {
        self.health.state()
    }

    /// What was done since the store was opened.
    pub fn statistics(&self) -> StoreStatistics {
        self.health.statistics()
    }

    /// Carries out what waits, writes the witness, syncs, and frees the directory. Other clones answer [`StoreError::Closed`] from then on.
    ///
    /// Dropping all clones instead does the same without telling when it is done.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if something had failed, or fails now; the directory is freed all the same.
    pub async fn close(self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.writer.close(answer)?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    async fn send(&self, command: Command) -> Result<Reply, StoreError> {
        self.health.check()?;
        let permit = self
            .commands
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        self.writer.command(command, answer, permit)?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Asks the backend. A panic inside it (sled's answer to some damage) closes the store instead of taking the caller down.
    fn query<T>(
        &self,
        ask: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let store = self
            .backend
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .ok_or(StoreError::Closed)?;
        catch_unwind(AssertUnwindSafe(|| ask(&*store)))
            .unwrap_or_else(|_| Err(self.health.fail("the database panicked in a query")))
    }
}

pub(crate) fn all_pages<T, K>(
    query: impl Fn(&PageRequest<K>) -> Result<Page<T, K>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut request = PageRequest::first();
    let mut rows = Vec::new();
    loop {
        let page = query(&request)?;
        rows.extend(page.rows);
        match page.next {
            Some(key) => request = PageRequest::after(key),
            None => return Ok(rows),
        }
    }
}

fn check_token(token: &Token) -> Result<(), StoreError> {
    let bounded = |what, size: usize, limit| {
        if size > limit {
            Err(StoreError::TooLarge { what, limit })
        } else {
            Ok(())
        }
    };
    bounded("the token's label", token.label.len(), LABEL_MAX)?;
    bounded("the token's user", token.user.len(), LABEL_MAX)?;
    if let Operations::Only(operations) = &token.operations {
        bounded("the list of operations", operations.len(), OPERATIONS_MAX)?;
        for operation in operations {
            bounded("an operation's name", operation.len(), OPERATION_MAX)?;
        }
    }
    Ok(())
}
