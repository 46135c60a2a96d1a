//! Asking an entry's machine, and getting its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use treewarden_model::entry::{Answer, Ask, Event, Refusal};
use treewarden_runtime::task;

use super::Hub;
use crate::answers::EntryError;
use crate::cell::EntryCell;
use crate::limits::WAITING_PER_ENTRY;
use crate::mailbox::lock;

impl Hub {
    /// A new ask; unless it is enlisted, nobody waits for its answer.
    pub(super) fn next_ask(&self) -> Ask {
        Ask(self.next_ask.fetch_add(1, Ordering::Relaxed))
    }

    /// Posts a verb to the entry's actor; its answer comes through the receiver. Dropping the receiver changes nothing (SUP-34).
    pub(crate) fn ask(
        &self,
        cell: &Arc<EntryCell>,
        verb: fn(Ask) -> Event,
    ) -> Result<oneshot::Receiver<Answer>, EntryError> {
        if cell.waiting.fetch_add(1, Ordering::SeqCst) >= WAITING_PER_ENTRY {
            cell.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(EntryError::CapacityExhausted {
                name: cell.name.clone(),
                limit: WAITING_PER_ENTRY,
            });
        }
        Ok(self.enlist_ask(cell, verb))
    }

    /// The node's own ask at its shutdown, which no limit may refuse.
    pub(crate) fn ask_to_shut_down(&self, cell: &Arc<EntryCell>) -> oneshot::Receiver<Answer> {
        cell.waiting.fetch_add(1, Ordering::SeqCst);
        self.enlist_ask(cell, Event::Shutdown)
    }

    fn enlist_ask(
        &self,
        cell: &Arc<EntryCell>,
        verb: fn(Ask) -> Event,
    ) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        let ask = self.next_ask();
        lock(&self.asks).insert(ask, (cell.clone(), reply));
        cell.post(verb(ask));
        answer
    }

    /// Hands an answer over, once what it says is on disk.
    pub(crate) fn answer(&self, ask: Ask, answer: Answer) {
        let Some((cell, reply)) = lock(&self.asks).remove(&ask) else {
            return;
        };
        cell.waiting.fetch_sub(1, Ordering::SeqCst);
        if cell.fence.is_clear() {
            reply.send(answer).ok();
            return;
        }
        task::spawn("answer", async move {
            cell.fence.clear().await;
            reply.send(answer).ok();
        });
    }

    /// Refuses everything that was asked of an entry that is gone.
    pub(crate) fn refuse_all(&self, cell: &Arc<EntryCell>) {
        let gone: Vec<Ask> = lock(&self.asks)
            .iter()
            .filter(|(_, (of, _))| Arc::ptr_eq(of, cell))
            .map(|(ask, _)| *ask)
            .collect();
        for ask in gone {
            self.answer(ask, Answer::Refused(Refusal::Removing));
        }
    }
}
