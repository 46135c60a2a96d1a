//! The log's file: reading it whole, appending to it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::row::{LaunchRow, LogRow};
use super::state::LogState;
use super::{FILE_NAME, frame};
use crate::codec::CodecError;
use crate::error::OpenError;
use crate::launch::{LaunchRecord, LaunchRecordKey};
use crate::system;

/// Largest log that is read, in bytes. Compaction keeps it near one megabyte.
const LOG_MAX: u64 = 256 * 1024 * 1024;

/// The log as it was found.
#[derive(Debug)]
pub(crate) struct ReadLog {
    pub(crate) state: LogState,
    /// Bytes of whole frames; what follows them is a torn tail.
    pub(crate) whole: u64,
    pub(crate) torn: bool,
    /// Sequence of the last frame.
    pub(crate) sequence: u64,
}

/// Reads the log without changing it; `None` if there is none.
///
/// A broken frame that nothing whole follows is a torn tail: it was never answered for, or is the last group's. Any other is corrupt.
pub(crate) fn read(directory: &Path) -> Result<Option<ReadLog>, OpenError> {
    let path = directory.join(FILE_NAME);
    let size = match std::fs::metadata(&path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::io("look at", &path)(error)),
    };
    if size > LOG_MAX {
        return Err(OpenError::corrupt(
            path,
            format!("{size} bytes are more than a log ever has"),
        ));
    }
    let bytes = std::fs::read(&path).map_err(OpenError::io("read", &path))?;
    parse(&path, &bytes).map(Some)
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<ReadLog, OpenError> {
    let unreadable = |at: usize, error: &CodecError| match error {
        // A whole frame of a kind, or in a codec, that this version does not know was written by a newer one.
        CodecError::Version(_) | CodecError::Codec(_) => OpenError::Newer {
            path: path.to_owned(),
            found: "a newer log".to_owned(),
            known: crate::open::FORMAT,
        },
        error => OpenError::corrupt(
            path,
            format!("the record at byte {at} does not fit: {error}"),
        ),
    };
    let first = frame::read(bytes)
        .ok_or_else(|| OpenError::corrupt(path, "it does not begin with a whole record"))?;
    let LogRow::Header(header) = LogRow::read(&first).map_err(|error| unreadable(0, &error))?
    else {
        return Err(OpenError::corrupt(path, "it does not begin with a header"));
    };
    let mut state = LogState::from_header(&header);
    let mut sequence = first.sequence;
    let mut at = first.size;
    let mut rest = bytes.get(at..).unwrap_or_default();
    while !rest.is_empty() {
        let Some(found) = frame::read(rest) else {
            if frame::follows(rest, sequence) {
                return Err(OpenError::corrupt(
                    path,
                    format!("the record at byte {at} is damaged, and whole ones follow it"),
                ));
            }
            break;
        };
        if found.sequence != sequence.saturating_add(1) {
            return Err(OpenError::corrupt(
                path,
                format!("records are missing before byte {at}"),
            ));
        }
        let row = LogRow::read(&found).map_err(|error| unreadable(at, &error))?;
        state.apply(row).map_err(|error| unreadable(at, &error))?;
        sequence = found.sequence;
        at += found.size;
        rest = bytes.get(at..).unwrap_or_default();
    }
    let whole = u64::try_from(at).unwrap_or(u64::MAX);
    Ok(ReadLog {
        state,
        whole,
        torn: !rest.is_empty(),
        sequence,
    })
}

/// The log, open for appending.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    size: u64,
    sequence: u64,
    buffer: Vec<u8>,
}

impl LogFile {
    /// Takes over an open file that ends with the frame `sequence`.
    pub(super) fn new(file: File, size: u64, sequence: u64) -> Self {
        Self {
            file,
            size,
            sequence,
            buffer: Vec::new(),
        }
    }

    /// Goes on with the log after its last whole frame: cuts off what follows, appends the session's number and the ends
    /// that only the database knew, syncs.
    pub(crate) fn resume(
        directory: &Path,
        size: u64,
        sequence: u64,
        state: &LogState,
        ended: &[LaunchRecordKey],
    ) -> io::Result<Self> {
        let file = File::options()
            .append(true)
            .open(directory.join(FILE_NAME))?;
        file.set_len(size)?;
        let mut log = Self::new(file, size, sequence);
        let ended = ended.iter().map(LogRow::ended);
        for row in ended.chain([
            LogRow::Session(state.session.0),
            LogRow::Witness(state.witness.0),
        ]) {
            log.push(&row).map_err(io::Error::other)?;
        }
        log.append()?;
        log.sync()?;
        Ok(log)
    }

    /// Bytes in the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Puts a row into the next write.
    pub(crate) fn push(&mut self, row: &LogRow) -> Result<(), CodecError> {
        let next = self.sequence.saturating_add(1);
        row.write(&mut self.buffer, next)?;
        self.sequence = next;
        Ok(())
    }

    pub(crate) fn push_launch(&mut self, record: &LaunchRecord) -> Result<(), CodecError> {
        self.push(&LogRow::Launch(Box::new(LaunchRow::from(record))))
    }

    /// Writes what was pushed, in one write.
    pub(crate) fn append(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.size = self
            .size
            .saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX));
        self.buffer.clear();
        Ok(())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        system::sync_data(&self.file)
    }
}

#[cfg(test)]
mod tests;
