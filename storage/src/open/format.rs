//! The file `format`: says that a directory is ours, in which format, whose, and whether its first start came to its end.
//!
//! It is the first file a first start writes and the last it changes, so an empty database in a directory that says `ready` is a loss and no beginning.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use treewarden_model::id::NodeId;
use uuid::Uuid;

use super::FORMAT;
use crate::error::OpenError;
use crate::system;

pub(super) const FILE_NAME: &str = "format";
const NEW_NAME: &str = "format.new";

/// How far the first start came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Log and database may be there or not.
    Creating,
    /// Both are there.
    Ready,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) node: NodeId,
    pub(super) progress: Progress,
}

fn text(format: Format) -> String {
    let progress = match format.progress {
        Progress::Creating => "creating",
        Progress::Ready => "ready",
    };
    format!(
        "treewarden data directory\nformat {FORMAT}\nnode {}\n{progress}\n",
        format.node
    )
}

/// Reads the format; `None` in a directory that was never used.
pub(super) fn read(directory: &Path) -> Result<Option<Format>, OpenError> {
    let path = directory.join(FILE_NAME);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::io("read", &path)(error)),
    };
    parse(&path, &bytes).map(Some)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Format, OpenError> {
    let damaged = || OpenError::corrupt(path, "it does not say what a format file says");
    let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
    let mut lines = text.lines();
    if lines.next() != Some("treewarden data directory") {
        return Err(damaged());
    }
    let number = lines
        .next()
        .and_then(|line| line.strip_prefix("format "))
        .ok_or_else(damaged)?;
    let number: u32 = number.parse().map_err(|_| damaged())?;
    // Before the rest, which a newer format may say otherwise.
    if number > FORMAT {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found: number.to_string(),
            known: FORMAT,
        });
    }
    if number == 0 {
        return Err(damaged());
    }
    let node = lines
        .next()
        .and_then(|line| line.strip_prefix("node "))
        .ok_or_else(damaged)?;
    let node = NodeId(Uuid::try_parse(node).map_err(|_| damaged())?);
    let progress = match (lines.next(), lines.next()) {
        (Some("creating"), None) => Progress::Creating,
        (Some("ready"), None) => Progress::Ready,
        _ => return Err(damaged()),
    };
    Ok(Format { node, progress })
}

/// Replaces the file durably.
pub(super) fn write(directory: &Path, format: Format) -> Result<(), OpenError> {
    let write = || -> io::Result<()> {
        let new = directory.join(NEW_NAME);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(text(format).as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, directory.join(FILE_NAME))?;
        system::sync_directory(directory)
    };
    write().map_err(OpenError::io("write", directory.join(FILE_NAME)))
}
