//! One launch in the keeper's table.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::OwnedFd;

use crate::cgroup::{EnforcedLimits, Group};
use crate::identity::{ProcessId, ProcessIdentity};
use crate::leftovers::LastLaunch;
use crate::mark::{LaunchText, Mark, Ordinal};
use crate::outcome::{Evidence, ExitStatus};
use crate::wire::Event;

/// What the node has asked for, so far. It only ever grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    NotAsked,
    Interrupt,
    Kill,
}

/// The next event of a launch that the node has not been told. It only ever advances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Untold {
    Spawned,
    Exited,
    Gone,
    Nothing,
}

#[derive(Debug)]
pub(super) struct Launch {
    pub(super) mark: Mark,
    pub(super) text: LaunchText,
    pub(super) leader: ProcessIdentity,
    /// The leader's exit status; `None` while it is unreaped, and its number its own.
    pub(super) status: Option<ExitStatus>,
    pub(super) ending: Ending,
    pub(super) killed: bool,
    /// The keeper's own children in this family.
    pub(super) members: BTreeSet<ProcessId>,
    /// Who has been interrupted, so that nobody is twice.
    pub(super) interrupted: HashSet<ProcessIdentity>,
    pub(super) gone: Option<Evidence>,
    /// Its control group, if it has one.
    pub(super) group: Option<Group>,
    /// What holds its limits.
    pub(super) limits: EnforcedLimits,
    pub(super) out_of_memory: bool,
    /// SIGKILL was sent to its group.
    pub(super) group_killed: bool,
    pidfd: Option<OwnedFd>,
    untold: Untold,
}

impl Launch {
    pub(super) fn new(
        mark: Mark,
        text: LaunchText,
        leader: ProcessIdentity,
        pidfd: OwnedFd,
    ) -> Self {
        Self {
            mark,
            text,
            leader,
            status: None,
            ending: Ending::NotAsked,
            killed: false,
            members: BTreeSet::from([leader.pid]),
            interrupted: HashSet::new(),
            gone: None,
            group: None,
            limits: EnforcedLimits::default(),
            out_of_memory: false,
            group_killed: false,
            pidfd: Some(pidfd),
            untold: Untold::Spawned,
        }
    }

    pub(super) fn ordinal(&self) -> Ordinal {
        self.mark.ordinal
    }

    pub(super) fn is_living(&self) -> bool {
        self.gone.is_none()
    }

    /// Whether its leader is reaped and no member is among the keeper's children.
    pub(super) fn has_left_the_tree(&self) -> bool {
        self.status.is_some() && self.members.is_empty()
    }

    /// Whether this process is the leader: its number is that only until the leader is reaped.
    pub(super) fn is_led_by(&self, pid: ProcessId) -> bool {
        self.status.is_none() && self.leader.pid == pid
    }

    /// The event that is due, if one is.
    pub(super) fn due_event(&self) -> Option<Event> {
        let ordinal = self.ordinal();
        match self.untold {
            Untold::Spawned => Some(Event::Spawned {
                ordinal,
                pid: self.leader.pid,
                start_time: self.leader.start_time,
                limits: self.limits,
            }),
            Untold::Exited => self.status.map(|status| Event::Exited { ordinal, status }),
            Untold::Gone => self.gone.map(|evidence| Event::Gone {
                ordinal,
                evidence,
                killed: self.killed,
                out_of_memory: self.out_of_memory,
            }),
            Untold::Nothing => None,
        }
    }

    /// The descriptor that goes with the due event.
    pub(super) fn due_descriptor(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref()
    }

    /// Takes note that the due event was sent.
    pub(super) fn told(&mut self) {
        self.pidfd = None;
        self.untold = match self.untold {
            Untold::Spawned => Untold::Exited,
            Untold::Exited => Untold::Gone,
            Untold::Gone | Untold::Nothing => Untold::Nothing,
        };
    }

    pub(super) fn is_answered(&self) -> bool {
        self.untold != Untold::Spawned
    }

    pub(super) fn is_all_told(&self) -> bool {
        self.untold == Untold::Nothing
    }

    pub(super) fn last_words(&self) -> LastLaunch {
        LastLaunch {
            ordinal: self.ordinal(),
            launch_text: self.text.clone(),
            leader: self.leader,
            exit_status: self.status,
            killed: self.killed,
            evidence: self.gone,
            out_of_memory: self.out_of_memory,
        }
    }
}
