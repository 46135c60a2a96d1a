//! The connection to a plugin: `treewarden.plugin/1` over its stdin and stdout (interfaces.md §5).
//!
//! ```text
//! caller ──permit, pending──▶ out-buffer ──(caller itself, or the writer task)──▶ stdin
//! caller ◀──────────── answers ──────────── reader task ◀─────────────────────── stdout
//! ```
//!
//! Calls never pass through an actor: the reader answers each caller itself. A permit is held until its call is answered or the
//! connection is closed, also when the caller has gone or its time is over, so that no more than 32 requests are ever open.

mod answer;
mod expiry;
mod inbound;
mod outbound;
mod pending;
mod poke;
mod reader;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, Semaphore};
use treewarden_model::name::ServiceName;
use treewarden_model::outcome::Cause;
use treewarden_model::time::Clock as _;
use treewarden_protocol::lifecycle::ShutdownParams;
use treewarden_protocol::service::ServiceCall;
use treewarden_protocol::{
    ErrorKind, ErrorObject, InitializeParams, InitializeResult, MAX_IN_FLIGHT, RequestId,
    encode_request, method,
};

use crate::launcher::{Boxed, LaunchEvents, LaunchTag};
use crate::task;
use crate::timers::Timers;
use expiry::{Caller, Expiry};
use outbound::Outbound;
use pending::{Pending, Slot};
use poke::Poke;

pub use answer::{CallFailure, Reply};

/// Calls that may wait for a permit of one plugin.
pub const WAITING_MAX: usize = 256;
/// Calls past their time and still unanswered after which the instance is replaced (interfaces.md §5).
pub const OVERDUE_MAX: usize = 8;
/// How long one call may stay unanswered past its time before the instance is replaced.
pub const OVERDUE_FOR: Duration = Duration::from_secs(30);
/// How long the reader may take to read what an exited process left behind.
const DRAIN_BOUND: Duration = Duration::from_millis(50);

/// Why a connection can't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// A sentence.
    pub reason: String,
    /// How it counts.
    pub cause: Cause,
}

/// Answers what a plugin asks of the node.
pub trait HostCalls: Send + Sync + 'static {
    /// Calls a service for the plugin of `caller`. Cancelled by dropping.
    fn service_call(
        &self,
        caller: &LaunchTag,
        service: ServiceName,
        method: String,
        params: Option<Box<RawValue>>,
    ) -> Boxed<Reply>;
    /// A record of its structured log.
    fn log(&self, caller: &LaunchTag, level: &str, message: &str);
}

pub(crate) struct Shared {
    tag: LaunchTag,
    uses: Vec<ServiceName>,
    pending: Pending,
    outbound: Outbound,
    permits: Arc<Semaphore>,
    /// Requests the plugin may have open with the node.
    host_permits: Arc<Semaphore>,
    waiting: AtomicU64,
    next_id: AtomicU64,
    accepting: AtomicBool,
    troubled: AtomicBool,
    /// What the reader is asked to do.
    poke: Poke,
    expiry: Expiry,
    /// The reader has read what an exited process left behind.
    drained: Notify,
    events: Arc<dyn LaunchEvents>,
    host: Arc<dyn HostCalls>,
    timers: Timers,
    clock: Arc<crate::clock::SystemClock>,
}

impl Shared {
    fn host_permit(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        self.host_permits.clone().try_acquire_owned().ok()
    }

    /// Says once that the connection can't go on.
    fn trouble(&self, reason: String, cause: Cause) {
        if !self.troubled.swap(true, Ordering::SeqCst) {
            self.events.trouble(Trouble { reason, cause });
        }
    }
}

/// A connection. Cheap to clone; [`Connection::close`] ends it for all.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("tag", &self.shared.tag)
            .finish_non_exhaustive()
    }
}

/// What a connection is made with.
pub struct Parts {
    /// Whose it is.
    pub tag: LaunchTag,
    /// Services the plugin may call.
    pub uses: Vec<ServiceName>,
    /// The node's end of the plugin's stdin.
    pub stdin: OwnedFd,
    /// The node's end of the plugin's stdout.
    pub stdout: OwnedFd,
    /// Hears of trouble.
    pub events: Arc<dyn LaunchEvents>,
    /// Answers the plugin's calls.
    pub host: Arc<dyn HostCalls>,
    /// The node's timers.
    pub timers: Timers,
    /// The node's clock.
    pub clock: Arc<crate::clock::SystemClock>,
}

impl Connection {
    /// A connection over two pipes. The plugin waits at its gate until [`Self::open`].
    ///
    /// # Errors
    /// The descriptors are no pipes, or the runtime refuses them.
    pub fn new(parts: Parts) -> std::io::Result<Self> {
        let stdin = pipe::Sender::from_owned_fd(parts.stdin)?;
        let stdout = pipe::Receiver::from_owned_fd(parts.stdout)?;
        let shared = Arc::new(Shared {
            tag: parts.tag,
            uses: parts.uses,
            pending: Pending::default(),
            outbound: Outbound::new(stdin),
            permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            host_permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            waiting: AtomicU64::new(0),
            next_id: AtomicU64::new(1),
            accepting: AtomicBool::new(false),
            troubled: AtomicBool::new(false),
            poke: Poke::default(),
            expiry: Expiry::default(),
            drained: Notify::new(),
            events: parts.events,
            host: parts.host,
            timers: parts.timers,
            clock: parts.clock,
        });
        let reading = shared.clone();
        task::spawn("plugin reader", async move {
            reader::run(&reading, stdout).await
        });
        Ok(Self { shared })
    }

    /// Whose connection it is.
    pub fn tag(&self) -> &LaunchTag {
        &self.shared.tag
    }

    /// Calls in flight.
    pub fn in_flight(&self) -> usize {
        MAX_IN_FLIGHT.saturating_sub(self.shared.permits.available_permits())
    }

    /// Opens the gate and shakes hands. The bound of 10 seconds is the caller's (the launch machine's).
    ///
    /// # Errors
    /// The plugin refused, answered nonsense, or the connection was lost.
    pub async fn open(&self, params: InitializeParams) -> Result<InitializeResult, String> {
        let (id, answer) = self
            .shared
            .pending
            .register(Slot::control(), self.next_id())
            .map_err(|_| closed_text())?;
        // One byte that the shim reads, and behind it what the plugin will find.
        let sent = self.shared.outbound.append(&self.shared, |buffer| {
            buffer.push(b'\n');
            encode_request(buffer, id, method::INITIALIZE, &params)
        });
        if let Err(failure) = sent {
            self.shared.pending.forget(id);
            return Err(format!("could not send initialize: {failure}"));
        }
        let result = match answer.await {
            Ok(Ok(result)) => result,
            Ok(Err(CallFailure::Plugin(error))) => {
                return Err(format!(
                    "it refused initialize: {}",
                    shortened(&error.to_string())
                ));
            }
            Ok(Err(failure)) => return Err(failure.to_string()),
            Err(_) => return Err(closed_text()),
        };
        serde_json::from_str(result.get())
            .map_err(|error| format!("its answer to initialize is wrong: {error}"))
    }

    /// From now on calls are taken.
    pub fn accept(&self) {
        // What the handshake took; a plugin that nobody calls needs none of it.
        self.shared.outbound.release();
        self.shared.accepting.store(true, Ordering::SeqCst);
    }

    /// From now on nothing new is sent (SUP-06); calls in flight go on.
    pub fn refuse_new(&self) {
        self.shared.accepting.store(false, Ordering::SeqCst);
    }

    /// Calls a service. Dropping the future cancels the call at the plugin; its permit stays taken until it is answered.
    ///
    /// # Errors
    /// See [`CallFailure`].
    pub async fn call(
        &self,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Duration,
    ) -> Reply {
        let shared = &self.shared;
        if !shared.accepting.load(Ordering::SeqCst) {
            return Err(CallFailure::Unavailable);
        }
        let deadline = shared.clock.now().plus(timeout);
        let (permit, left) = match shared.permits.clone().try_acquire_owned() {
            Ok(permit) => (permit, timeout),
            Err(_) => {
                let permit = self.wait_for_permit(timeout).await?;
                (permit, deadline.since(shared.clock.now()))
            }
        };
        let (id, answer) = shared
            .pending
            .register(Slot::call(permit, deadline, timeout), self.next_id())
            .map_err(|_| CallFailure::ConnectionLost)?;
        let _caller = Caller { shared, id };
        let params = ServiceCall {
            service: service.into(),
            method: method.into(),
            params,
            timeout_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        };
        if let Err(failure) = shared.outbound.append(shared, |buffer| {
            encode_request(buffer, id, method::SERVICE_CALL, &params)
        }) {
            shared.pending.forget(id);
            return Err(failure);
        }
        expiry::watch(shared, deadline);
        answer.await.unwrap_or(Err(CallFailure::ConnectionLost))
    }

    async fn wait_for_permit(
        &self,
        timeout: Duration,
    ) -> Result<tokio::sync::OwnedSemaphorePermit, CallFailure> {
        struct Waiting<'a>(&'a AtomicU64);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let before = self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.shared.waiting);
        if before >= WAITING_MAX as u64 {
            return Err(CallFailure::Capacity(MAX_IN_FLIGHT + WAITING_MAX));
        }
        match tokio::time::timeout(timeout, self.shared.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(CallFailure::ConnectionLost),
            Err(_) => Err(CallFailure::Deadline(timeout)),
        }
    }

    /// Tells the plugin to shut down; resolves with its answer. An error names the finalizer that failed.
    ///
    /// # Errors
    /// The plugin answered with an error; `None`: the connection was lost before it answered.
    pub async fn shutdown(&self, timeout: Duration) -> Option<Result<(), String>> {
        self.refuse_new();
        let (id, answer) = self
            .shared
            .pending
            .register(Slot::control(), self.next_id())
            .ok()?;
        let params = ShutdownParams {
            timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        };
        if self
            .shared
            .outbound
            .append(&self.shared, |buffer| {
                encode_request(buffer, id, method::SHUTDOWN, &params)
            })
            .is_err()
        {
            self.shared.pending.forget(id);
            return None;
        }
        match answer.await {
            Ok(Ok(_)) => Some(Ok(())),
            Ok(Err(CallFailure::Plugin(error))) => Some(Err(shortened(&error.message))),
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Fails what is in flight and takes nothing more; the plugin's stdin stays open. Repeating it changes nothing.
    pub fn fail_calls(&self) {
        self.refuse_new();
        self.shared.permits.close();
        self.shared.pending.close();
    }

    /// Fails what is in flight and closes the plugin's stdin. Repeating it changes nothing.
    pub fn close(&self) {
        self.fail_calls();
        self.shared.outbound.close();
    }

    /// The process has exited: reads what it left in the pipe, so that its last answers reach their callers. Resolves when that is done, or
    /// after 50 milliseconds.
    pub async fn drained(&self) {
        self.shared.poke.ask(poke::DRAIN);
        tokio::time::timeout(DRAIN_BOUND, self.shared.drained.notified())
            .await
            .ok();
    }

    /// How many of `initialize` and `shutdown` are asked and not answered.
    pub fn controls_open(&self) -> usize {
        self.shared.pending.controls_open()
    }

    /// The launch is over: nothing more is read, whoever else holds the other end of the plugin's stdout.
    pub fn finish(&self) {
        self.close();
        self.shared.poke.ask(poke::FINISH);
    }

    fn next_id(&self) -> RequestId {
        RequestId::new(self.shared.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

/// A plugin's own words, as far as they are kept in a status.
fn shortened(text: &str) -> String {
    const KEPT: usize = 1000;
    match text.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn closed_text() -> String {
    "the connection was lost in the handshake".to_owned()
}

/// An error as it is sent to a plugin whose call failed.
pub fn error_for_plugin(failure: &CallFailure) -> ErrorObject {
    match failure {
        CallFailure::Plugin(error) => error.clone(),
        CallFailure::ConnectionLost => ErrorObject::new(ErrorKind::Connection, failure.to_string()),
        CallFailure::Unavailable => ErrorObject::new(ErrorKind::Unavailable, failure.to_string()),
        CallFailure::Deadline(_) => ErrorObject::new(ErrorKind::Deadline, failure.to_string()),
        CallFailure::Capacity(_) => ErrorObject::new(ErrorKind::Capacity, failure.to_string()),
        CallFailure::TooLarge(_) => ErrorObject::new(ErrorKind::Invalid, failure.to_string()),
        CallFailure::Stale => ErrorObject::new(ErrorKind::StaleGeneration, failure.to_string()),
        CallFailure::Denied(_) => ErrorObject::new(ErrorKind::Denied, failure.to_string()),
    }
}
