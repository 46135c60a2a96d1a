//! What `/proc/PID` says about a process.

use std::fs;
use std::io::{self, Read as _};

use crate::identity::{ProcessId, ProcessIdentity, StartTime};
use crate::mark::{LAUNCH_VARIABLE, LaunchText, Mark};

/// The environment of a process is read up to this many bytes.
const MAX_ENVIRONMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The program's short name, at most 15 bytes; the process can change it.
    pub name: String,
    /// The state letter: `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `Z` zombie, `X` dead.
    pub state: char,
    /// The parent; `None` for one outside this pid namespace.
    pub parent: Option<ProcessId>,
    /// The process group's number.
    pub group: i32,
    /// The session's number.
    pub session: i32,
    /// When it started.
    pub start_time: StartTime,
}

impl Stat {
    /// Whether it still runs or could: neither a zombie nor dead.
    #[must_use]
    pub fn is_living(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads `/proc/PID/stat`.
///
/// # Errors
///
/// `NotFound`: there is no such process (any more). `InvalidData`: the file is not what Linux writes.
pub fn stat(pid: ProcessId) -> io::Result<Stat> {
    let mut buffer = [0; 1024];
    let mut file = fs::File::open(format!("/proc/{pid}/stat"))?;
    let length = file.read(&mut buffer).map_err(gone)?;
    let line = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
    parse_stat(&line).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "unexpected form of /proc/PID/stat",
        )
    })
}

fn parse_stat(line: &str) -> Option<Stat> {
    // The name may contain anything, spaces and parentheses included; no later field contains a parenthesis.
    let (head, tail) = line.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Stat {
        name: name.to_owned(),
        state: field(3)?.chars().next()?,
        parent: ProcessId::try_from(field(4)?.parse::<i32>().ok()?).ok(),
        group: field(5)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        start_time: StartTime(field(22)?.parse().ok()?),
    })
}

/// A process that ends while its file is read gives `ESRCH`; that is the same as not found.
fn gone(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ESRCH) {
        io::ErrorKind::NotFound.into()
    } else {
        error
    }
}

/// Reads when a process started.
///
/// # Errors
///
/// As [`stat`].
pub fn identity(pid: ProcessId) -> io::Result<ProcessIdentity> {
    Ok(ProcessIdentity {
        pid,
        start_time: stat(pid)?.start_time,
    })
}

/// Reads the kernel function that a process waits in, for a person to see why it does not end; `None` if it waits in
/// none, or if the kernel does not say.
#[must_use]
pub fn wait_channel(pid: ProcessId) -> Option<String> {
    let channel = fs::read_to_string(format!("/proc/{pid}/wchan")).ok()?;
    (!channel.is_empty() && channel != "0").then_some(channel)
}

/// Reads a process's [`Mark`], a zombie's too; `None` if it has none.
///
/// # Errors
///
/// `NotFound`: there is no such process (any more).
pub fn mark(pid: ProcessId) -> io::Result<Option<Mark>> {
    let mut limits = String::new();
    fs::File::open(format!("/proc/{pid}/limits"))?
        .read_to_string(&mut limits)
        .map_err(gone)?;
    Ok(parse_mark(&limits))
}

fn parse_mark(limits: &str) -> Option<Mark> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
    let (soft, hard) = (fields.next()?.ok()?, fields.next()?.ok()?);
    if soft == hard {
        Mark::decode(soft)
    } else {
        None
    }
}

/// Reads a process's [`LaunchText`] from its environment; `None` if it has none, is a zombie or gone, or may not be
/// read: that of another user's process may not, without privileges.
///
/// # Errors
///
/// The caller's own lack of descriptors or memory.
pub fn launch_text(pid: ProcessId) -> io::Result<Option<LaunchText>> {
    match read_environment(pid).map_err(gone) {
        Ok(environment) => Ok(parse_launch_text(&environment)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn read_environment(pid: ProcessId) -> io::Result<Vec<u8>> {
    let mut environment = Vec::new();
    fs::File::open(format!("/proc/{pid}/environ"))?
        .take(MAX_ENVIRONMENT_BYTES)
        .read_to_end(&mut environment)?;
    Ok(environment)
}

fn parse_launch_text(environment: &[u8]) -> Option<LaunchText> {
    let text = environment.split(|byte| *byte == 0).find_map(|pair| {
        let value = pair.strip_prefix(LAUNCH_VARIABLE.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    Some(LaunchText(str::from_utf8(text).ok()?.to_owned()))
}

/// Reads the text of `/proc/PID/cgroup`: a line for each hierarchy. A zombie's too.
///
/// # Errors
///
/// `NotFound`: there is no such process (any more).
pub(crate) fn groups(pid: ProcessId) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(format!("/proc/{pid}/cgroup"))?
        .read_to_end(&mut text)
        .map_err(gone)?;
    Ok(text)
}

/// Takes the number of a child that std started.
pub(crate) fn child_id(number: u32) -> io::Result<ProcessId> {
    i32::try_from(number)
        .ok()
        .and_then(|number| ProcessId::try_from(number).ok())
        .ok_or_else(|| io::Error::other("a child without a process number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::{NodeTag, Ordinal};

    #[test]
    fn stat_of_a_process_with_a_hostile_name_is_read() {
        let line = "77 (a) R 1 (b) S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 5";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.name, "a) R 1 (b");
        assert_eq!(stat.state, 'S');
        assert_eq!(stat.parent.unwrap().get(), 12);
        assert_eq!((stat.group, stat.session), (34, 56));
        assert_eq!(stat.start_time, StartTime(987_654));
    }

    #[test]
    fn own_process_is_living_and_has_no_mark() {
        let own = ProcessId::current();
        assert!(stat(own).unwrap().is_living());
        assert_eq!(mark(own).unwrap(), None);
    }

    /// SUP-32
    #[test]
    fn only_equal_limits_are_a_mark() {
        let mark = Mark {
            node: NodeTag::new(5),
            ordinal: Ordinal::new(9),
        };
        let limits = |soft: &str| {
            format!(
                "Max realtime priority     0        0\nMax realtime timeout      {soft}  {}  us\n",
                mark.encode()
            )
        };
        assert_eq!(parse_mark(&limits(&mark.encode().to_string())), Some(mark));
        assert_eq!(parse_mark(&limits("200000")), None);
        assert_eq!(
            parse_mark("Max realtime timeout      unlimited            unlimited            us"),
            None
        );
    }

    #[test]
    fn launch_text_is_a_whole_variable() {
        assert_eq!(
            parse_launch_text(b"X=1\0TREEWARDEN_LAUNCH=n/e/1\0"),
            Some(LaunchText("n/e/1".into()))
        );
        assert_eq!(
            parse_launch_text(b"XTREEWARDEN_LAUNCH=n/e/1\0TREEWARDEN_LAUNCHES=2\0"),
            None
        );
    }
}
