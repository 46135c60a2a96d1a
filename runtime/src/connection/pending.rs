//! Requests that wait for their answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use treewarden_protocol::RequestId;

use super::answer::Reply;

/// One open request.
#[derive(Debug)]
pub(super) struct Slot {
    reply: Option<oneshot::Sender<Reply>>,
    /// Past its time, and counted as such.
    overdue: bool,
    /// Returned when the request is answered or the connection closed, not when the caller goes.
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    pub(super) fn call(permit: OwnedSemaphorePermit) -> Self {
        Self {
            reply: None,
            overdue: false,
            permit: Some(permit),
        }
    }

    /// `initialize` and `shutdown`, which need no permit.
    pub(super) fn control() -> Self {
        Self {
            reply: None,
            overdue: false,
            permit: None,
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    slots: HashMap<RequestId, Slot>,
    overdue: usize,
    closed: bool,
}

/// The connection is closed.
#[derive(Debug)]
pub(super) struct Closed;

#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<Table>);

impl Pending {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn register(
        &self,
        mut slot: Slot,
        id: RequestId,
    ) -> Result<(RequestId, oneshot::Receiver<Reply>), Closed> {
        let (reply, answer) = oneshot::channel();
        slot.reply = Some(reply);
        let mut table = self.table();
        if table.closed {
            return Err(Closed);
        }
        table.slots.insert(id, slot);
        Ok((id, answer))
    }

    /// The request was never sent.
    pub(super) fn forget(&self, id: RequestId) {
        self.table().slots.remove(&id);
    }

    /// Nobody waits for it any more; false when it is answered already.
    pub(super) fn abandon(&self, id: RequestId) -> bool {
        let mut table = self.table();
        table
            .slots
            .get_mut(&id)
            .is_some_and(|slot| slot.reply.take().is_some())
    }

    /// Its time is over; answers how many such requests are open, or `None` when it is answered already.
    pub(super) fn pass_deadline(&self, id: RequestId) -> Option<usize> {
        let mut table = self.table();
        let slot = table.slots.get_mut(&id)?;
        if !std::mem::replace(&mut slot.overdue, true) {
            table.overdue += 1;
        }
        Some(table.overdue)
    }

    pub(super) fn has(&self, id: RequestId) -> bool {
        self.table().slots.contains_key(&id)
    }

    /// Open requests that need no permit.
    pub(super) fn controls_open(&self) -> usize {
        self.table()
            .slots
            .values()
            .filter(|slot| slot.permit.is_none())
            .count()
    }

    /// Answers a request; false when nobody asked, or it was answered before.
    pub(super) fn answer(&self, id: RequestId, reply: impl FnOnce() -> Reply) -> bool {
        let slot = {
            let mut table = self.table();
            let slot = table.slots.remove(&id);
            if slot.as_ref().is_some_and(|slot| slot.overdue) {
                table.overdue = table.overdue.saturating_sub(1);
            }
            slot
        };
        match slot {
            Some(Slot {
                reply: Some(waiting),
                ..
            }) => {
                waiting.send(reply()).ok();
                true
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Gives memory back that no open request needs.
    pub(super) fn release(&self) {
        self.table().slots.shrink_to_fit();
    }

    pub(super) fn close(&self) {
        let slots = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.slots)
        };
        drop(slots);
    }
}
