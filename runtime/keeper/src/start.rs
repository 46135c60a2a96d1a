//! Starting a keeper from the node.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::cgroup::CgroupUse;
use crate::identity::ProcessId;
use crate::keeper::options::Options;
use crate::link::Link;
use crate::system::process;

/// What starts a keeper.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// The program that contains the keeper, e.g. `/proc/self/exe`.
    pub program: PathBuf,
    /// The arguments that make it one, e.g. `["keeper"]`; the keeper's own follow.
    pub args: Vec<OsString>,
    /// The program that contains the exec shim.
    pub shim_program: PathBuf,
    /// The arguments that make it one, e.g. `["shim"]`.
    pub shim_args: Vec<OsString>,
    /// The data directory: `keeper.lock` and `keeper.last` live in it. The keeper must be able to write there.
    pub data_dir: PathBuf,
    /// The soft limit of open files that plugins get where their entry sets none. The node raises its own, which its
    /// children would inherit; `None` means the calling process's.
    pub soft_open_files: Option<u64>,
    /// Whether launches get control groups.
    pub cgroup: CgroupUse,
}

/// A started keeper.
#[derive(Debug)]
pub struct KeeperProcess {
    /// Its process number.
    pub pid: ProcessId,
    /// Readable once it has ended; wait for this, not for the link's end, before its children are looked for.
    pub pidfd: OwnedFd,
}

/// Starts a keeper. Its first event is `Hello`, or `CannotStart` when another one still holds the lock.
///
/// The keeper is a child of the calling process, in a process group of its own, so that a terminal's interrupt does not
/// reach it; it has none of the caller's descriptors or environment. Whoever starts it reaps it. It lives until the
/// [`Link`] is closed: a crash of the node closes it too.
///
/// # Errors
///
/// Whatever creating the socket pair or the process says. A keeper that was created but cannot be watched is killed and reaped.
pub fn start(options: &KeeperOptions) -> io::Result<(Link, KeeperProcess)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let own = Options {
        data_dir: std::path::absolute(&options.data_dir)?,
        shim_program: program_path(&options.shim_program)?,
        shim_args: options.shim_args.clone(),
        soft_open_files: options.soft_open_files,
        cgroup: options.cgroup,
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that starts a keeper"
    )]
    let mut command = std::process::Command::new(&options.program);
    command
        .args(&options.args)
        .args(own.to_arguments())
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = command.spawn()?;
    drop(command);
    let watched = process::child_id(child.id())
        .and_then(|pid| Ok((pid, pidfd_open(pid.raw(), PidfdFlags::empty())?)));
    match watched {
        Ok((pid, pidfd)) => Ok((Link::new(ours), KeeperProcess { pid, pidfd })),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

/// `/proc/self/exe` means another program in the keeper than here; the others only need to be absolute.
fn program_path(program: &Path) -> io::Result<PathBuf> {
    if program == Path::new("/proc/self/exe") {
        Ok(program.to_owned())
    } else {
        std::path::absolute(program)
    }
}
