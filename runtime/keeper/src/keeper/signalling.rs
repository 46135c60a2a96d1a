//! Interrupting and killing families.
//!
//! The keeper's own children are signalled by number: they are unreaped, and nobody else reaps them, so the number is
//! their own. A group is signalled by number only while its leader is such a child. Everything deeper is signalled
//! through verified pidfds ([`descendants`]) (SUP-18).
//!
//! Errors of single signals are left alone: the process has just ended, or may not be signalled, and then it stays in
//! the table and keeps its family from being called gone.

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group, pidfd_send_signal};

use super::ascription::could_own;
use super::descendants;
use super::families::{Child, Families, Reach};
use super::launch::{Ending, Launch};
use crate::identity::ProcessId;
use crate::mark::Ordinal;

/// Signals whoever is to be signalled now. Called once a pass, so that members adopted later get it too.
pub(super) fn signal(families: &mut Families, reach: Reach) {
    let Families {
        launches,
        children,
        kill_everything,
        ..
    } = families;
    for launch in launches.values_mut().filter(|launch| launch.is_living()) {
        match launch.ending {
            Ending::NotAsked => {}
            Ending::Interrupt => interrupt(launch, children),
            Ending::Kill => kill(launch, children, reach),
        }
    }
    for child in children.values_mut().filter(|child| child.launch.is_none()) {
        if *kill_everything || belongs_to_the_killed(child, launches) {
            kill_child(child);
        }
    }
}

/// Interrupts everything below the keeper's own children of this family; those themselves are interrupted by the next pass.
pub(super) fn interrupt_descendants(families: &mut Families, ordinal: Ordinal) {
    let Some(launch) = families.launches.get_mut(&ordinal) else {
        return;
    };
    let Launch {
        members,
        interrupted,
        ..
    } = launch;
    for member in members.iter() {
        descendants::walk(*member, &mut |identity, pidfd| {
            if interrupted.insert(identity) {
                pidfd_send_signal(pidfd, Signal::TERM).ok();
                pidfd_send_signal(pidfd, Signal::CONT).ok();
            }
        });
    }
}

fn interrupt(launch: &mut Launch, children: &Children) {
    for child in launch.members.iter().filter_map(|pid| children.get(pid)) {
        if launch.interrupted.insert(child.identity) {
            let pid = child.identity.pid.raw();
            kill_process(pid, Signal::TERM).ok();
            // A stopped process handles SIGTERM only when it runs again.
            kill_process(pid, Signal::CONT).ok();
        }
    }
}

fn kill(launch: &mut Launch, children: &mut Children, reach: Reach) {
    kill_group(launch, reach);
    for pid in &launch.members {
        if reach == Reach::Descendants {
            // Below a member that does not die, nobody is handed to the keeper.
            let killed = &mut launch.killed;
            descendants::walk(*pid, &mut |_, pidfd| {
                *killed |= pidfd_send_signal(pidfd, Signal::KILL).is_ok()
            });
        }
        if let Some(child) = children.get_mut(pid) {
            kill_child(child);
        }
    }
}

/// First of all: nobody forks out of a group that is killed. Those in it that the tree does not have were put there, or
/// hide; nobody else will say that they were killed.
fn kill_group(launch: &mut Launch, reach: Reach) {
    let Some(group) = &launch.group else { return };
    if !launch.group_killed || reach == Reach::Descendants {
        launch.killed |= launch.has_left_the_tree() && group.is_populated().unwrap_or(false);
        // A group that cannot be killed leaves the tree.
        launch.group_killed = group.kill().is_ok();
    }
}

type Children = std::collections::BTreeMap<ProcessId, Child>;

fn kill_child(child: &mut Child) {
    let pid = child.identity.pid.raw();
    // Each time: its group may have grown.
    kill_group_led_by(pid);
    if !child.kill_sent {
        child.kill_sent = kill_process(pid, Signal::KILL).is_ok();
    }
}

/// One system call under one kernel lock: no member can fork its way out.
fn kill_group_led_by(pid: Pid) {
    if getpgid(Some(pid)) == Ok(pid) {
        kill_process_group(pid, Signal::KILL).ok();
    }
}

/// The last chance to signal the group of this zombie, the keeper's child, by its number.
pub(super) fn kill_group_of_zombie(families: &Families, pid: ProcessId) {
    let Some(child) = families.children.get(&pid) else {
        return;
    };
    let launch = child
        .launch
        .and_then(|ordinal| families.launches.get(&ordinal));
    if families.kill_everything || launch.is_some_and(|launch| launch.ending == Ending::Kill) {
        kill_group_led_by(pid.raw());
    }
}

/// Whether every launch that an unascribed process may belong to is being killed: then it belongs to one of those.
fn belongs_to_the_killed(
    child: &Child,
    launches: &std::collections::BTreeMap<Ordinal, Launch>,
) -> bool {
    let mut possible = could_own(child.identity.start_time, launches.values()).peekable();
    possible.peek().is_some() && possible.all(|launch| launch.ending == Ending::Kill)
}
