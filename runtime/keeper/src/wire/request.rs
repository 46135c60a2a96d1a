//! What the node asks of the keeper.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_text;
use crate::mark::{LaunchText, Mark, Ordinal};

/// A request. `Spawn` is answered with `Spawned` or `Refused`; the others show in `Exited` and `Gone`, and are ignored
/// for a launch that the keeper does not know (its `Gone` is then on its way, or it was refused).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "request")]
pub enum Request {
    /// Start a program; it waits at the gate until one byte arrives on its stdin.
    Spawn(Box<SpawnRequest>),
    /// SIGTERM, then SIGCONT, to every member of the family, now and as they are adopted later.
    Interrupt {
        /// The launch.
        ordinal: Ordinal,
    },
    /// SIGKILL to every member of the family, again and again until it is empty (SUP-33).
    Kill {
        /// The launch.
        ordinal: Ordinal,
    },
}

/// What to start, and as what.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRequest {
    /// The launch's mark; its ordinal names the launch from here on.
    pub mark: Mark,
    /// The launch's text. The keeper puts it into the environment as `TREEWARDEN_LAUNCH`.
    pub launch_text: LaunchText,
    /// The program: an absolute path, or a bare name that is looked up in the `PATH` of `env`.
    #[serde(with = "os_text::path")]
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    #[serde(with = "os_text::list")]
    pub args: Vec<OsString>,
    /// Its whole environment, but for `TREEWARDEN_LAUNCH`.
    #[serde(with = "os_text::pairs")]
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory: an absolute path.
    #[serde(with = "os_text::path")]
    pub working_dir: PathBuf,
    /// Its resource limits.
    #[serde(default)]
    pub limits: Limits,
    /// The user to run as; the keeper's own if none.
    #[serde(default)]
    pub user: Option<UserIds>,
}

impl SpawnRequest {
    /// The launch's ordinal.
    #[must_use]
    pub fn ordinal(&self) -> Ordinal {
        self.mark.ordinal
    }
}

/// Shows the environment's names only: values may be secrets.
impl fmt::Debug for SpawnRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("SpawnRequest")
            .field("mark", &self.mark)
            .field("launch_text", &self.launch_text)
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("working_dir", &self.working_dir)
            .field("limits", &self.limits)
            .field("user", &self.user)
            .finish()
    }
}

/// Limits of one plugin (SUP-30), held by its control group where that can, else by rlimit where there is one; what is
/// `None` stays as the keeper has it. [`Event::Spawned`](super::Event::Spawned) says what holds them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Open files (`RLIMIT_NOFILE`, soft and hard).
    pub open_files: Option<u64>,
    /// Memory in bytes: of the family (`memory.max`), else private writable memory of each process (`RLIMIT_DATA`, soft
    /// and hard). Address space is not limited: runtimes reserve far more of it than they use.
    pub memory_bytes: Option<u64>,
    /// Processes and threads of the family (`pids.max`), else not enforced.
    pub processes: Option<u64>,
    /// Processor time of the family, in thousandths of one processor (`cpu.max`), else not enforced.
    pub cpu_thousandths: Option<u64>,
}

/// Whom to run as (SUP-30). Needs root, or CAP_SETUID, CAP_SETGID and CAP_KILL; a failure ends the launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserIds {
    /// The user's number.
    pub user: u32,
    /// The number of its main group.
    pub group: u32,
    /// The numbers of its other groups.
    #[serde(default)]
    pub other_groups: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::mark::NodeTag;

    fn spawn() -> SpawnRequest {
        SpawnRequest {
            mark: Mark {
                node: NodeTag::new(1),
                ordinal: Ordinal::new(2),
            },
            launch_text: LaunchText("node/entry/2".into()),
            program: OsString::from_vec(vec![b'/', 0xff]).into(),
            args: vec![
                "plain".into(),
                OsString::from_vec(vec![0xfe]),
                OsString::new(),
            ],
            env: vec![
                ("TOKEN".into(), "secret-value".into()),
                (OsString::from_vec(vec![0xfd]), "x".into()),
            ],
            working_dir: "/".into(),
            limits: Limits {
                open_files: Some(1),
                cpu_thousandths: Some(2),
                ..Limits::default()
            },
            user: Some(UserIds {
                user: 1,
                group: 2,
                other_groups: vec![3],
            }),
        }
    }

    #[test]
    fn requests_round_trip_whatever_the_bytes() {
        let ordinal = Ordinal::new(7);
        for request in [
            Request::Spawn(Box::new(spawn())),
            Request::Interrupt { ordinal },
            Request::Kill { ordinal },
        ] {
            let bytes = serde_json::to_vec(&request).unwrap();
            assert_eq!(serde_json::from_slice::<Request>(&bytes).unwrap(), request);
        }
    }

    /// SUP-30: nothing secret reaches a log by way of a debug format.
    #[test]
    fn debug_shows_no_value_of_the_environment() {
        let text = format!("{:?}", Request::Spawn(Box::new(spawn())));
        assert!(
            text.contains("TOKEN") && !text.contains("secret-value"),
            "{text}"
        );
    }
}
