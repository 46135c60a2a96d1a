//! Calls past their time.
//!
//! One wake-up a connection, at the earliest deadline of its open calls, rather than a timer a call: most calls are answered long before, and
//! then cost no more than a comparison. Deadlines are on the clock that counts suspend.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use treewarden_model::outcome::Cause;
use treewarden_model::time::{Clock as _, Timestamp};
use treewarden_protocol::lifecycle::CancelParams;
use treewarden_protocol::{Id, RequestId, encode_notification, method};

use super::answer::CallFailure;
use super::{OVERDUE_FOR, OVERDUE_MAX, Shared};

/// No wake-up is set.
const UNSET: u64 = u64::MAX;

/// When the connection looks at its open calls.
#[derive(Debug)]
pub(super) struct Expiry(AtomicU64);

impl Default for Expiry {
    fn default() -> Self {
        Self(AtomicU64::new(UNSET))
    }
}

/// Sees that `deadline` is not slept through. The call that has it must be among the open ones already.
pub(super) fn watch(shared: &Arc<Shared>, deadline: Timestamp) {
    let earliest = &shared.expiry.0;
    if earliest.fetch_min(deadline.0, Ordering::SeqCst) <= deadline.0 {
        return;
    }
    let weak = Arc::downgrade(shared);
    shared.timers.wake_at(deadline, move || {
        if let Some(shared) = weak.upgrade() {
            expire(&shared);
        }
    });
}

/// Answers callers whose time is over, and judges the plugin: 8 calls unanswered past their time, or one for 30 seconds, and the instance is
/// replaced (interfaces.md §5). A caller that went away before proves nothing: its call counts from its own deadline too.
fn expire(shared: &Arc<Shared>) {
    // First: a call that comes meanwhile sets a wake-up of its own.
    shared.expiry.0.store(UNSET, Ordering::SeqCst);
    let expired = shared.pending.expire(shared.clock.now(), OVERDUE_FOR);
    for late in expired.late {
        late.reply
            .send(Err(CallFailure::Deadline(late.timeout)))
            .ok();
        cancel(shared, late.id);
    }
    if expired.stuck {
        let seconds = OVERDUE_FOR.as_secs();
        let reason = format!("it left a call unanswered for {seconds} seconds past its time");
        shared.trouble(reason, Cause::Crashed);
    } else if expired.overdue >= OVERDUE_MAX {
        let reason = format!(
            "it left {} calls unanswered past their time",
            expired.overdue
        );
        shared.trouble(reason, Cause::Crashed);
    }
    if let Some(next) = expired.next {
        watch(shared, next);
    }
}

/// Tells the plugin that nobody waits any longer.
fn cancel(shared: &Arc<Shared>, id: RequestId) {
    let raw = id.get().to_string();
    if let Ok(id) = serde_json::from_str::<Id<'_>>(&raw) {
        let params = CancelParams { id };
        let sent = shared.outbound.append(shared, |buffer| {
            encode_notification(buffer, method::CANCEL, &params)
        });
        // A connection that takes no more is ended by others.
        sent.ok();
    }
}

/// A caller that waits. Dropped before the answer came, it tells the plugin; the call stays open until it is answered.
pub(super) struct Caller<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) id: RequestId,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if self.shared.pending.abandon(self.id) {
            cancel(self.shared, self.id);
        }
    }
}
