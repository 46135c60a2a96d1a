//! What a plugin's process is given before it waits at the gate.

use std::fmt;
use std::io;

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit, setsid,
};

use super::arguments::Arguments;
use crate::system::{descriptors, signals};
use crate::wire::{Limits, UserIds};

/// A step that may fail, named for the person who reads the plugin's stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    Descriptors,
    Signals,
    Session,
    OpenFiles,
    Memory,
    User,
    WorkingDirectory,
    ParentDeathSignal,
}

impl fmt::Display for Setup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Descriptors => "closing inherited descriptors",
            Self::Signals => "resetting signals",
            Self::Session => "opening a session",
            Self::OpenFiles => "limiting open files",
            Self::Memory => "limiting memory",
            Self::User => "changing the user",
            Self::WorkingDirectory => "entering the working directory",
            Self::ParentDeathSignal => "asking for the parent-death signal",
        })
    }
}

/// Does all of it, in an order that matters: limits while the right to raise them is there, then the user, then the
/// parent-death signal, which a change of user would clear.
pub(super) fn prepare(arguments: &Arguments) -> Result<(), (Setup, io::Error)> {
    step(Setup::Descriptors, descriptors::close_inherited())?;
    step(Setup::Signals, signals::reset_all())?;
    // A session of its own rather than only a group: no controlling terminal to read from, to be stopped by or to be
    // hung up with, and every member that does not ask for another session can be told by its session's number.
    step(Setup::Session, setsid().map(drop).map_err(io::Error::from))?;
    step(
        Setup::OpenFiles,
        limit_open_files(arguments.soft_open_files, arguments.limits),
    )?;
    if let Some(bytes) = arguments.limits.memory_bytes {
        step(Setup::Memory, limit(Resource::Data, bytes))?;
    }
    set_mark(arguments.mark.encode());
    if let Some(user) = &arguments.user {
        step(Setup::User, change_user(user))?;
    }
    step(
        Setup::WorkingDirectory,
        std::env::set_current_dir(&arguments.working_dir),
    )?;
    let signal = set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    step(Setup::ParentDeathSignal, signal)
}

fn step(setup: Setup, result: io::Result<()>) -> Result<(), (Setup, io::Error)> {
    result.map_err(|error| (setup, error))
}

fn limit_open_files(soft: Option<u64>, limits: Limits) -> io::Result<()> {
    if let Some(count) = limits.open_files {
        return limit(Resource::Nofile, count);
    }
    let Some(soft) = soft else { return Ok(()) };
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let soft = maximum.map_or(soft, |hard| soft.min(hard));
    Ok(setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(soft),
            maximum,
        },
    )?)
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    Ok(setrlimit(
        resource,
        Rlimit {
            current: Some(value),
            maximum: Some(value),
        },
    )?)
}

/// The mark is one of several ways to find a family again. Inside another node's plugin the limit may already be lower
/// than it and must not be raised: such a plugin is still found by its environment and its session.
fn set_mark(value: u64) {
    setrlimit(
        Resource::Rttime,
        Rlimit {
            current: Some(value),
            maximum: Some(value),
        },
    )
    .ok();
}

fn change_user(user: &UserIds) -> io::Result<()> {
    let groups: Vec<Gid> = user
        .other_groups
        .iter()
        .copied()
        .map(Gid::from_raw)
        .collect();
    setgroups(&groups)?;
    let (uid, gid) = (Uid::from_raw(user.user), Gid::from_raw(user.group));
    setresgid(gid, gid, gid)?;
    Ok(setresuid(uid, uid, uid)?)
}
