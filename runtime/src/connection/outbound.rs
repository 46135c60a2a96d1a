//! What is on its way to the plugin: one buffer that whoever can empties whole.
//!
//! Whoever appends to an empty buffer writes it itself, which costs no task switch. Only when the pipe is full does a task wait for it; it
//! exists only as long as it has something to write, so an idle plugin holds neither task nor buffer.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe;
use tokio::sync::Notify;
use treewarden_model::outcome::Cause;
use treewarden_protocol::EncodeError;

use super::Shared;
use super::answer::CallFailure;
use crate::task;

/// Bytes that may wait for a plugin that does not read (32 requests and 32 answers of ordinary size; a few of the largest).
const BUFFER_MAX: usize = 8 * 1024 * 1024;
/// Capacity kept by an idle buffer.
const KEPT: usize = 1024;

#[derive(Debug)]
struct Buffer {
    bytes: Vec<u8>,
    written: usize,
    pipe: Option<Arc<pipe::Sender>>,
    /// A task waits for the pipe.
    waiting: bool,
}

#[derive(Debug)]
pub(super) struct Outbound {
    buffer: Mutex<Buffer>,
    closing: Notify,
}

enum Written {
    All,
    Full(Arc<pipe::Sender>),
    Closed,
    Failed(io::Error),
}

impl Outbound {
    pub(super) fn new(pipe: pipe::Sender) -> Self {
        let buffer = Buffer {
            bytes: Vec::new(),
            written: 0,
            pipe: Some(Arc::new(pipe)),
            waiting: false,
        };
        Self {
            buffer: Mutex::new(buffer),
            closing: Notify::new(),
        }
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends whole lines and gets them on their way.
    pub(super) fn append(
        &self,
        shared: &Arc<Shared>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), CallFailure> {
        let mut buffer = self.buffer();
        if buffer.pipe.is_none() {
            return Err(CallFailure::ConnectionLost);
        }
        if buffer.bytes.len() - buffer.written > BUFFER_MAX {
            return Err(CallFailure::Capacity(BUFFER_MAX));
        }
        let start = buffer.bytes.len();
        if let Err(error) = encode(&mut buffer.bytes) {
            buffer.bytes.truncate(start);
            return Err(CallFailure::TooLarge(error.to_string()));
        }
        if buffer.waiting {
            return Ok(());
        }
        match buffer.write() {
            Written::Full(pipe) => {
                buffer.waiting = true;
                drop(buffer);
                let shared = shared.clone();
                task::spawn("plugin writer", async move {
                    shared.outbound.wait_and_write(&shared, pipe).await
                });
            }
            Written::Failed(error) => {
                drop(buffer);
                broken(shared, &error);
            }
            Written::All | Written::Closed => {}
        }
        Ok(())
    }

    /// Gives the memory of an empty buffer back.
    pub(super) fn release(&self) {
        let mut buffer = self.buffer();
        if buffer.bytes.is_empty() {
            buffer.bytes = Vec::new();
        }
    }

    /// Closes the plugin's stdin. What was not written is lost.
    pub(super) fn close(&self) {
        let mut buffer = self.buffer();
        buffer.pipe = None;
        buffer.bytes = Vec::new();
        buffer.written = 0;
        self.closing.notify_one();
    }

    async fn wait_and_write(&self, shared: &Arc<Shared>, pipe: Arc<pipe::Sender>) {
        loop {
            tokio::select! {
                ready = pipe.writable() => if ready.is_err() { return },
                () = self.closing.notified() => return,
            }
            let mut buffer = self.buffer();
            match buffer.write() {
                Written::Full(_) => {}
                Written::All | Written::Closed => {
                    buffer.waiting = false;
                    return;
                }
                Written::Failed(error) => {
                    drop(buffer);
                    broken(shared, &error);
                    return;
                }
            }
        }
    }
}

fn broken(shared: &Shared, error: &io::Error) {
    shared.trouble(
        format!("it can't be written to: {error}"),
        Cause::ConnectionLost,
    );
}

impl Buffer {
    fn write(&mut self) -> Written {
        let Some(pipe) = &self.pipe else {
            return Written::Closed;
        };
        loop {
            let rest = self.bytes.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                self.bytes.clear();
                self.bytes.shrink_to(KEPT);
                self.written = 0;
                return Written::All;
            }
            match pipe.try_write(rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Long behind: give the written part back rather than keep it until the end.
                    if self.written > KEPT * 64 {
                        self.bytes.drain(..self.written);
                        self.written = 0;
                    }
                    return Written::Full(pipe.clone());
                }
                Err(error) => return Written::Failed(error),
            }
        }
    }
}
