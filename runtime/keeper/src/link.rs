//! The node's end of the socket between node and keeper.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use crate::wire::packet::{self, Received};
use crate::wire::{Event, MAX_EVENT_BYTES, MAX_REQUEST_BYTES, Request, SPAWN_DESCRIPTORS};

/// The node's end: nonblocking, close-on-exec. Closing it tells the keeper that the node is gone.
///
/// Both methods take `&self` and neither blocks; wait for readiness on the descriptor (`AsFd`) and try again on
/// [`io::ErrorKind::WouldBlock`]. One caller at a time should receive, else events of one launch may be handled out of order.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
}

impl Link {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Sends one request; a spawn request with the child's stdin, stdout and stderr, any other with no descriptor.
    ///
    /// The caller keeps at most [`MAX_REQUESTS_IN_FLIGHT`](crate::wire::MAX_REQUESTS_IN_FLIGHT) spawn requests unanswered,
    /// and closes its own copies of the descriptors after a success.
    ///
    /// # Errors
    ///
    /// `WouldBlock`: the socket is full, nothing was sent. `InvalidInput`: too large, or the wrong number of
    /// descriptors; nothing was sent. `BrokenPipe`, `ConnectionReset`: the keeper is gone.
    pub fn try_send(&self, request: &Request, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let expected = if matches!(request, Request::Spawn(_)) {
            SPAWN_DESCRIPTORS
        } else {
            0
        };
        if descriptors.len() != expected {
            return Err(invalid(format!(
                "{} descriptors where {expected} belong",
                descriptors.len()
            )));
        }
        let bytes = serde_json::to_vec(request)?;
        if bytes.len() > MAX_REQUEST_BYTES {
            return Err(invalid(format!(
                "the request has {} bytes, more than {MAX_REQUEST_BYTES}: shorten arguments or environment",
                bytes.len()
            )));
        }
        packet::send(self.socket.as_fd(), &bytes, descriptors)
    }

    /// Receives one event, with the pidfd that comes along with `Spawned`; `None` when the keeper has closed its end.
    /// The keeper is then going or gone: its children are adopted only when its own pidfd says that it has ended.
    ///
    /// # Errors
    ///
    /// `WouldBlock`: no event waits. `InvalidData`: an event that cannot be read; the link is unusable.
    pub fn try_recv(&self) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
        let mut buffer = [0; MAX_EVENT_BYTES];
        match packet::receive(self.socket.as_fd(), &mut buffer)? {
            Received::End => Ok(None),
            Received::Packet {
                length,
                mut descriptors,
                truncated,
            } => {
                // Cut-off descriptors (the node's table is full) still leave a readable event; cut-off bytes do not.
                let bytes = buffer.get(..length).unwrap_or_default();
                let event = serde_json::from_slice(bytes).map_err(|error| {
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("unreadable event (cut off: {truncated}): {error}"),
                    )
                })?;
                Ok(Some((event, descriptors.pop())))
            }
        }
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
