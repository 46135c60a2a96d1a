//! The table of launches, and of the keeper's own children: who was adopted by whom, reaped, and gone.
//!
//! A family is what was ascribed to a launch among the keeper's own children, and everything below those. It is gone
//! when its leader is reaped and a list of the keeper's children, read after that, holds none of its members. Such a list
//! misses nobody: a child leaves it only when the keeper itself reaps it, zombies stay in it, and whoever is handed to the
//! keeper meanwhile had an ancestor in it, which counts as a member until it is reaped. A turn still ends only with a pass
//! that finds no zombie, so that what is declared is also the newest that can be said.
//!
//! A launch with a control group is gone only when that is empty too: the better evidence, which holds against what hides
//! its marks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::ascription::{self, Traces};
use super::launch::{Ending, Launch};
use super::signalling;
use crate::cgroup::Group;
use crate::identity::{ProcessId, ProcessIdentity, StartTime};
use crate::mark::Ordinal;
use crate::outcome::{Evidence, ExitStatus};
use crate::system::children::OwnChildren;
use crate::system::process;
use crate::system::wait::{self, Look};
use crate::wire::{MAX_NAMED_UNASCRIBED, UnascribedProcess};

/// Passes in one turn: a family that forks faster than it is looked at must not keep the node's requests waiting.
const MAX_PASSES: usize = 16;

/// Children reaped in one pass, for the same reason.
const MAX_REAPED: usize = 1024;

/// A child of the keeper: a leader, or adopted.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) identity: ProcessIdentity,
    /// Its family, for good; `None` if it could not be ascribed.
    pub(super) launch: Option<Ordinal>,
    /// SIGKILL was sent; it cannot be ignored, so once is enough.
    pub(super) kill_sent: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// The last pass saw everything; otherwise another turn is due soon.
    pub(super) complete: bool,
    /// A child was reaped or adopted.
    pub(super) progress: bool,
    /// The keeper has no child at all.
    pub(super) childless: bool,
}

/// How far a turn looks for whom to signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The keeper's own children, and their groups.
    Children,
    /// Everything below them too.
    Descendants,
}

#[derive(Debug)]
pub(super) struct Families {
    pub(super) launches: BTreeMap<Ordinal, Launch>,
    pub(super) children: BTreeMap<ProcessId, Child>,
    /// Groups of launches that are gone, which the kernel did not let go of yet. They keep nobody waiting.
    empty_groups: Vec<Group>,
    /// The node is gone and its time is up: whatever is left is killed, ascribed or not.
    pub(super) kill_everything: bool,
    own_children: OwnChildren,
    /// Launches with news since this was last taken.
    news: BTreeSet<Ordinal>,
    unascribed_news: bool,
    progress: bool,
}

impl Families {
    pub(super) fn new(own_children: OwnChildren) -> Self {
        Self {
            launches: BTreeMap::new(),
            children: BTreeMap::new(),
            empty_groups: Vec::new(),
            kill_everything: false,
            own_children,
            news: BTreeSet::new(),
            unascribed_news: false,
            progress: false,
        }
    }

    /// Takes a started launch into the table. It comes before anything is reaped, so its leader's number is its own.
    pub(super) fn add(&mut self, launch: Launch) {
        let (ordinal, identity) = (launch.ordinal(), launch.leader);
        self.children.insert(
            identity.pid,
            Child {
                identity,
                launch: Some(ordinal),
                kill_sent: false,
            },
        );
        self.launches.insert(ordinal, launch);
        self.news.insert(ordinal);
    }

    pub(super) fn take_news(&mut self) -> BTreeSet<Ordinal> {
        std::mem::take(&mut self.news)
    }

    pub(super) fn take_unascribed_news(&mut self) -> bool {
        std::mem::take(&mut self.unascribed_news)
    }

    pub(super) fn unascribed(&self) -> (Vec<UnascribedProcess>, usize) {
        let all = || {
            self.children
                .values()
                .filter(|child| child.launch.is_none())
        };
        let named = all().take(MAX_NAMED_UNASCRIBED);
        let named: Vec<_> = named
            .map(|child| UnascribedProcess {
                identity: child.identity,
                name: name_of(child),
            })
            .collect();
        let more = all().count() - named.len();
        (named, more)
    }

    /// Whether some family is being ended and has not gone yet, so that it is to be looked at again.
    pub(super) fn is_ending(&self) -> bool {
        let asked = |launch: &Launch| launch.is_living() && launch.ending != Ending::NotAsked;
        self.launches.values().any(asked)
            || (self.kill_everything && !self.children.is_empty())
            || self.waits_for_groups()
            || !self.empty_groups.is_empty()
    }

    /// Whether a group outlives what the process tree has of its family: nothing wakes the keeper when that changes.
    pub(super) fn waits_for_groups(&self) -> bool {
        let waits = |launch: &Launch| {
            launch.is_living() && launch.has_left_the_tree() && launch.group.is_some()
        };
        self.launches.values().any(waits)
    }

    /// Reaps, adopts, signals and declares gone, until a pass finds nothing more to reap.
    pub(super) fn turn(&mut self, reach: Reach) -> io::Result<Turn> {
        self.progress = false;
        let mut reach = reach;
        for _ in 0..MAX_PASSES {
            self.reap()?;
            let adopted_all = self.adopt().is_ok();
            signalling::signal(self, reach);
            reach = Reach::Children;
            let look = wait::peek()?;
            if !matches!(look, Look::Ended(..)) {
                if adopted_all {
                    self.declare_gone();
                }
                let childless = look == Look::NoChild;
                return Ok(Turn {
                    complete: adopted_all,
                    progress: self.progress,
                    childless,
                });
            }
        }
        Ok(Turn {
            complete: false,
            progress: true,
            childless: false,
        })
    }

    fn reap(&mut self) -> io::Result<()> {
        for _ in 0..MAX_REAPED {
            let Look::Ended(pid, status) = wait::peek()? else {
                return Ok(());
            };
            self.before_reaping(pid, status);
            wait::reap(pid)?;
            self.after_reaping(pid, status);
        }
        Ok(())
    }

    /// A zombie's number still is its own; what depends on that is done now.
    fn before_reaping(&mut self, pid: ProcessId, status: ExitStatus) {
        let known = self.children.get(&pid).map(|child| child.launch);
        let launch = known
            .flatten()
            .and_then(|ordinal| self.launches.get(&ordinal));
        if launch.is_some_and(|launch| launch.is_led_by(pid)) {
            // Its orphans can be told by its session only until it is reaped. What cannot be read is tried again later.
            self.adopt().ok();
        } else if known.is_none() && status.is_sigkill() {
            // It was adopted and killed between two passes; whose it was decides that launch's outcome.
            self.adopt_one(pid).ok();
        }
        signalling::kill_group_of_zombie(self, pid);
    }

    fn after_reaping(&mut self, pid: ProcessId, status: ExitStatus) {
        self.progress = true;
        let Some(child) = self.children.remove(&pid) else {
            return;
        };
        let Some(launch) = child
            .launch
            .and_then(|ordinal| self.launches.get_mut(&ordinal))
        else {
            self.unascribed_news |= child.launch.is_none();
            if status.is_sigkill() {
                self.note_unascribed_killed(child.identity.start_time);
            }
            return;
        };
        launch.members.remove(&pid);
        launch.killed |= status.is_sigkill();
        if launch.is_led_by(pid) {
            launch.status = Some(status);
            self.news.insert(launch.ordinal());
        }
    }

    /// Whose it was is unknown, so each launch that it may have belonged to counts as killed: an outcome errs on that side.
    fn note_unascribed_killed(&mut self, start_time: StartTime) {
        for launch in self.launches.values_mut() {
            launch.killed |= launch.is_living() && launch.leader.start_time <= start_time;
        }
    }

    fn adopt(&mut self) -> io::Result<()> {
        let mut result = Ok(());
        for pid in self.own_children.list()? {
            if !self.children.contains_key(&pid) {
                result = self.adopt_one(pid).and(result);
            }
        }
        result
    }

    fn adopt_one(&mut self, pid: ProcessId) -> io::Result<()> {
        let stat = process::stat(pid)?;
        let traces = Traces {
            mark: process::mark(pid)?,
            text: process::launch_text(pid)?,
            group: stat.group,
            session: stat.session,
            start_time: stat.start_time,
            groups: self.groups_of(pid)?,
        };
        let launch = ascription::ascribe(&traces, self.launches.values());
        match launch.and_then(|ordinal| self.launches.get_mut(&ordinal)) {
            Some(launch) => drop(launch.members.insert(pid)),
            None => self.unascribed_news = true,
        }
        let identity = ProcessIdentity {
            pid,
            start_time: stat.start_time,
        };
        self.children.insert(
            pid,
            Child {
                identity,
                launch,
                kill_sent: false,
            },
        );
        self.progress = true;
        Ok(())
    }

    /// Read only where launches have groups.
    fn groups_of(&self, pid: ProcessId) -> io::Result<Option<Vec<u8>>> {
        if self.launches.values().any(|launch| launch.group.is_some()) {
            process::groups(pid).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Call only after a complete pass. A group is removed only when its launch is gone (S46).
    fn declare_gone(&mut self) {
        // A process that can't be ascribed may belong to any launch that started no later than it (SUP-32).
        let unascribed = self
            .children
            .values()
            .filter(|child| child.launch.is_none());
        let latest_unascribed = unascribed.map(|child| child.identity.start_time).max();
        for (ordinal, launch) in &mut self.launches {
            let blocked =
                latest_unascribed.is_some_and(|latest| latest >= launch.leader.start_time);
            if !launch.is_living() || !launch.has_left_the_tree() || blocked {
                continue;
            }
            let evidence = match &launch.group {
                None => Evidence::Tree,
                // What has left its group is found by the tree, what hides from the tree by its group.
                Some(group) => match group.is_populated() {
                    Ok(false) => Evidence::Cgroup,
                    Ok(true) | Err(_) => continue,
                },
            };
            if let Some(group) = launch.group.take() {
                launch.out_of_memory = group.was_out_of_memory();
                self.empty_groups.push(group);
            }
            launch.gone = Some(evidence);
            launch.interrupted.clear();
            self.news.insert(*ordinal);
        }
        self.empty_groups.retain(|group| group.remove().is_err());
    }
}

/// The name of now: soon after a fork it still is the parent's.
fn name_of(child: &Child) -> String {
    process::stat(child.identity.pid)
        .map(|stat| stat.name)
        .unwrap_or_default()
}
