//! What the keeper says of a launch's end, handed on in order, and only after the plugin's last words were read (SUP-36).
//!
//! A process writes its last answers and exits; the keeper's word of the exit may be quicker than the reader. So the exit waits, a moment at
//! most, until the reader has emptied the pipe and what was answered in it, the handshake or the shutdown, has been judged.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use treewarden_model::launch::Event;
use treewarden_runtime::task;

use crate::cell::LaunchCell;
use crate::mailbox::lock;

/// How long what was answered may take to be judged.
const JUDGEMENT_BOUND: Duration = Duration::from_secs(1);

/// Ends told and not yet handed on.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    waiting: VecDeque<Event>,
    handing_on: bool,
    /// Tasks that wait for `initialize` or `shutdown`, or have not yet posted what was answered.
    asking: usize,
}

impl LaunchCell {
    /// The keeper's word of an exit, or of the family's end.
    pub(crate) fn told(self: &Arc<Self>, event: Event) {
        {
            let mut exits = lock(&self.exits);
            exits.waiting.push_back(event);
            if std::mem::replace(&mut exits.handing_on, true) {
                return;
            }
        }
        let cell = self.clone();
        task::spawn("exit", async move {
            while let Some(event) = cell.next_exit() {
                if matches!(event, Event::ProcessExited(_)) {
                    cell.last_words().await;
                }
                cell.post(event);
            }
        });
    }

    /// `initialize` or `shutdown` is being asked.
    pub(crate) fn asks(&self) {
        lock(&self.exits).asking += 1;
    }

    /// The outcome of an [`Self::asks`] was posted.
    pub(crate) fn heard(&self) {
        let mut exits = lock(&self.exits);
        exits.asking = exits.asking.saturating_sub(1);
        drop(exits);
        self.judged.notify_waiters();
    }

    fn next_exit(&self) -> Option<Event> {
        let mut exits = lock(&self.exits);
        let next = exits.waiting.pop_front();
        exits.handing_on = next.is_some();
        next
    }

    async fn last_words(&self) {
        let Some(process) = self.process.get() else {
            return;
        };
        process.connection.drained().await;
        let all_judged = async {
            loop {
                let judged = self.judged.notified();
                let mut judged = std::pin::pin!(judged);
                // In place before the look, so that a judgement in between is not missed.
                judged.as_mut().enable();
                if lock(&self.exits).asking <= process.connection.controls_open() {
                    return;
                }
                judged.await;
            }
        };
        tokio::time::timeout(JUDGEMENT_BOUND, all_judged).await.ok();
    }
}
