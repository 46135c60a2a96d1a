//! Calls of the host that run on the pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use treewarden_protocol::{ErrorKind, ErrorObject, Id, OwnedId};

use crate::deadline::CallState;
use crate::handler::Handler;
use crate::host::Host;
use crate::reply::Reply;

/// Calls in flight, for `$/cancel`. Bounded by the pool and its queue.
#[derive(Clone, Default)]
pub(crate) struct Inbound(Arc<Mutex<Vec<Entry>>>);

type Entry = (OwnedId, Arc<CallState>);

/// One call, on its way to a thread of the pool.
pub(crate) struct InboundCall {
    pub(crate) id: OwnedId,
    pub(crate) handler: Arc<Handler>,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) state: Arc<CallState>,
}

impl Inbound {
    pub(crate) fn enter(&self, call: &InboundCall) {
        self.lock().push((call.id.clone(), Arc::clone(&call.state)));
    }

    pub(crate) fn leave(&self, id: Id<'_>) {
        let mut calls = self.lock();
        if let Some(position) = calls.iter().position(|(known, _)| known.as_id() == id) {
            calls.swap_remove(position);
        }
    }

    /// Marks a call; one that is over is not known here, and nothing happens.
    pub(crate) fn cancel(&self, id: Id<'_>) {
        for (known, state) in self.lock().iter() {
            if known.as_id() == id {
                state.cancel();
            }
        }
    }

    pub(crate) fn cancel_all(&self) {
        for (_, state) in self.lock().iter() {
            state.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboundCall {
    /// Runs and answers. A call that nobody waits for any more is answered without being run.
    pub(crate) fn run(self, host: &Host, inbound: &Inbound) {
        let mut line = Vec::with_capacity(256);
        let mut reply = Reply {
            buffer: &mut line,
            id: self.id.as_id(),
            frame_bytes: host.frame_bytes(),
        };
        if self.state.is_cancelled() {
            reply.error(&ErrorObject::new(
                ErrorKind::Deadline,
                "cancelled, or out of time, before it began",
            ));
        } else {
            self.handler
                .answer(self.params.as_deref(), &self.state, &mut reply);
        }
        inbound.leave(self.id.as_id());
        host.outbox().write(&line);
    }
}
