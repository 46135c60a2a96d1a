//! Queries: single rows and pages, as they are on disk.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::key::{self, Key};
use super::{SledStore, failed};
use crate::codec::{self, CodecError, Row, rows};
use crate::error::{DamagedRow, StoreError};
use crate::store::{PAGE_MAX, Page, PageRequest, WalkPosition};

/// A stretch of rows and, if there may be more, where it ends.
struct Stretch {
    rows: BTreeMap<sled::IVec, sled::IVec>,
    last: Option<Vec<u8>>,
}

fn damaged(key: &[u8], error: &CodecError) -> DamagedRow {
    DamagedRow {
        key: key::shown(key),
        problem: error.to_string(),
    }
}

impl SledStore {
    pub(super) fn read_row<R: Row, T>(
        &self,
        key: &Key,
        convert: impl FnOnce(R) -> Result<T, CodecError>,
    ) -> Result<Option<T>, StoreError> {
        let read = self
            .database
            .get(&key.0)
            .map_err(|error| failed("read", &error))?;
        let Some(bytes) = self.pending.show(&key.0, read) else {
            return Ok(None);
        };
        let value = codec::decode(&key.0, &bytes)
            .and_then(convert)
            .map_err(|error| damaged(&key.0, &error))?;
        Ok(Some(value))
    }

    /// At most `limit` rows of the tree after `after`, before `end`, corrected to what is durable.
    fn stretch(
        &self,
        after: Bound<Vec<u8>>,
        end: Bound<Vec<u8>>,
        limit: usize,
    ) -> Result<Stretch, StoreError> {
        let limit = limit.clamp(1, PAGE_MAX);
        let mut rows = BTreeMap::new();
        let mut last = None;
        for row in self
            .database
            .range((after.clone(), end.clone()))
            .take(limit)
        {
            let (key, value) = row.map_err(|error| failed("read", &error))?;
            if rows.len() + 1 == limit {
                last = Some(key.to_vec());
            }
            rows.insert(key, value);
        }
        let within = |key: &[u8]| {
            let begins = match &after {
                Bound::Included(first) => key >= first.as_slice(),
                Bound::Excluded(previous) => key > previous.as_slice(),
                Bound::Unbounded => true,
            };
            let ends = match (&last, &end) {
                (Some(last), _) => key <= last.as_slice(),
                (None, Bound::Excluded(end)) => key < end.as_slice(),
                (None, _) => true,
            };
            begins && ends
        };
        self.pending.show_all(&mut rows, within);
        // Rows that a group on its way removes come back; what is too much for this page begins the next.
        while rows.len() > limit {
            rows.pop_last();
            last = rows.last_key_value().map(|(key, _)| key.to_vec());
        }
        Ok(Stretch { rows, last })
    }

    pub(super) fn read_page<R: Row, T, K>(
        &self,
        kind: [u8; 2],
        after: Option<Key>,
        limit: usize,
        place: impl Fn(&[u8]) -> Result<K, CodecError>,
        convert: impl Fn(&[u8], R) -> Result<T, CodecError>,
    ) -> Result<Page<T, K>, StoreError> {
        let mut begin = after.map_or_else(
            || Bound::Included(kind.to_vec()),
            |key| Bound::Excluded(key.0),
        );
        let end = Bound::Excluded(
            u16::from_be_bytes(kind)
                .saturating_add(1)
                .to_be_bytes()
                .to_vec(),
        );
        let mut page = Page {
            rows: Vec::new(),
            damaged: Vec::new(),
            next: None,
        };
        loop {
            let stretch = self.stretch(begin, end.clone(), limit)?;
            for (key, bytes) in &stretch.rows {
                match codec::decode(key, bytes).and_then(|row| convert(key, row)) {
                    Ok(row) => page.rows.push(row),
                    Err(error) => page.damaged.push(damaged(key, &error)),
                }
            }
            let Some(last) = stretch.last else {
                return Ok(page);
            };
            // A key that can't be read is no place to go on from: this page then takes the next stretch too.
            match place(&last) {
                Ok(next) => {
                    page.next = Some(next);
                    return Ok(page);
                }
                Err(_) => begin = Bound::Excluded(last),
            }
        }
    }

    pub(super) fn walk_page(
        &self,
        page: &PageRequest<WalkPosition>,
    ) -> Result<Page<(), WalkPosition>, StoreError> {
        let begin = page.after.as_ref().map_or(Bound::Unbounded, |at| {
            Bound::Excluded(at.as_bytes().to_vec())
        });
        let stretch = self.stretch(begin, Bound::Unbounded, page.limit)?;
        let mut damaged_rows = Vec::new();
        let mut read = Vec::new();
        for (key, bytes) in &stretch.rows {
            match check(key, bytes) {
                Ok(()) => read.push(()),
                Err(error) => damaged_rows.push(damaged(key, &error)),
            }
        }
        Ok(Page {
            rows: read,
            damaged: damaged_rows,
            next: stretch.last.map(WalkPosition::new),
        })
    }
}

/// Reads a row as what its key says it is.
fn check(key: &[u8], bytes: &[u8]) -> Result<(), CodecError> {
    let kind = key.first_chunk::<2>().ok_or(CodecError::Short)?;
    match *kind {
        key::GROUP => codec::decode::<rows::NumberRow>(key, bytes).map(drop),
        key::NUMBERS => codec::decode::<rows::NumbersRow>(key, bytes).map(drop),
        key::DESIRED => {
            key::entry(key)?;
            crate::Desired::try_from(codec::decode::<rows::DesiredRow>(key, bytes)?).map(drop)
        }
        key::STOPS => {
            let entry = key::entry(key)?;
            codec::decode::<rows::StopsRow>(key, bytes)?
                .stops
                .into_iter()
                .try_for_each(|stop| stop.read(&entry).map(drop))
        }
        key::LAST_LAUNCH => {
            key::entry(key)?;
            codec::decode::<rows::NumberRow>(key, bytes).map(drop)
        }
        key::TOKEN => codec::decode::<rows::TokenRow>(key, bytes).map(drop),
        key::TOKEN_HASH => codec::decode::<rows::TokenHashRow>(key, bytes).map(drop),
        _ => Err(CodecError::Value("its kind")),
    }
}
