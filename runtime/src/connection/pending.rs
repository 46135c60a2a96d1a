//! Requests that wait for their answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use treewarden_model::time::Timestamp;
use treewarden_protocol::RequestId;

use super::answer::Reply;

/// One open request.
#[derive(Debug)]
pub(super) struct Slot {
    reply: Option<oneshot::Sender<Reply>>,
    /// When its time is over, or, past that, when the plugin has had enough of it.
    deadline: Option<Timestamp>,
    /// Its time, for the answer that says it is over.
    timeout: Duration,
    /// Past its time, and counted as such.
    overdue: bool,
    /// Returned when the request is answered or the connection closed, not when the caller goes.
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    pub(super) fn call(
        permit: OwnedSemaphorePermit,
        deadline: Timestamp,
        timeout: Duration,
    ) -> Self {
        Self {
            reply: None,
            deadline: Some(deadline),
            timeout,
            overdue: false,
            permit: Some(permit),
        }
    }

    /// `initialize` and `shutdown`, which need no permit, and whose time the launch machine measures.
    pub(super) fn control() -> Self {
        Self {
            reply: None,
            deadline: None,
            timeout: Duration::ZERO,
            overdue: false,
            permit: None,
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    /// At most some 34; a tree of so few is quicker than hashing, and holds no room when it is empty.
    slots: BTreeMap<RequestId, Slot>,
    overdue: usize,
    closed: bool,
}

/// A call whose time is over, and whoever waits for it.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) id: RequestId,
    pub(super) reply: oneshot::Sender<Reply>,
    pub(super) timeout: Duration,
}

/// What a look at the deadlines found.
#[derive(Debug, Default)]
pub(super) struct Expired {
    /// Calls to be answered now.
    pub(super) late: Vec<Late>,
    /// Open calls past their time, earlier ones included.
    pub(super) overdue: usize,
    /// A call has gone too far.
    pub(super) stuck: bool,
    /// When to look again.
    pub(super) next: Option<Timestamp>,
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

    /// Finds the calls whose time is over at `now`; one that still is not answered `patience` later has gone too far.
    pub(super) fn expire(&self, now: Timestamp, patience: Duration) -> Expired {
        let mut expired = Expired::default();
        let mut table = self.table();
        let mut overdue = table.overdue;
        for (id, slot) in &mut table.slots {
            if slot.deadline.is_some_and(|deadline| deadline <= now) {
                if slot.overdue {
                    slot.deadline = None;
                    expired.stuck = true;
                } else {
                    slot.overdue = true;
                    slot.deadline = Some(now.plus(patience));
                    overdue += 1;
                    expired.late.extend(slot.reply.take().map(|reply| Late {
                        id: *id,
                        reply,
                        timeout: slot.timeout,
                    }));
                }
            }
            expired.next = expired.next.into_iter().chain(slot.deadline).min();
        }
        table.overdue = overdue;
        expired.overdue = overdue;
        expired
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

    pub(super) fn close(&self) {
        let slots = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.slots)
        };
        drop(slots);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn at(millis: u64) -> Timestamp {
        Timestamp(millis * 1_000_000)
    }

    /// Calls 1, 2, … with these deadlines, in milliseconds.
    fn pending(deadlines: &[u64]) -> (Pending, Vec<oneshot::Receiver<Reply>>) {
        let permits = Arc::new(Semaphore::new(32));
        let pending = Pending::default();
        let answers = (1..).zip(deadlines).map(|(id, deadline)| {
            let permit = permits.clone().try_acquire_owned().unwrap();
            let slot = Slot::call(permit, at(*deadline), Duration::from_millis(*deadline));
            pending.register(slot, RequestId::new(id)).unwrap().1
        });
        let answers = answers.collect();
        (pending, answers)
    }

    /// SUP-34: a caller that went away proves nothing before the call's own time is over.
    #[test]
    fn abandoned_call_counts_from_its_own_deadline() {
        let (pending, _answers) = pending(&[100, 200]);
        assert!(pending.abandon(RequestId::new(1)));
        let expired = pending.expire(at(50), PATIENCE);
        assert_eq!((expired.overdue, expired.next), (0, Some(at(100))));
        let expired = pending.expire(at(100), PATIENCE);
        assert_eq!(
            (expired.overdue, expired.late.len()),
            (1, 0),
            "nobody waits for it"
        );
        assert_eq!(expired.next, Some(at(200)));
    }

    /// SUP-29: each caller is answered once, and a call that stays open goes too far 30 seconds later.
    #[test]
    fn late_call_is_answered_once_and_goes_too_far_after_30_seconds() {
        let (pending, _answers) = pending(&[100]);
        assert_eq!(pending.expire(at(100), PATIENCE).late.len(), 1);
        let again = pending.expire(at(30_099), PATIENCE);
        assert!(again.late.is_empty() && !again.stuck && again.overdue == 1);
        assert!(pending.expire(at(30_100), PATIENCE).stuck);
    }

    /// SUP-29: a late answer makes good what was counted.
    #[test]
    fn late_answer_is_counted_no_longer() {
        let (pending, _answers) = pending(&[100, 100]);
        assert_eq!(pending.expire(at(100), PATIENCE).overdue, 2);
        assert!(pending.answer(RequestId::new(1), || Err(super::super::CallFailure::Stale)));
        let expired = pending.expire(at(101), PATIENCE);
        assert_eq!(expired.overdue, 1);
    }
}
