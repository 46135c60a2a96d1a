//! Which events are due. They are not queued as messages: each is derived from the table when the socket has room, so a
//! slow node costs no memory beyond the table, and the keeper never waits for it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use super::families::Families;
use crate::identity::ProcessId;
use crate::leftovers::LastLaunch;
use crate::mark::Ordinal;
use crate::wire::{Event, MAX_REQUESTS_IN_FLIGHT, packet};

/// Longer reasons are cut: an event must fit into its packet.
const MAX_REASON_CHARACTERS: usize = 1000;

/// Told launches that are remembered for `keeper.last`: what was sent may lie unread in the socket when the node dies.
/// The socket's buffer holds fewer events than that.
const MAX_REMEMBERED: usize = 1024;

#[derive(Debug)]
pub(super) struct Outbox {
    keeper: ProcessId,
    greeted: bool,
    refused: VecDeque<(Option<Ordinal>, String)>,
    due: VecDeque<Ordinal>,
    unanswered: usize,
    unascribed_due: bool,
    remembered: VecDeque<LastLaunch>,
}

impl Outbox {
    pub(super) fn new(keeper: ProcessId) -> Self {
        Self {
            keeper,
            greeted: false,
            refused: VecDeque::new(),
            due: VecDeque::new(),
            unanswered: 0,
            unascribed_due: false,
            remembered: VecDeque::new(),
        }
    }

    pub(super) fn refuse(&mut self, ordinal: Option<Ordinal>, reason: &str) {
        self.refused.push_back((
            ordinal,
            reason.chars().take(MAX_REASON_CHARACTERS).collect(),
        ));
    }

    pub(super) fn note_spawned(&mut self) {
        self.unanswered += 1;
    }

    /// Whether further requests may be read: answers are owed for fewer than the bound.
    pub(super) fn has_room(&self) -> bool {
        self.unanswered + self.refused.len() < MAX_REQUESTS_IN_FLIGHT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.greeted && self.refused.is_empty() && self.due.is_empty() && !self.unascribed_due
    }

    /// Takes over what happened in the table.
    pub(super) fn collect(&mut self, families: &mut Families) {
        for ordinal in families.take_news() {
            if !self.due.contains(&ordinal) {
                self.due.push_back(ordinal);
            }
        }
        self.unascribed_due |= families.take_unascribed_news();
    }

    /// Sends what is due as far as the socket has room.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>, families: &mut Families) {
        while !self.is_empty() {
            // No room, or the node is gone: the loop is told by poll in either case.
            if self.send_next(socket, families).is_err() {
                return;
            }
        }
    }

    fn send_next(&mut self, socket: BorrowedFd<'_>, families: &mut Families) -> io::Result<()> {
        if !self.greeted {
            send(socket, &Event::Hello { pid: self.keeper }, &[])?;
            self.greeted = true;
        } else if let Some((ordinal, reason)) = self.refused.front() {
            send(
                socket,
                &Event::Refused {
                    ordinal: *ordinal,
                    reason: reason.clone(),
                },
                &[],
            )?;
            self.refused.pop_front();
        } else if let Some(ordinal) = self.due.front().copied() {
            self.send_launch(socket, ordinal, families)?;
        } else {
            let (processes, more) = families.unascribed();
            send(socket, &Event::Unascribed { processes, more }, &[])?;
            self.unascribed_due = false;
        }
        Ok(())
    }

    fn send_launch(
        &mut self,
        socket: BorrowedFd<'_>,
        ordinal: Ordinal,
        families: &mut Families,
    ) -> io::Result<()> {
        let Some(launch) = families.launches.get_mut(&ordinal) else {
            self.due.pop_front();
            return Ok(());
        };
        let Some(event) = launch.due_event() else {
            self.due.pop_front();
            return Ok(());
        };
        match launch
            .due_descriptor()
            .map(|pidfd| send(socket, &event, &[pidfd.as_fd()]))
        {
            // Too many descriptors are on their way: the node closes the stdin of a launch whose pidfd it has not got.
            Some(Err(error)) if error.raw_os_error() == Some(libc::ETOOMANYREFS) => {
                send(socket, &event, &[])?
            }
            Some(result) => result?,
            None => send(socket, &event, &[])?,
        }
        if !launch.is_answered() {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        launch.told();
        if launch.is_all_told() {
            if self.remembered.len() == MAX_REMEMBERED {
                self.remembered.pop_front();
            }
            self.remembered.push_back(launch.last_words());
            families.launches.remove(&ordinal);
        }
        Ok(())
    }

    /// Everything the node may not have heard of.
    pub(super) fn last_words(&self, families: &Families) -> Vec<LastLaunch> {
        self.remembered
            .iter()
            .cloned()
            .chain(
                families
                    .launches
                    .values()
                    .map(super::launch::Launch::last_words),
            )
            .collect()
    }
}

fn send(socket: BorrowedFd<'_>, event: &Event, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    packet::send(socket, &serde_json::to_vec(event)?, descriptors)
}
