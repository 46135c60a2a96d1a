//! The way to the host.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use treewarden_protocol::data::{DataGet, DataRow};
use treewarden_protocol::log::{LogLevel, LogRecord};
use treewarden_protocol::service::ServiceCall;
use treewarden_protocol::{
    EncodeError, ErrorKind, Identity, InitializeParams, MAX_LINE, encode_notification,
    encode_request, method,
};

use crate::deadline;
use crate::failure::Failure;
use crate::outbox::Outbox;
use crate::pending::{Pending, connection_gone};

/// Time a call of ours has unless told otherwise, or the call it is made in ends sooner.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest text of a log record whose line would otherwise be too long, in bytes.
const SHORTENED_MESSAGE: usize = 8 * 1024;

/// The host, as the plugin sees it. Cheap to clone, and usable from any thread.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

struct Shared {
    outbox: Outbox,
    pending: Pending,
    start: OnceLock<InitializeParams>,
    stopping: AtomicBool,
    reader: OnceLock<ThreadId>,
}

impl Host {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self(Arc::new(Shared {
            outbox,
            pending: Pending::default(),
            start: OnceLock::new(),
            stopping: AtomicBool::new(false),
            reader: OnceLock::new(),
        }))
    }

    /// Who this plugin is: `{id, generation}`. Before `initialize`, and outside any node: `local`, 0 (SUP-14).
    #[must_use]
    pub fn instance(&self) -> Identity {
        self.0
            .start
            .get()
            .map_or_else(Identity::outside_any_node, |start| start.instance.clone())
    }

    /// All that `initialize` said; `None` before it, and outside any node.
    #[must_use]
    pub fn start(&self) -> Option<&InitializeParams> {
        self.0.start.get()
    }

    /// The entry's config as a type; null before `initialize`, where there is none, and outside any node.
    ///
    /// # Errors
    ///
    /// `invalid`, and where it does not fit.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let config = self
            .0
            .start
            .get()
            .map_or(Value::Null, |start| start.config.clone());
        serde_json::from_value(config)
            .map_err(|error| Failure::invalid(format!("config does not fit: {error}")))
    }

    /// Whether the plugin is on its way out. Calls still work for the finalizers.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }

    /// Calls a service this plugin uses, and waits for at most 30 seconds, or what is left to the call it is made in.
    ///
    /// The node never retries: after `connection` and `deadline` the call may have happened.
    ///
    /// # Errors
    ///
    /// The service's own failure; `denied` for a service that is not in the entry's `uses`; `unavailable`, `connection`,
    /// `deadline`; `invalid` for an answer that does not fit `R`, or from inside an inline method.
    pub fn call_service<R: DeserializeOwned>(
        &self,
        service: &str,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<R, Failure> {
        self.call_service_within(DEFAULT_TIMEOUT, service, method, params)
    }

    /// As [`call_service`](Self::call_service), with a time of one's own.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn call_service_within<R: DeserializeOwned>(
        &self,
        timeout: Duration,
        service: &str,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<R, Failure> {
        let params = to_raw_value(params)?;
        let call = ServiceCall {
            service: service.into(),
            method: method.into(),
            params: Some(&params),
            timeout_ms: None,
        };
        fit(&self.request(method::SERVICE_CALL, &call, timeout)?)
    }

    /// Reads a row of the plugin's own collections; managed plugins only.
    ///
    /// # Errors
    ///
    /// As [`call_service`](Self::call_service).
    pub fn data_get(
        &self,
        collection_code: &str,
        key: impl Into<Value>,
    ) -> Result<Option<Map<String, Value>>, Failure> {
        let get = DataGet {
            collection_code: collection_code.into(),
            key: key.into(),
        };
        let row: Option<DataRow> = fit(&self.request(method::DATA_GET, &get, DEFAULT_TIMEOUT)?)?;
        Ok(row.map(|row| row.values))
    }

    /// Writes a structured log record. Never fails: a record that does not fit into a line is shortened, and without a host it
    /// goes nowhere.
    pub fn log(&self, level: LogLevel, message: &str, fields: &Value) {
        let fields = if fields.is_null() {
            None
        } else {
            to_raw_value(fields).ok()
        };
        let mut line = Vec::with_capacity(256);
        let record = LogRecord {
            level,
            message: message.into(),
            fields: fields.as_deref(),
        };
        if encode_notification(&mut line, method::LOG, &record).is_err() {
            let end = message.floor_char_boundary(SHORTENED_MESSAGE);
            let short = message.get(..end).unwrap_or_default();
            let record = LogRecord {
                message: short.into(),
                fields: None,
                ..record
            };
            _ = encode_notification(&mut line, method::LOG, &record);
        }
        self.0.outbox.write(&line);
    }

    /// As [`log`](Self::log), at level `info`.
    pub fn info(&self, message: &str, fields: &Value) {
        self.log(LogLevel::Info, message, fields);
    }

    /// As [`log`](Self::log), at level `warn`.
    pub fn warn(&self, message: &str, fields: &Value) {
        self.log(LogLevel::Warn, message, fields);
    }

    /// As [`log`](Self::log), at level `error`.
    pub fn error(&self, message: &str, fields: &Value) {
        self.log(LogLevel::Error, message, fields);
    }

    fn request<P: Serialize>(
        &self,
        method: &str,
        params: &P,
        timeout: Duration,
    ) -> Result<Box<RawValue>, Failure> {
        let gone = || Failure::from_object(connection_gone());
        let waiter = self.0.pending.open().ok_or_else(gone)?;
        if self.0.reader.get() == Some(&thread::current().id()) {
            return Err(Failure::invalid(
                "an inline handler can't wait for an answer: it runs on the thread that reads it",
            ));
        }
        let mut line = Vec::with_capacity(256);
        encode_request(&mut line, waiter.id, method, params).map_err(request_failure)?;
        if line.len() - 1 > self.frame_bytes() {
            return Err(request_failure(EncodeError::TooLong {
                bytes: line.len() - 1,
            }));
        }
        if !self.0.outbox.write(&line) {
            return Err(gone());
        }
        let left = deadline::remaining_of_current_call().map_or(timeout, |left| left.min(timeout));
        match waiter.answer.recv_timeout(left) {
            Ok(outcome) => outcome.map_err(Failure::from_object),
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("no answer to {method} within {} ms", left.as_millis());
                Err(Failure::new(ErrorKind::Deadline, message))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    pub(crate) fn pending(&self) -> &Pending {
        &self.0.pending
    }

    /// Remembers who the plugin is; false if that was known already.
    pub(crate) fn begin(&self, params: InitializeParams) -> bool {
        self.0.start.set(params).is_ok()
    }

    pub(crate) fn begin_stopping(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn this_thread_reads(&self) {
        _ = self.0.reader.set(thread::current().id());
    }

    pub(crate) fn frame_bytes(&self) -> usize {
        self.0
            .start
            .get()
            .map_or(MAX_LINE, |start| start.limits.frame_bytes.min(MAX_LINE))
    }
}

fn request_failure(error: EncodeError) -> Failure {
    match error {
        EncodeError::TooLong { .. } => Failure::new(ErrorKind::Capacity, error.to_string()),
        error => Failure::invalid(error.to_string()),
    }
}

fn fit<R: DeserializeOwned>(result: &RawValue) -> Result<R, Failure> {
    serde_json::from_str(result.get())
        .map_err(|error| Failure::invalid(format!("the answer does not fit: {error}")))
}
