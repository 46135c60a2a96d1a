//! The keeper's one loop.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Surroundings;
use super::families::{Families, Reach};
use super::launch::Ending;
use super::options::Options;
use super::outbox::Outbox;
use super::requests::{self, Incoming};
use super::retry::Retry;
use super::signalling;
use super::spawning::Spawner;
use crate::identity::ProcessIdentity;
use crate::leftovers::{KeeperLast, write_last};
use crate::mark::Ordinal;
use crate::system::clock::Moment;
use crate::wire::{MAX_REQUEST_BYTES, SpawnRequest};

/// What plugins have, once their stdin has ended, to run their finalizers (SUP-22).
const FINALIZER_TIME: Duration = Duration::from_secs(2);

/// Requests carried out before children are looked at again.
const MAX_REQUESTS_A_TURN: usize = 16;

/// Launches at once. A bound against a node that has lost count, far above what a machine can run.
const MAX_LAUNCHES: usize = 65_536;

pub(super) struct EventLoop {
    /// `None` once the node is gone.
    socket: Option<OwnedFd>,
    /// When what the gone node has left is killed.
    deadline: Option<Moment>,
    families: Families,
    outbox: Outbox,
    retry: Retry,
    child_signals: SignalFd,
    own: ProcessIdentity,
    boot_id: String,
    spawner: Spawner,
    data_dir: PathBuf,
    buffer: Box<[u8; MAX_REQUEST_BYTES]>,
    _lock: File,
}

/// What poll said.
#[derive(Debug, Clone, Copy, Default)]
struct Ready {
    children: bool,
    requests: bool,
    hung_up: bool,
}

impl EventLoop {
    pub(super) fn new(socket: OwnedFd, surroundings: Surroundings, options: Options) -> Self {
        let Surroundings {
            own,
            boot_id,
            children,
            child_signals,
            lock,
        } = surroundings;
        Self {
            socket: Some(socket),
            deadline: None,
            families: Families::new(children),
            outbox: Outbox::new(own.pid),
            retry: Retry::new(),
            child_signals,
            own,
            boot_id,
            data_dir: options.data_dir.clone(),
            spawner: Spawner::new(own.pid, options),
            buffer: Box::new([0; MAX_REQUEST_BYTES]),
            _lock: lock,
        }
    }

    /// Runs until the node is gone and no child is left.
    pub(super) fn run(mut self) -> io::Result<()> {
        self.send_events();
        loop {
            let ready = self.wait()?;
            let mut reach = None;
            if ready.children {
                while self.child_signals.read_signal()?.is_some() {}
                reach = Some(Reach::Children);
            }
            if ready.hung_up {
                self.lose_node();
                reach = Some(Reach::Children);
            } else if ready.requests && self.serve() {
                reach = Some(Reach::Children);
            }
            let now = Moment::now();
            if self.retry.is_due(now) {
                reach = Some(Reach::Descendants);
            }
            if self.deadline.is_some_and(|deadline| deadline <= now)
                && !self.families.kill_everything
            {
                self.kill_everything();
                reach = Some(Reach::Descendants);
            }
            if let Some(reach) = reach
                && self.look(reach, now)?
                && self.socket.is_none()
            {
                return self.leave();
            }
            self.send_events();
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let now = Moment::now();
        let wakeups = [
            self.retry.next(),
            self.deadline.filter(|_| !self.families.kill_everything),
        ];
        let timeout = wakeups
            .into_iter()
            .flatten()
            .min()
            .map(|next| timespec(next.until(now)));
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, self.outbox.has_room());
        wanted.set(PollFlags::OUT, !self.outbox.is_empty());
        let children = self.child_signals.as_fd();
        let mut entries = vec![PollFd::new(&children, PollFlags::IN)];
        if let Some(socket) = &self.socket {
            entries.push(PollFd::new(socket, wanted));
        }
        match poll(&mut entries, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = entries.iter().map(PollFd::revents);
        let children = happened.next().unwrap_or(PollFlags::empty());
        let socket = happened.next().unwrap_or(PollFlags::empty());
        Ok(Ready {
            children: children.contains(PollFlags::IN),
            requests: socket.contains(PollFlags::IN),
            hung_up: socket.intersects(PollFlags::HUP | PollFlags::ERR),
        })
    }

    /// Carries out requests; says whether children are to be looked at now.
    fn serve(&mut self) -> bool {
        let mut look = false;
        for _ in 0..MAX_REQUESTS_A_TURN {
            let Some(socket) = self.socket.as_ref().filter(|_| self.outbox.has_room()) else {
                break;
            };
            match requests::receive(socket.as_fd(), &mut self.buffer) {
                Ok(Incoming::Spawn(request, standard)) => self.spawn(&request, standard),
                Ok(Incoming::Interrupt(ordinal)) => look |= self.end(ordinal, Ending::Interrupt),
                Ok(Incoming::Kill(ordinal)) => look |= self.end(ordinal, Ending::Kill),
                Ok(Incoming::Refused(ordinal, reason)) => self.outbox.refuse(ordinal, &reason),
                Ok(Incoming::End) => {
                    self.lose_node();
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    // A link that cannot be read is a lost node: what runs gets its time, and the node is told by the end.
                    self.lose_node();
                    return true;
                }
            }
        }
        look
    }

    fn spawn(&mut self, request: &SpawnRequest, standard: [OwnedFd; 3]) {
        let ordinal = request.ordinal();
        let result = if self.families.launches.contains_key(&ordinal) {
            Err(format!("launch {ordinal} lives already"))
        } else if self.families.launches.len() >= MAX_LAUNCHES {
            Err(format!("{MAX_LAUNCHES} launches live already"))
        } else {
            self.spawner
                .spawn(request, standard)
                .map_err(|error| format!("could not start a process: {error}"))
        };
        match result {
            Ok(launch) => {
                self.families.add(launch);
                self.outbox.note_spawned();
            }
            Err(reason) => self.outbox.refuse(Some(ordinal), &reason),
        }
    }

    fn end(&mut self, ordinal: Ordinal, ending: Ending) -> bool {
        let launch = self.families.launches.get_mut(&ordinal);
        let Some(launch) = launch.filter(|launch| launch.is_living() && launch.ending < ending)
        else {
            return false;
        };
        launch.ending = ending;
        if ending == Ending::Interrupt {
            signalling::interrupt_descendants(&mut self.families, ordinal);
        }
        self.retry.soon(Moment::now());
        true
    }

    /// The plugins see the end of their stdin by themselves; the keeper only waits.
    fn lose_node(&mut self) {
        self.socket = None;
        self.deadline = Some(Moment::now().after(FINALIZER_TIME));
    }

    fn kill_everything(&mut self) {
        self.families.kill_everything = true;
        for launch in self.families.launches.values_mut() {
            launch.ending = Ending::Kill;
        }
    }

    /// One turn over the children; says whether none is left.
    fn look(&mut self, reach: Reach, now: Moment) -> io::Result<bool> {
        let turn = self.families.turn(reach)?;
        if turn.complete && !self.families.is_ending() {
            self.retry.never();
        } else if turn.progress {
            self.retry.soon(now);
        } else {
            self.retry.later(now);
        }
        // A group that a stranger was put into is emptied before the keeper leaves it.
        Ok(turn.complete && turn.childless && !self.families.waits_for_groups())
    }

    fn send_events(&mut self) {
        self.outbox.collect(&mut self.families);
        if let Some(socket) = &self.socket {
            self.outbox.flush(socket.as_fd(), &mut self.families);
        }
    }

    fn leave(self) -> io::Result<()> {
        let launches = self.outbox.last_words(&self.families);
        self.spawner.leave();
        write_last(
            &self.data_dir,
            &KeeperLast::new(self.boot_id, self.own, launches),
        )
    }
}

fn timespec(wait: Duration) -> Timespec {
    // Waits here are seconds at most; a value out of range cannot come up.
    Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    }
}
