//! The group of one launch.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::location::own_path;
use crate::identity::ProcessId;
use crate::mark::Ordinal;
use crate::system::process;

/// Groups below one that are looked into; a family may make its own.
const MAX_DEPTH: usize = 32;

/// A launch's group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    folder: PathBuf,
    /// Its path as `/proc/PID/cgroup` has it.
    path: PathBuf,
    use_kill: bool,
}

impl Group {
    pub(crate) fn new(folder: PathBuf, path: PathBuf, use_kill: bool) -> Self {
        Self {
            folder,
            path,
            use_kill,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The launch that it was made for, by its name.
    pub(crate) fn ordinal(&self) -> Option<Ordinal> {
        let name = self.folder.file_name()?.to_str()?;
        name.parse().ok().map(Ordinal::new)
    }

    /// Moves a process into it.
    pub(crate) fn admit(&self, pid: ProcessId) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string())
    }

    /// Whether a process with this text in `/proc/PID/cgroup` is in it, or in a group below it. A zombie stays where it died.
    pub(crate) fn holds(&self, groups: &[u8]) -> bool {
        own_path(groups).is_some_and(|path| path.starts_with(&self.path))
    }

    /// Whether a living process is in it or below it. A group that is not there holds none: the kernel lets go of empty ones only.
    pub(crate) fn is_populated(&self) -> io::Result<bool> {
        match fs::read_to_string(self.folder.join("cgroup.events")) {
            Ok(events) => Ok(value_of(&events, "populated") != Some(0)),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the kernel has ended a process in it for want of memory. Where memory is not controlled nobody can say: no.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        fs::read_to_string(self.folder.join("memory.events"))
            .is_ok_and(|events| value_of(&events, "oom_kill").is_some_and(|count| count > 0))
    }

    /// SIGKILL for everyone in it and below it. With `cgroup.kill` nobody forks out of it; without, call it again until
    /// the group is empty (SUP-33).
    pub(crate) fn kill(&self) -> io::Result<()> {
        if self.use_kill {
            match fs::write(self.folder.join("cgroup.kill"), "1") {
                Err(error) if is_missing(&error) && self.folder.exists() => {}
                result => return result,
            }
        }
        self.kill_one_by_one(&self.folder, MAX_DEPTH);
        Ok(())
    }

    fn kill_one_by_one(&self, folder: &Path, depth: usize) {
        let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| line.parse::<i32>().ok()) {
            if let Ok(pid) = ProcessId::try_from(pid) {
                self.kill_member(pid).ok();
            }
        }
        if let Some(depth) = depth.checked_sub(1) {
            for below in folders_in(folder) {
                self.kill_one_by_one(&below, depth);
            }
        }
    }

    /// A number from a list may be a stranger's by now: with its pidfd open it must be in the group, and alive after
    /// that was read (SUP-18).
    fn kill_member(&self, pid: ProcessId) -> io::Result<()> {
        let pidfd = pidfd_open(pid.raw(), PidfdFlags::empty())?;
        if !self.holds(&process::groups(pid)?) {
            return Ok(());
        }
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let descriptor = pidfd.as_fd();
        if poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&now))? == 0 {
            pidfd_send_signal(&pidfd, Signal::KILL)?;
        }
        Ok(())
    }

    /// Removes it, and the groups below it. The kernel refuses while a living process is in one of them.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove(&self.folder, MAX_DEPTH)
    }
}

fn remove(folder: &Path, depth: usize) -> io::Result<()> {
    match fs::remove_dir(folder) {
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => {
            let below = folders_in(folder);
            let Some(depth) = depth.checked_sub(1).filter(|_| !below.is_empty()) else {
                return Err(error);
            };
            below.iter().try_for_each(|below| remove(below, depth))?;
            fs::remove_dir(folder)
        }
        Ok(()) => Ok(()),
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// A file of a group that was removed while it was open gives `ENODEV`.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV)
}

/// A value of a flat keyed file.
fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path) -> Group {
        Group::new(folder.to_owned(), "/a/treewarden-x/7".into(), true)
    }

    #[test]
    fn only_what_is_in_it_or_below_it_is_held() {
        let group = group(Path::new("/nowhere"));
        for (text, held) in [
            ("1:cpu:/\n0::/a/treewarden-x/7\n", true),
            ("0::/a/treewarden-x/7/own/deeper\n", true),
            ("0::/a/treewarden-x/70\n", false),
            ("0::/a/treewarden-x\n", false),
            ("0::/../a/treewarden-x/7\n", false),
            ("", false),
        ] {
            assert_eq!(group.holds(text.as_bytes()), held, "{text}");
        }
    }

    /// SUP-32: what can't be read is not called empty; what is gone is.
    #[test]
    fn empty_is_what_the_kernel_says_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let group = group(folder.path());
        assert!(!group.is_populated().unwrap());
        for (events, populated) in [
            ("populated 1\nfrozen 0\n", true),
            ("populated 0\nfrozen 0\n", false),
            ("", true),
        ] {
            fs::write(folder.path().join("cgroup.events"), events).unwrap();
            assert_eq!(group.is_populated().unwrap(), populated, "{events}");
        }
    }

    /// SUP-11: cause `out_of_memory`.
    #[test]
    fn want_of_memory_is_the_count_of_kills() {
        let folder = tempfile::tempdir().unwrap();
        let group = group(folder.path());
        assert!(!group.was_out_of_memory());
        for (events, found) in [
            ("low 0\nmax 9\noom 1\noom_kill 0\noom_group_kill 0\n", false),
            ("low 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n", true),
        ] {
            fs::write(folder.path().join("memory.events"), events).unwrap();
            assert_eq!(group.was_out_of_memory(), found, "{events}");
        }
    }
}
