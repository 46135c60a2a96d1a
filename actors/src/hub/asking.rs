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

/// A caller that waits for its answer. Dropped before, it leaves its place to others and changes nothing else (SUP-34).
#[derive(Debug)]
pub(crate) struct Waiter {
    hub: Arc<Hub>,
    cell: Arc<EntryCell>,
    ask: Ask,
    answer: oneshot::Receiver<Result<Answer, String>>,
}

impl Waiter {
    /// The answer, or why what it says is not on disk; `None`: the node is going.
    pub(crate) async fn answer(&mut self) -> Option<Result<Answer, String>> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if lock(&self.hub.asks).remove(&self.ask).is_some() {
            self.cell.waiting.fetch_sub(1, Ordering::SeqCst);
            self.cell.post(Event::Forget(self.ask));
        }
    }
}

impl Hub {
    /// A new ask; unless it is enlisted, nobody waits for its answer.
    pub(super) fn next_ask(&self) -> Ask {
        Ask(self.next_ask.fetch_add(1, Ordering::Relaxed))
    }

    /// Posts a verb to the entry's actor.
    ///
    /// # Errors
    /// Too many callers wait on this entry.
    pub(crate) fn ask(
        self: &Arc<Self>,
        cell: &Arc<EntryCell>,
        verb: fn(Ask) -> Event,
    ) -> Result<Waiter, EntryError> {
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
    pub(crate) fn ask_to_shut_down(self: &Arc<Self>, cell: &Arc<EntryCell>) -> Waiter {
        cell.waiting.fetch_add(1, Ordering::SeqCst);
        self.enlist_ask(cell, Event::Shutdown)
    }

    fn enlist_ask(self: &Arc<Self>, cell: &Arc<EntryCell>, verb: fn(Ask) -> Event) -> Waiter {
        let (reply, answer) = oneshot::channel();
        let ask = self.next_ask();
        lock(&self.asks).insert(ask, (cell.clone(), reply));
        cell.post(verb(ask));
        // Enlisted before the look: either this sees that the entry is gone, or whoever ends it sees this.
        if cell.gone.load(Ordering::SeqCst) {
            self.refuse_all(cell);
        }
        Waiter {
            hub: self.clone(),
            cell: cell.clone(),
            ask,
            answer,
        }
    }

    /// Hands an answer over, once what it says is on disk.
    pub(crate) fn answer(&self, ask: Ask, answer: Answer) {
        let Some((cell, reply)) = lock(&self.asks).remove(&ask) else {
            return;
        };
        cell.waiting.fetch_sub(1, Ordering::SeqCst);
        let send = move |cell: &EntryCell| {
            let stored = cell
                .fence
                .failure()
                .map_or(Ok(()), |why| Err(why.to_owned()));
            // What was refused, or changed nothing, needs no disk.
            let unaffected = matches!(answer, Answer::Refused(_) | Answer::Reset);
            reply
                .send(if unaffected {
                    Ok(answer)
                } else {
                    stored.map(|()| answer)
                })
                .ok();
        };
        if cell.fence.is_clear() {
            return send(&cell);
        }
        task::spawn("answer", async move {
            cell.fence.clear().await;
            send(&cell);
        });
    }

    /// Refuses everything that was asked of an entry that is gone.
    pub(crate) fn refuse_all(&self, cell: &Arc<EntryCell>) {
        cell.gone.store(true, Ordering::SeqCst);
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
