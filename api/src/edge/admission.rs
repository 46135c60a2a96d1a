//! The bound of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpStream;

use crate::limits::CONNECTIONS;

/// The place of one connection; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    /// Takes a place; `None`: all are taken.
    pub(super) fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        let one_more = |now: usize| (now < CONNECTIONS).then_some(now + 1);
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Self(Arc::clone(taken)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells a client that there is no place, as far as its socket takes that at once, and closes.
pub(super) fn refuse(stream: &TcpStream) {
    let body = format!(
        "{{\"type\":\"urn:treewarden:problem:capacity_exhausted\",\"title\":\"A limit is reached\",\"status\":429,\"detail\":\"The node serves as many connections as it may.\",\"code\":\"capacity_exhausted\",\"limit\":{CONNECTIONS}}}"
    );
    let head = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A new socket's buffer takes this; if it does not, closing says enough.
    stream.try_write(format!("{head}{body}").as_bytes()).ok();
}
