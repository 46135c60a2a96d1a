//! Reading the node's requests.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::mark::Ordinal;
use crate::wire::packet::{self, Received};
use crate::wire::{MAX_REQUEST_BYTES, Request, SPAWN_DESCRIPTORS, SpawnRequest};

/// What one packet turned out to be.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A spawn request with the child's stdin, stdout and stderr.
    Spawn(Box<SpawnRequest>, [OwnedFd; SPAWN_DESCRIPTORS]),
    Interrupt(Ordinal),
    Kill(Ordinal),
    /// It starts nothing; descriptors that came along are closed.
    Refused(Option<Ordinal>, String),
    /// The node's end is closed.
    End,
}

/// Reads one packet. `WouldBlock` when none waits.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8; MAX_REQUEST_BYTES],
) -> io::Result<Incoming> {
    Ok(match packet::receive(socket, buffer)? {
        Received::End => Incoming::End,
        Received::Packet {
            length,
            descriptors,
            truncated,
        } => interpret(
            buffer.get(..length).unwrap_or_default(),
            descriptors,
            truncated,
        ),
    })
}

fn interpret(bytes: &[u8], descriptors: Vec<OwnedFd>, truncated: bool) -> Incoming {
    let request = match serde_json::from_slice(bytes) {
        Ok(request) => request,
        Err(_) if truncated => {
            return Incoming::Refused(None, "the request was cut off".to_owned());
        }
        Err(error) => {
            return Incoming::Refused(None, format!("the request cannot be read: {error}"));
        }
    };
    match request {
        Request::Spawn(spawn) => accept(spawn, descriptors, truncated),
        Request::Interrupt { ordinal } => Incoming::Interrupt(ordinal),
        Request::Kill { ordinal } => Incoming::Kill(ordinal),
    }
}

fn accept(spawn: Box<SpawnRequest>, descriptors: Vec<OwnedFd>, truncated: bool) -> Incoming {
    let ordinal = Some(spawn.ordinal());
    if truncated {
        return Incoming::Refused(
            ordinal,
            "descriptors of the request were cut off: too many open files".to_owned(),
        );
    }
    if spawn
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.as_encoded_bytes().contains(&b'='))
    {
        return Incoming::Refused(
            ordinal,
            "a name in the environment is empty or contains '='".to_owned(),
        );
    }
    match <[OwnedFd; SPAWN_DESCRIPTORS]>::try_from(descriptors) {
        Ok(standard) => Incoming::Spawn(spawn, standard),
        Err(wrong) => Incoming::Refused(
            ordinal,
            format!(
                "{} descriptors where {SPAWN_DESCRIPTORS} belong",
                wrong.len()
            ),
        ),
    }
}
