//! When something was said to have happened: stamps of the node's own log events, taken in the thread that writes them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::clock::Moment;

/// An entry serves.
pub(crate) const RUNS: &str = "An entry runs";
/// The exit of a launch is confirmed (SUP-11).
pub(crate) const TERMINATED: &str = "Remote execution terminated";

/// Events that may wait; more than one row ever leaves unread.
const WAITING: usize = 4096;

static STAMPS: OnceLock<SyncSender<(String, Moment)>> = OnceLock::new();
static READER: OnceLock<Mutex<Receiver<(String, Moment)>>> = OnceLock::new();

struct Observer;

/// Starts observing; repeating it changes nothing.
pub(crate) fn start() {
    READER.get_or_init(|| {
        let (sender, receiver) = sync_channel(WAITING);
        STAMPS.set(sender).ok();
        tracing::subscriber::set_global_default(Observer).ok();
        Mutex::new(receiver)
    });
}

/// Waits for the next event with this message, dropping others.
///
/// # Errors
/// It did not come within ten seconds.
pub(crate) fn next(message: &str) -> anyhow::Result<Moment> {
    let reader = READER
        .get()
        .context("the observer was not started")?
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    loop {
        let (said, at) = reader
            .recv_timeout(Duration::from_secs(10))
            .with_context(|| format!("the node did not say: {message}"))?;
        if said == message {
            return Ok(at);
        }
    }
}

/// Forgets what was said so far.
pub(crate) fn clear() {
    if let Some(reader) = READER.get() {
        let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        while reader.try_recv().is_ok() {}
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Observer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= Level::INFO
            && metadata.target().starts_with("treewarden_actors")
    }

    fn event(&self, event: &Event<'_>) {
        let at = Moment::now();
        let mut message = Message(String::new());
        event.record(&mut message);
        if let Some(stamps) = STAMPS.get() {
            stamps.try_send((message.0, at)).ok();
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
