//! What the log's frames say.

use serde::{Deserialize, Serialize};
use treewarden_model::id::{LaunchNumber, LaunchOrdinal, SessionNumber};
use treewarden_model::time::WallTime;
use uuid::Uuid;

use super::frame;
use crate::codec::{self, CodecError, rows};
use crate::launch::{LaunchRecord, LaunchRecordKey};

/// First frame of every file: whose it is, and the counters up to which nothing is given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeaderRow {
    pub(crate) node: [u8; 16],
    pub(crate) session: u64,
    pub(crate) ordinal: u64,
    pub(crate) launch_base: u64,
}

/// An entry's counter; written by compaction, which drops the launches it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CounterRow {
    pub(crate) entry: String,
    pub(crate) launch: u64,
}

/// An entry and a launch number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedRow {
    pub(crate) entry: String,
    pub(crate) launch: u64,
}

/// [`LaunchRecord`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchRow {
    entry: String,
    launch: u64,
    ordinal: u64,
    instance: String,
    generation: u64,
    pid: u32,
    start_time: u64,
    boot_id: [u8; 16],
    session: u64,
    recorded_at: u64,
}

impl From<&LaunchRecord> for LaunchRow {
    fn from(record: &LaunchRecord) -> Self {
        Self {
            entry: record.entry.as_str().to_owned(),
            launch: record.launch.get(),
            ordinal: record.ordinal.0,
            instance: record.instance.id.clone(),
            generation: record.instance.generation.get(),
            pid: record.pid,
            start_time: record.start_time,
            boot_id: *record.boot_id.as_bytes(),
            session: record.session.0,
            recorded_at: record.recorded_at.0,
        }
    }
}

impl TryFrom<LaunchRow> for LaunchRecord {
    type Error = CodecError;

    fn try_from(row: LaunchRow) -> Result<Self, CodecError> {
        Ok(Self {
            entry: rows::entry_name(&row.entry)?,
            launch: LaunchNumber::from_stored(row.launch),
            ordinal: LaunchOrdinal(row.ordinal),
            instance: rows::instance(row.instance, row.generation)?,
            pid: row.pid,
            start_time: row.start_time,
            boot_id: Uuid::from_bytes(row.boot_id),
            session: SessionNumber(row.session),
            recorded_at: WallTime(row.recorded_at),
        })
    }
}

/// One frame's meaning. The kinds' numbers are what lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogRow {
    Header(HeaderRow),
    Session(u64),
    Launch(Box<LaunchRow>),
    Ended(EndedRow),
    /// A group of this number is synced in the database (SUP-19).
    Witness(u64),
    Counter(CounterRow),
}

impl LogRow {
    pub(crate) fn ended(key: &LaunchRecordKey) -> Self {
        Self::Ended(EndedRow {
            entry: key.entry.as_str().to_owned(),
            launch: key.launch.get(),
        })
    }

    /// Appends its frame to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, sequence: u64) -> Result<(), CodecError> {
        let (kind, body) = match self {
            Self::Header(row) => (1, codec::encode_body(row)),
            Self::Session(row) => (2, codec::encode_body(row)),
            Self::Launch(row) => (3, codec::encode_body(row)),
            Self::Ended(row) => (4, codec::encode_body(row)),
            Self::Witness(row) => (5, codec::encode_body(row)),
            Self::Counter(row) => (6, codec::encode_body(row)),
        };
        if frame::write(out, sequence, kind, &body?) {
            Ok(())
        } else {
            Err(CodecError::TooLarge)
        }
    }

    pub(crate) fn read(frame: &frame::Frame<'_>) -> Result<Self, CodecError> {
        if !frame.codec_known {
            return Err(CodecError::Codec(0));
        }
        Ok(match frame.kind {
            1 => Self::Header(codec::decode_body(frame.body)?),
            2 => Self::Session(codec::decode_body(frame.body)?),
            3 => Self::Launch(Box::new(codec::decode_body(frame.body)?)),
            4 => Self::Ended(codec::decode_body(frame.body)?),
            5 => Self::Witness(codec::decode_body(frame.body)?),
            6 => Self::Counter(codec::decode_body(frame.body)?),
            kind => return Err(CodecError::Version(kind)),
        })
    }
}
