//! Children and deeper descendants, from `/proc/PID/task/TID/children`.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;

use crate::identity::ProcessId;

/// The list of the calling thread's own children, kept open so that it can be read when no descriptor is free.
#[derive(Debug)]
pub(crate) struct OwnChildren {
    file: fs::File,
}

impl OwnChildren {
    /// Opens the list. Belongs to the calling thread; meant for a single-threaded process.
    ///
    /// # Errors
    ///
    /// `NotFound`: the kernel was built without `CONFIG_PROC_CHILDREN`, or `/proc` is missing.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self {
            file: fs::File::open("/proc/thread-self/children")?,
        })
    }

    /// Reads the list, zombies included. A child leaves it only by being reaped, so whoever alone reaps loses none; one
    /// that is adopted meanwhile may be missed, which the zombie that was its parent gives away.
    ///
    /// # Errors
    ///
    /// None that a supported kernel would give.
    pub(crate) fn list(&self) -> io::Result<Vec<ProcessId>> {
        let mut text = Vec::new();
        let mut chunk = [0; 8192];
        loop {
            let offset = u64::try_from(text.len()).unwrap_or(u64::MAX);
            let length = rustix::io::retry_on_intr(|| {
                rustix::io::pread(self.file.as_fd(), &mut chunk[..], offset)
            })?;
            if length == 0 {
                return Ok(parse(&text));
            }
            text.extend_from_slice(chunk.get(..length).unwrap_or_default());
        }
    }
}

/// Reads the children of all threads of a process; empty when it is gone.
#[must_use]
pub fn of(pid: ProcessId) -> Vec<ProcessId> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        if let Ok(text) = fs::read(thread.path().join("children")) {
            children.extend(parse(&text));
        }
    }
    children
}

fn parse(text: &[u8]) -> Vec<ProcessId> {
    text.split(u8::is_ascii_whitespace)
        .filter_map(|number| {
            ProcessId::try_from(str::from_utf8(number).ok()?.parse::<i32>().ok()?).ok()
        })
        .collect()
}
