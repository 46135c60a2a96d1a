//! What a group has decided so far, over the tree: without it two commands of one group would not see each other.

use std::collections::BTreeMap;

use super::key::{self, Key};
use super::{Database, failed};
use crate::codec::{self, Row};
use crate::error::{DamagedRow, StoreError};

pub(super) struct Overlay<'a> {
    database: &'a Database,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(database: &'a Database) -> Self {
        Self {
            database,
            changes: BTreeMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn into_changes(self) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        self.changes
    }

    /// The row as the commands so far leave it.
    pub(super) fn get<R: Row>(&self, key: &Key) -> Result<Option<R>, StoreError> {
        let read = |bytes: &[u8]| {
            codec::decode(&key.0, bytes).map_err(|error| {
                StoreError::Damaged(DamagedRow {
                    key: key::shown(&key.0),
                    problem: error.to_string(),
                })
            })
        };
        match self.changes.get(&key.0) {
            Some(change) => change.as_deref().map(read).transpose(),
            None => self
                .database
                .get(&key.0)
                .map_err(|error| failed("read", &error))?
                .as_deref()
                .map(read)
                .transpose(),
        }
    }

    pub(super) fn put<R: Row>(&mut self, key: &Key, row: &R) -> Result<(), StoreError> {
        let bytes = codec::encode(&key.0, row).map_err(|_| StoreError::TooLarge {
            what: "a row",
            limit: codec::BODY_MAX,
        })?;
        self.changes.insert(key.0.clone(), Some(bytes));
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &Key) {
        self.changes.insert(key.0.clone(), None);
    }
}
