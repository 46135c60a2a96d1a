//! What the rows of the group on its way to the disk were before it: visible is not durable, and queries show only what is durable.
//!
//! A reader reads the tree first and looks here second. Either the tree still had the old row, and here is the same; or it had the new one, and here is the
//! old, unless the group was synced in between, and then the new one is durable.

use std::collections::BTreeMap;
use std::sync::RwLock;

use super::unpoisoned;

#[derive(Debug, Default)]
pub(super) struct Pending(RwLock<BTreeMap<Vec<u8>, Option<sled::IVec>>>);

impl Pending {
    pub(super) fn begin(&self, before: Vec<(Vec<u8>, Option<sled::IVec>)>) {
        *unpoisoned(self.0.write()) = before.into_iter().collect();
    }

    pub(super) fn end(&self) {
        unpoisoned(self.0.write()).clear();
    }

    /// What to show for a row that the tree had as `read`.
    pub(super) fn show(&self, key: &[u8], read: Option<sled::IVec>) -> Option<sled::IVec> {
        unpoisoned(self.0.read()).get(key).cloned().unwrap_or(read)
    }

    /// Puts the old rows into a stretch of rows; `covers` says which keys belong to it.
    pub(super) fn show_all(
        &self,
        rows: &mut BTreeMap<sled::IVec, sled::IVec>,
        covers: impl Fn(&[u8]) -> bool,
    ) {
        for (key, before) in unpoisoned(self.0.read())
            .iter()
            .filter(|(key, _)| covers(key))
        {
            match before {
                Some(before) => drop(rows.insert(key.as_slice().into(), before.clone())),
                None => drop(rows.remove(key.as_slice())),
            }
        }
    }
}
