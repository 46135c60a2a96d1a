//! What node and keeper say to each other: one JSON object a packet of a `SOCK_SEQPACKET` socket pair.
//!
//! Descriptors ride along by `SCM_RIGHTS`: exactly [`SPAWN_DESCRIPTORS`] with a spawn request, a pidfd with
//! [`Event::Spawned`], none otherwise. A truncated packet, or one with another number of descriptors, is refused and
//! starts nothing.

mod event;
mod os_text;
pub(crate) mod packet;
mod request;

pub use event::{Event, UnascribedProcess};
pub use request::{Limits, Request, SpawnRequest, UserIds};

/// The largest request in bytes; a larger one is refused before it is sent.
pub const MAX_REQUEST_BYTES: usize = 128 * 1024;

/// The largest event in bytes.
pub const MAX_EVENT_BYTES: usize = 16 * 1024;

/// How many requests may wait for an answer at once. The keeper reads no further request while it owes so many.
pub const MAX_REQUESTS_IN_FLIGHT: usize = 64;

/// The descriptors of a spawn request: the child's stdin, stdout and stderr.
pub const SPAWN_DESCRIPTORS: usize = 3;

/// How many unascribed processes an event names; the rest is counted.
pub const MAX_NAMED_UNASCRIBED: usize = 64;
