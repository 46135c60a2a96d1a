//! Processes that bear a node's marks, found in the whole process table.

use std::fs;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::identity::{ProcessId, ProcessIdentity};
use crate::mark::{LaunchText, Mark, NodeTag};
use crate::system::process;

/// How a node's processes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMarks {
    /// The node's tag in the marks.
    pub tag: NodeTag,
    /// The node's id as launch texts begin with it.
    pub id: String,
}

/// A living process that bears a node's mark, or names the node in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedProcess {
    /// Who it is.
    pub identity: ProcessIdentity,
    /// Its mark, if it has one.
    pub mark: Option<Mark>,
    /// Its launch text, if it has one.
    pub launch_text: Option<LaunchText>,
}

/// Lists all living processes that bear the node's marks: by either mark, unless the other one names another node. The
/// calling process itself is left out.
///
/// # Errors
///
/// `/proc` cannot be listed.
pub fn scan_marked(node: &NodeMarks) -> io::Result<Vec<MarkedProcess>> {
    let own = ProcessId::current();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = number
            .and_then(|number| ProcessId::try_from(number).ok())
            .filter(|pid| *pid != own)
        else {
            continue;
        };
        found.extend(look(pid, node));
    }
    Ok(found)
}

fn look(pid: ProcessId, node: &NodeMarks) -> Option<MarkedProcess> {
    let stat = process::stat(pid).ok().filter(process::Stat::is_living)?;
    let (mark, launch_text) = (process::mark(pid).ok()?, process::launch_text(pid).ok()?);
    let by_mark = mark.map(|mark| mark.node == node.tag);
    let by_text = launch_text.as_ref().map(|text| text.node() == node.id);
    match (by_mark, by_text) {
        (Some(true), None | Some(true)) | (None, Some(true)) => Some(MarkedProcess {
            identity: ProcessIdentity {
                pid,
                start_time: stat.start_time,
            },
            mark,
            launch_text,
        }),
        // A mark of another node and this node's text, or the other way round: one of two nested nodes set it last.
        // Killing is for those that are surely this node's; naming is for all.
        _ => None,
    }
}

/// Sends SIGKILL once to every process that bears the node's marks, and returns those that were found, for the caller
/// to come back after a short wait until none is: a single pass proves nothing, since processes fork.
///
/// A process is signalled through a pidfd, after mark and start time were read again with the pidfd open: a reused
/// process number is never signalled (SUP-18). One that may not be signalled is still returned.
///
/// # Errors
///
/// As [`scan_marked`].
pub fn kill_marked(node: &NodeMarks) -> io::Result<Vec<MarkedProcess>> {
    let found = scan_marked(node)?;
    for process in &found {
        kill_verified(process, node).ok();
    }
    Ok(found)
}

fn kill_verified(process: &MarkedProcess, node: &NodeMarks) -> rustix::io::Result<()> {
    let pidfd = pidfd_open(process.identity.pid.raw(), PidfdFlags::empty())?;
    if look(process.identity.pid, node).as_ref() != Some(process) {
        return Err(Errno::SRCH);
    }
    // Still alive now, so the number was its own while it was looked at.
    let mut entries = [PollFd::new(&pidfd, PollFlags::IN)];
    if poll(
        &mut entries,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    )? > 0
    {
        return Err(Errno::SRCH);
    }
    pidfd_send_signal(&pidfd, Signal::KILL)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "test code")]

    use std::process::{Child, Command, Stdio};

    use super::*;

    fn node(name: &str) -> NodeMarks {
        NodeMarks {
            tag: NodeTag::new(0x7e57),
            id: format!("{name}-{}", std::process::id()),
        }
    }

    fn sleeper(text: &str) -> (Child, ProcessId) {
        let child = Command::new("sleep")
            .arg("1000")
            .env("TREEWARDEN_LAUNCH", text)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = process::child_id(child.id()).unwrap();
        // Until the exec the environment is this process's.
        while process::launch_text(pid)
            .unwrap()
            .is_none_or(|found| found.0 != text)
        {
            std::thread::yield_now();
        }
        (child, pid)
    }

    /// Starts sleepers until one has this number; `None` without the right to choose numbers.
    fn sleeper_with(pid: ProcessId, text: &str) -> Option<Child> {
        for _ in 0..200 {
            fs::write("/proc/sys/kernel/ns_last_pid", (pid.get() - 1).to_string()).ok()?;
            let (mut child, got) = sleeper(text);
            if got == pid {
                return Some(child);
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        None
    }

    /// SUP-18, S13: not even one that bears the very same marks.
    #[test]
    fn reused_pid_is_never_signalled() {
        let node = node("reused");
        let text = format!("{}/entry/1", node.id);
        let (mut child, pid) = sleeper(&text);
        let stale = look(pid, &node).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(kill_verified(&stale, &node).is_err());
        for decoy_text in ["stranger/entry/1", &text] {
            let mut decoy = loop {
                let Some(mut decoy) = sleeper_with(pid, decoy_text) else {
                    return;
                };
                // Within one clock tick the start times would be equal; numbers are not reused that fast.
                if process::identity(pid).unwrap() != stale.identity {
                    break decoy;
                }
                decoy.kill().unwrap();
                decoy.wait().unwrap();
            };
            assert!(kill_verified(&stale, &node).is_err());
            // Had it been sent SIGKILL, that and not this would have ended it.
            rustix::process::kill_process(pid.raw(), Signal::TERM).unwrap();
            let status = decoy.wait().unwrap();
            assert_eq!(
                std::os::unix::process::ExitStatusExt::signal(&status),
                Some(libc::SIGTERM)
            );
        }
    }

    /// SUP-17
    #[test]
    fn process_named_by_its_environment_is_found_and_killed() {
        let node = node("named");
        let (mut child, pid) = sleeper(&format!("{}/entry/2", node.id));
        let found = kill_marked(&node).unwrap();
        assert!(
            found
                .iter()
                .any(|process| process.identity.pid == pid && process.mark.is_none())
        );
        let status = child.wait().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(libc::SIGKILL)
        );
        assert!(
            scan_marked(&node)
                .unwrap()
                .iter()
                .all(|process| process.identity.pid != pid)
        );
    }
}
