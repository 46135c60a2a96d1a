//! The default backend. The only module that names sled.
//!
//! What was measured of sled 0.34.7 and decides this module: a commit without a flush is lost by a kill, and `flush` never calls fsync, so each group is one
//! batch on one tree, a flush, and an `fdatasync` on a handle of our own. A row is visible before it is durable, so queries are shown what a row was
//! before the group that is on its way ([`pending`]). Transactions over several trees, merge operators, watchers, compression and dropping trees are not used.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use treewarden_model::id::LaunchNumber;
use treewarden_model::name::EntryName;

use crate::codec::rows::{DesiredRow, NumberRow, NumbersRow, StopsRow, TokenHashRow, TokenRow};
use crate::desired::Desired;
use crate::error::StoreError;
use crate::identity::GroupNumber;
use crate::stop::RecordedStop;
use crate::store::{Command, Committed, Page, PageRequest, Store, StoredNumbers, WalkPosition};
use crate::token::{Token, TokenHash, TokenId};

mod decide;
mod files;
mod key;
mod overlay;
mod pending;
mod read;

pub(crate) use files::{OpenFailure, open};

use files::DataFile;
use key::Key;
use overlay::Overlay;
use pending::Pending;

#[expect(clippy::disallowed_types, reason = "the one module that names sled")]
type Database = sled::Db;

/// A database in a directory.
pub struct SledStore {
    database: Database,
    /// sled's own flush does not sync: this handle does. After `database`, for the order they are dropped in.
    file: DataFile,
    pending: Pending,
    group: AtomicU64,
}

impl std::fmt::Debug for SledStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SledStore")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

fn failed(action: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Failed {
        reason: format!("could not {action} the database: {error}").into(),
    }
}

impl SledStore {
    /// Opens or creates a database alone, without the lock, log and witness of a data directory: for tests and tools.
    ///
    /// # Errors
    /// [`StoreError::Failed`] with what sled said.
    pub fn open(directory: &Path, cache: u64) -> Result<Self, StoreError> {
        open(directory, cache).map_err(|error| failed("open", &error))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.database
            .flush()
            .map_err(|error| failed("flush", &error))?;
        self.file.sync().map_err(|error| failed("sync", &error))
    }

    /// Writes what the overlay decided as one batch and returns when it is on disk.
    fn write(&self, overlay: Overlay<'_>, group: GroupNumber) -> Result<(), StoreError> {
        let changes = overlay.into_changes();
        let mut before = Vec::with_capacity(changes.len());
        let mut batch = sled::Batch::default();
        for (key, value) in &changes {
            before.push((
                key.clone(),
                self.database
                    .get(key)
                    .map_err(|error| failed("read", &error))?,
            ));
            match value {
                Some(value) => batch.insert(key.as_slice(), value.as_slice()),
                None => batch.remove(key.as_slice()),
            }
        }
        self.pending.begin(before);
        // After a failure the old values stay in sight: what is in the tree may never reach the disk.
        self.database
            .apply_batch(batch)
            .map_err(|error| failed("write", &error))?;
        self.sync()?;
        self.group.store(group.0, Ordering::Release);
        self.pending.end();
        Ok(())
    }
}

impl Store for SledStore {
    fn commit(&self, group: &[Command]) -> Result<Committed, StoreError> {
        let mut overlay = Overlay::new(&self.database);
        let replies = group
            .iter()
            .map(|command| match decide::decide(&mut overlay, command) {
                Err(error @ (StoreError::Failed { .. } | StoreError::Closed)) => Err(error),
                reply => Ok(reply),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut number = GroupNumber(self.group.load(Ordering::Acquire));
        if !overlay.is_empty() {
            number = number.next();
            overlay.put(&Key::group(), &NumberRow(number.0))?;
            self.write(overlay, number)?;
        }
        Ok(Committed {
            group: number,
            replies,
        })
    }

    fn group(&self) -> Result<GroupNumber, StoreError> {
        Ok(GroupNumber(self.group.load(Ordering::Acquire)))
    }

    fn numbers(&self) -> Result<Option<StoredNumbers>, StoreError> {
        self.read_row::<NumbersRow, _>(&Key::numbers(), |row| Ok(row.into()))
    }

    fn desired_of(&self, entry: &EntryName) -> Result<Option<Desired>, StoreError> {
        self.read_row::<DesiredRow, _>(&Key::desired(entry), Desired::try_from)
    }

    fn desired(
        &self,
        page: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, Desired), EntryName>, StoreError> {
        let after = page.after.as_ref().map(Key::desired);
        self.read_page(
            key::DESIRED,
            after,
            page.limit,
            key::entry,
            |key, row: DesiredRow| Ok((key::entry(key)?, row.try_into()?)),
        )
    }

    fn stops_of(&self, entry: &EntryName) -> Result<Vec<RecordedStop>, StoreError> {
        let row = self.read_row::<StopsRow, _>(&Key::stops(entry), |row| {
            row.stops.into_iter().map(|stop| stop.read(entry)).collect()
        })?;
        Ok(row.unwrap_or_default())
    }

    fn last_launches(
        &self,
        page: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, LaunchNumber), EntryName>, StoreError> {
        let after = page.after.as_ref().map(Key::last_launch);
        self.read_page(
            key::LAST_LAUNCH,
            after,
            page.limit,
            key::entry,
            |key, row: NumberRow| Ok((key::entry(key)?, LaunchNumber::from_stored(row.0))),
        )
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        let Some(id) = self
            .read_row::<TokenHashRow, _>(&Key::token_hash(hash), |row| Ok(key::token_id(row.0)))?
        else {
            return Ok(None);
        };
        let token = self.read_row::<TokenRow, _>(&Key::token(id), |row| Ok(Token::from(row)))?;
        // Between the two reads the token may have ended.
        Ok(token.filter(|token| token.hash == *hash))
    }

    fn tokens(&self, page: &PageRequest<TokenId>) -> Result<Page<Token, TokenId>, StoreError> {
        let after = page.after.map(Key::token);
        self.read_page(
            key::TOKEN,
            after,
            page.limit,
            key::token,
            |_, row: TokenRow| Ok(row.into()),
        )
    }

    fn walk(&self, page: &PageRequest<WalkPosition>) -> Result<Page<(), WalkPosition>, StoreError> {
        self.walk_page(page)
    }
}

impl SledStore {
    fn from_parts(database: Database, file: DataFile) -> Result<Self, StoreError> {
        let store = Self {
            database,
            file,
            pending: Pending::default(),
            group: AtomicU64::new(0),
        };
        let group = store
            .read_row::<NumberRow, _>(&Key::group(), |row| Ok(row.0))?
            .unwrap_or(0);
        store.group.store(group, Ordering::Release);
        Ok(store)
    }

    /// Whether nothing at all is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.database.is_empty()
    }
}

/// A poisoned lock is still a lock: what it guards is changed in one step.
fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
