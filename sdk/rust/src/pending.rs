//! Requests of ours that wait for the host's answer.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use treewarden_protocol::{ErrorKind, ErrorObject, RequestId};

/// What the host answered.
pub(crate) type Outcome = Result<Box<RawValue>, ErrorObject>;

/// Open requests by id. Bounded by the threads that wait in one.
#[derive(Default)]
pub(crate) struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    last_id: u64,
    closed: bool,
    waiting: HashMap<RequestId, SyncSender<Outcome>>,
}

/// An open request; dropping it forgets the request, and an answer that still comes is ignored.
pub(crate) struct Waiter<'a> {
    pending: &'a Pending,
    pub(crate) id: RequestId,
    pub(crate) answer: Receiver<Outcome>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.pending.lock().waiting.remove(&self.id);
    }
}

impl Pending {
    /// Opens a request; `None` once the connection is gone.
    pub(crate) fn open(&self) -> Option<Waiter<'_>> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.last_id += 1;
        let id = RequestId::new(state.last_id);
        let (sender, answer) = sync_channel(1);
        state.waiting.insert(id, sender);
        Some(Waiter {
            pending: self,
            id,
            answer,
        })
    }

    /// Hands an answer to who waits for it. One that was never asked for, or came twice, is ignored.
    pub(crate) fn complete(&self, id: RequestId, outcome: Outcome) {
        if let Some(waiting) = self.lock().waiting.remove(&id) {
            _ = waiting.try_send(outcome);
        }
    }

    /// The connection is gone: whoever waits, or asks later, gets `connection`.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for (_, waiting) in state.waiting.drain() {
            _ = waiting.try_send(Err(connection_gone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn connection_gone() -> ErrorObject {
    ErrorObject::new(ErrorKind::Connection, "the connection to the host is gone")
}
