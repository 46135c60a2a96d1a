//! Starting a shim.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::process::{PidfdFlags, pidfd_open};

use super::launch::Launch;
use super::options::Options;
use crate::identity::ProcessId;
use crate::shim::arguments::{Arguments, shim_environment};
use crate::system::process;
use crate::wire::SpawnRequest;

/// Starts the shim for a request, with these as its stdin, stdout and stderr. Afterwards the keeper holds no copy of
/// them: a plugin must see the end of its stdin when the node goes.
///
/// Nothing is reaped meanwhile, so the number is the child's own until its pidfd is open. A child that cannot be watched
/// is killed and reaped before the error is returned: nothing unowned is left.
pub(super) fn spawn(
    request: &SpawnRequest,
    standard: [OwnedFd; 3],
    keeper: ProcessId,
    options: &Options,
) -> io::Result<Launch> {
    let mut child = command(request, standard, keeper, options).spawn()?;
    watch(&child, request).or_else(|error| {
        child.kill()?;
        child.wait()?;
        Err(error)
    })
}

fn command(
    request: &SpawnRequest,
    standard: [OwnedFd; 3],
    keeper: ProcessId,
    options: &Options,
) -> Command {
    let [stdin, stdout, stderr] = standard;
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that starts plugins"
    )]
    let mut command = Command::new(&options.shim_program);
    command
        .args(&options.shim_args)
        .args(Arguments::of(request, keeper, options.soft_open_files).into_arguments())
        .env_clear()
        .envs(shim_environment(request))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    command
}

fn watch(child: &Child, request: &SpawnRequest) -> io::Result<Launch> {
    let pid = process::child_id(child.id())?;
    let pidfd = pidfd_open(pid.raw(), PidfdFlags::empty())?;
    let leader = process::identity(pid)?;
    Ok(Launch::new(
        request.mark,
        request.launch_text.clone(),
        leader,
        pidfd,
    ))
}
