//! What the log amounts to, read from its beginning.

use std::collections::BTreeMap;

use treewarden_model::id::{LaunchNumber, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use uuid::Uuid;

use super::row::{CounterRow, HeaderRow, LaunchRow, LogRow};
use crate::codec::{CodecError, rows};
use crate::identity::GroupNumber;
use crate::launch::{LaunchRecord, LaunchRecordKey};
use crate::store::StoredNumbers;

/// Counters that only grow (SUP-13). An entry that is not listed counts from `launch_base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) launch_base: LaunchNumber,
    pub(crate) launches: BTreeMap<EntryName, LaunchNumber>,
    pub(crate) ordinal: LaunchOrdinal,
}

impl Counters {
    fn last(&self, entry: &EntryName) -> LaunchNumber {
        self.launches
            .get(entry)
            .copied()
            .unwrap_or(LaunchNumber::NONE)
            .max(self.launch_base)
    }

    pub(crate) fn next(&mut self, entry: &EntryName) -> Option<(LaunchNumber, LaunchOrdinal)> {
        let last = self.last(entry);
        let (launch, ordinal) = (last.next(), self.ordinal.next());
        // `next` saturates; a repeated number must never be given.
        if launch == last || ordinal == self.ordinal {
            return None;
        }
        self.launches.insert(entry.clone(), launch);
        self.ordinal = ordinal;
        Some((launch, ordinal))
    }

    /// Raises the entry's counter; answers whether it was behind.
    pub(crate) fn raise(&mut self, entry: &EntryName, launch: LaunchNumber) -> bool {
        let behind = launch > self.last(entry);
        if behind {
            self.launches.insert(entry.clone(), launch);
        }
        behind
    }

    /// Raises all of them, those of entries that nobody knows included.
    pub(crate) fn jump(&mut self, by: u64) {
        let raised =
            |number: LaunchNumber| LaunchNumber::from_stored(number.get().saturating_add(by));
        let base = self.launch_base;
        for launch in self.launches.values_mut() {
            *launch = raised((*launch).max(base));
        }
        self.launch_base = raised(base);
        self.ordinal = LaunchOrdinal(self.ordinal.0.saturating_add(by));
    }
}

/// All that the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogState {
    pub(crate) node: NodeId,
    pub(crate) session: SessionNumber,
    pub(crate) counters: Counters,
    pub(crate) open: BTreeMap<LaunchRecordKey, LaunchRecord>,
    pub(crate) witness: GroupNumber,
}

impl LogState {
    /// A new node's.
    pub(crate) fn new(node: NodeId) -> Self {
        Self::from_header(&HeaderRow {
            node: *node.0.as_bytes(),
            session: 0,
            ordinal: 0,
            launch_base: 0,
        })
    }

    /// What the database remembers, when the log is lost. The caller raises the counters: the database may be behind.
    pub(crate) fn from_stored(numbers: &StoredNumbers, group: GroupNumber) -> Self {
        Self {
            node: numbers.node,
            session: numbers.session,
            counters: Counters {
                launch_base: numbers.launch_base,
                launches: BTreeMap::new(),
                ordinal: numbers.ordinal,
            },
            open: BTreeMap::new(),
            witness: group,
        }
    }

    pub(crate) fn from_header(header: &HeaderRow) -> Self {
        Self {
            node: NodeId(Uuid::from_bytes(header.node)),
            session: SessionNumber(header.session),
            counters: Counters {
                launch_base: LaunchNumber::from_stored(header.launch_base),
                launches: BTreeMap::new(),
                ordinal: LaunchOrdinal(header.ordinal),
            },
            open: BTreeMap::new(),
            witness: GroupNumber::default(),
        }
    }

    pub(crate) fn apply(&mut self, row: LogRow) -> Result<(), CodecError> {
        match row {
            // A file has one header, at its beginning.
            LogRow::Header(_) => return Err(CodecError::Value("a second header")),
            LogRow::Session(session) => self.session = self.session.max(SessionNumber(session)),
            LogRow::Launch(row) => {
                let record = LaunchRecord::try_from(*row)?;
                self.counters.raise(&record.entry, record.launch);
                self.counters.ordinal = self.counters.ordinal.max(record.ordinal);
                self.open.insert(record.key(), record);
            }
            LogRow::Ended(row) => {
                let key = LaunchRecordKey {
                    entry: rows::entry_name(&row.entry)?,
                    launch: LaunchNumber::from_stored(row.launch),
                };
                self.open.remove(&key);
            }
            LogRow::Witness(group) => self.witness = self.witness.max(GroupNumber(group)),
            LogRow::Counter(row) => {
                self.counters.raise(
                    &rows::entry_name(&row.entry)?,
                    LaunchNumber::from_stored(row.launch),
                );
            }
        }
        Ok(())
    }

    /// The fewest rows that amount to the same.
    pub(crate) fn rows(&self) -> Vec<LogRow> {
        let header = LogRow::Header(HeaderRow {
            node: *self.node.0.as_bytes(),
            session: self.session.0,
            ordinal: self.counters.ordinal.0,
            launch_base: self.counters.launch_base.get(),
        });
        let counters = self.counters.launches.iter().map(|(entry, launch)| {
            LogRow::Counter(CounterRow {
                entry: entry.as_str().to_owned(),
                launch: launch.get(),
            })
        });
        let open = self
            .open
            .values()
            .map(|record| LogRow::Launch(Box::new(LaunchRow::from(record))));
        std::iter::once(header)
            .chain(counters)
            .chain(open)
            .chain([LogRow::Witness(self.witness.0)])
            .collect()
    }
}
