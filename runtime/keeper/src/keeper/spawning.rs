//! Starting a shim.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::process::{PidfdFlags, pidfd_open};

use super::launch::Launch;
use super::options::Options;
use crate::cgroup::{EnforcedLimits, Group, Groups};
use crate::identity::ProcessId;
use crate::shim::arguments::{Arguments, shim_environment};
use crate::system::process;
use crate::wire::{Limits, SpawnRequest};

/// Who starts shims, and how.
#[derive(Debug)]
pub(super) struct Spawner {
    keeper: ProcessId,
    options: Options,
    /// `None`: launches get no control groups.
    groups: Option<Groups>,
}

impl Spawner {
    pub(super) fn new(keeper: ProcessId, options: Options) -> Self {
        let groups = Groups::find(options.cgroup);
        Self {
            keeper,
            options,
            groups,
        }
    }

    /// Starts the shim for a request, with these as its stdin, stdout and stderr. Afterwards the keeper holds no copy of
    /// them: a plugin must see the end of its stdin when the node goes.
    ///
    /// Nothing is reaped meanwhile, so the number is the child's own until its pidfd is open. A child that cannot be
    /// watched, or does not get into the group that holds its limits, is killed and reaped before the error is returned:
    /// nothing unowned is left.
    pub(super) fn spawn(
        &mut self,
        request: &SpawnRequest,
        standard: [OwnedFd; 3],
    ) -> io::Result<Launch> {
        let node = request.launch_text.node();
        let made = self
            .groups
            .as_mut()
            .and_then(|groups| groups.create(node, request.ordinal(), &request.limits));
        let (mut group, limits) = made.map_or_else(
            || (None, EnforcedLimits::by_rlimit(&request.limits)),
            |(group, limits)| (Some(group), limits),
        );
        let started = self.start(request, standard, limits, &mut group);
        if started.is_err()
            && let Some(group) = &group
        {
            group.remove().ok();
        }
        let mut launch = started?;
        launch.group = group;
        launch.limits = limits;
        Ok(launch)
    }

    fn start(
        &mut self,
        request: &SpawnRequest,
        standard: [OwnedFd; 3],
        limits: EnforcedLimits,
        group: &mut Option<Group>,
    ) -> io::Result<Launch> {
        let by_shim = limits.left_for_rlimit(&request.limits);
        let mut child = command(request, standard, by_shim, self.keeper, &self.options).spawn()?;
        watch(&child, request)
            .and_then(|launch| {
                self.admit(&launch, limits, group)?;
                Ok(launch)
            })
            .or_else(|error| {
                child.kill()?;
                child.wait()?;
                Err(error)
            })
    }

    /// It waits at the gate, so nothing of the plugin has run yet. A group that can be made but not be joined is as good
    /// as none, for this launch and for later ones; but not where it is to hold limits: those were promised.
    fn admit(
        &mut self,
        launch: &Launch,
        limits: EnforcedLimits,
        group: &mut Option<Group>,
    ) -> io::Result<()> {
        let Some(found) = group else { return Ok(()) };
        let Err(error) = found.admit(launch.leader.pid) else {
            return Ok(());
        };
        // It has ended already, at the gate or before: whatever it was in holds nobody of it.
        if error.raw_os_error() == Some(libc::ESRCH) {
            return Ok(());
        }
        self.groups = None;
        if limits.needs_group() {
            let text = format!("it could not be put into its control group: {error}");
            return Err(io::Error::new(error.kind(), text));
        }
        found.remove().ok();
        *group = None;
        Ok(())
    }

    /// What is left of the groups goes with the keeper.
    pub(super) fn leave(self) {
        if let Some(groups) = self.groups {
            groups.leave();
        }
    }
}

fn command(
    request: &SpawnRequest,
    standard: [OwnedFd; 3],
    limits: Limits,
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
        .args(Arguments::of(request, keeper, options.soft_open_files, limits).into_arguments())
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
