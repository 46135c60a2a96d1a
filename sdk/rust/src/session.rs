//! One connection, from the first line to the end.

use std::io::{ErrorKind as IoErrorKind, Read};
use std::time::Duration;
use std::{mem, thread};

use treewarden_protocol::lifecycle::{CancelParams, ShutdownParams};
use treewarden_protocol::{
    DecodeError, ErrorKind, ErrorObject, Id, Incoming, LineSplitter, Notification, Request,
    Response, decode, method,
};

use crate::call::parse;
use crate::failure::Failure;
use crate::finish::{self, Finalizer, Shutdown, ShutdownReason};
use crate::host::Host;
use crate::inbound::Inbound;
use crate::registry::Registry;
use crate::reply::Reply;
use crate::streams;
use crate::workers::Workers;

mod dispatch;
mod start;

/// Bytes read at once: many small lines, or a sixteenth of the largest.
const CHUNK: usize = 64 * 1024;

/// Answers collected before they are written, even if the chunk holds more requests.
const ANSWERS: usize = 256 * 1024;

/// Calls that may wait for a thread. A host never has more than 32 open, so reaching it is the host's mistake.
const QUEUE: usize = 256;

/// Time the finalizers have when nobody gave one: within it the keeper waits before it kills (SUP-22).
const UNASKED: Duration = Duration::from_millis(1800);

/// The reading side.
pub(crate) struct Session {
    registry: Registry,
    host: Host,
    workers: Workers,
    inbound: Inbound,
    /// Answers of inline handlers, written together.
    answers: Vec<u8>,
    /// Runs the finalizers while this thread goes on reading, since they may call services.
    finishing: Option<thread::JoinHandle<Result<(), ErrorObject>>>,
    stopping: bool,
}

impl Session {
    pub(crate) fn new(registry: Registry, host: Host, workers: usize) -> Self {
        let workers = Workers::new(workers, QUEUE);
        let (inbound, answers) = (Inbound::default(), Vec::new());
        Self {
            registry,
            host,
            workers,
            inbound,
            answers,
            finishing: None,
            stopping: false,
        }
    }

    /// Serves until the input ends.
    ///
    /// # Errors
    ///
    /// A sentence for the log: a broken line, an input that can't be read, or finalizers that failed with no host to tell.
    pub(crate) fn run(mut self, mut input: Box<dyn Read + Send>) -> Result<(), String> {
        self.host.this_thread_reads();
        let ended = self.read(&mut *input);
        self.flush();
        self.host.pending().close();
        streams::stop_writing_to_nobody();
        let reason = if ended.is_ok() {
            ShutdownReason::EndOfInput
        } else {
            ShutdownReason::BrokenLine
        };
        let finalized = self.finish_unasked(reason);
        ended.and(finalized)
    }

    fn read(&mut self, input: &mut dyn Read) -> Result<(), String> {
        let mut chunk = vec![0; CHUNK];
        let mut splitter = LineSplitter::new();
        loop {
            let mut rest = match input.read(&mut chunk) {
                // A host that dies may leave half a line; that it is gone is all there is to know.
                Ok(0) => return Ok(()),
                Ok(bytes) => chunk.get(..bytes).unwrap_or_default(),
                Err(error) if error.kind() == IoErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("the input can't be read: {error}")),
            };
            while let Some(line) = splitter
                .next_line(&mut rest)
                .map_err(|error| broken(&error))?
            {
                self.handle(line).map_err(|error| broken(&error))?;
                if self.answers.len() >= ANSWERS {
                    self.flush();
                }
            }
            self.flush();
        }
    }

    fn handle(&mut self, line: &[u8]) -> Result<(), DecodeError> {
        match decode(line)? {
            Incoming::Request(request) => self.request(&request),
            Incoming::Notification(notification) => self.notification(&notification),
            Incoming::Response(Response { id, outcome }) => {
                if let Some(id) = id.and_then(Id::request_id) {
                    self.host
                        .pending()
                        .complete(id, outcome.map(ToOwned::to_owned));
                }
            }
        }
        Ok(())
    }

    fn request(&mut self, request: &Request<'_>) {
        let handled = match &*request.method {
            method::SERVICE_CALL => self.service_call(request),
            method::HOOK_RUN | method::EVENT_DELIVER => self.handler_call(request),
            method::INITIALIZE => self.initialize(request),
            method::SHUTDOWN => self.shutdown(request),
            unknown => Err(Failure::from_object(ErrorObject::method_not_found(unknown))),
        };
        if let Err(failure) = handled {
            self.reply(request.id).error(failure.object());
        }
    }

    /// Notifications nobody knows are ignored, and so is a cancellation that makes no sense.
    fn notification(&self, notification: &Notification<'_>) {
        if notification.method == method::CANCEL
            && let Ok(cancel) = parse::<CancelParams<'_>>(notification.params)
        {
            self.inbound.cancel(cancel.id);
        }
    }

    fn shutdown(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        let ShutdownParams { timeout_ms } = parse(request.params)?;
        if mem::replace(&mut self.stopping, true) {
            return Err(Failure::invalid("the plugin is shutting down already"));
        }
        let shutdown =
            Shutdown::starting_now(ShutdownReason::Requested, Duration::from_millis(timeout_ms));
        let finalize = self.finalization(shutdown);
        let (host, id) = (self.host.clone(), request.id.to_owned_id());
        let body = move || {
            let finalized = finalize();
            let mut line = Vec::new();
            let mut reply = Reply {
                buffer: &mut line,
                id: id.as_id(),
                frame_bytes: host.frame_bytes(),
            };
            match &finalized {
                Ok(()) => reply.result(&())?,
                Err(error) => reply.error(error),
            }
            // Who was told need not be told again by the exit code.
            if host.outbox().write(&line) {
                Ok(())
            } else {
                finalized.map_err(Failure::from_object)
            }
        };
        let body = move || body().map_err(|failure| failure.object().clone());
        self.finishing = Some(
            thread::Builder::new()
                .name("shutdown".to_owned())
                .spawn(body)?,
        );
        Ok(())
    }

    /// The input ended. Waits for the finalizers, or runs them.
    fn finish_unasked(&mut self, reason: ShutdownReason) -> Result<(), String> {
        let finished = match self.finishing.take() {
            Some(finishing) => finishing.join().unwrap_or(Ok(())),
            None => self.finalization(Shutdown::starting_now(reason, UNASKED))(),
        };
        finished.map_err(|error| error.message)
    }

    /// Waits for calls in flight for half of the time, tells the rest that nobody waits, then runs the finalizers.
    fn finalization(
        &mut self,
        shutdown: Shutdown,
    ) -> impl FnOnce() -> Result<(), ErrorObject> + Send + 'static {
        self.host.begin_stopping();
        let (workers, inbound) = (self.workers.clone(), self.inbound.clone());
        let finalizers: Vec<Finalizer> = mem::take(&mut self.registry.finalizers);
        move || {
            if !workers.wait_until_quiet(shutdown.remaining() / 2) {
                inbound.cancel_all();
            }
            finish::run(finalizers, &shutdown)
        }
    }

    fn reply<'a>(&'a mut self, id: Id<'a>) -> Reply<'a> {
        Reply {
            frame_bytes: self.host.frame_bytes(),
            buffer: &mut self.answers,
            id,
        }
    }

    fn flush(&mut self) {
        if !self.answers.is_empty() {
            self.host.outbox().write(&self.answers);
            self.answers.clear();
            self.answers.shrink_to(CHUNK);
        }
    }
}

fn broken(error: &dyn std::error::Error) -> String {
    format!("the host sent a broken line: {error}")
}

/// A job for the pool, or the answer that there is no room.
fn full() -> Failure {
    Failure::new(
        ErrorKind::Capacity,
        "every thread is busy and the queue is full",
    )
}
