//! Floor: one append and one `fdatasync`, in the data directory's file system.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::clock::Moment;

/// About the size of a launch's record.
const RECORD: usize = 200;

/// A file that grows.
pub(crate) struct Appended {
    file: File,
}

impl Appended {
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.join("floor"))?;
        file.sync_all()?;
        Ok(Self { file })
    }

    pub(crate) fn once(&mut self) -> anyhow::Result<Duration> {
        let begun = Moment::now();
        self.file.write_all(&[b'x'; RECORD])?;
        self.file.sync_data()?;
        Ok(begun.elapsed())
    }
}
