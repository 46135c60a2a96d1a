//! The plugin protocol `treewarden.plugin/1`: JSON-RPC 2.0, one message a line.
//!
//! This crate is the contract between a host and a plugin and nothing more: typed parameters and
//! results ([`initialize`], [`service`], [`hook`], [`event`], [`data`], [`log`], [`lifecycle`]), the
//! [`ErrorObject`] both sides answer with, and the codec of a line ([`decode()`], [`encode_request`] …,
//! [`LineSplitter`]). It does no IO, starts no thread and builds for WASI.
//!
//! Everything is open-ended on reading: unknown fields are ignored and every enum keeps a value it
//! does not know, so that a host and a plugin of different ages understand each other.
//!
//! On the hot path nothing is copied and no tree is built: a decoded line borrows its parameters or
//! its result as a [`serde_json::value::RawValue`], which only the receiver of the call parses.

#![forbid(unsafe_code)]

pub mod context;
pub mod data;
pub mod decode;
pub mod encode;
pub mod error;
pub mod event;
pub mod hook;
pub mod id;
pub mod initialize;
pub mod lifecycle;
pub mod lines;
pub mod log;
pub mod method;
mod open_enum;
pub mod service;

pub use context::InvocationContext;
pub use decode::{DecodeError, Incoming, Notification, Request, Response, decode};
pub use encode::{EncodeError, encode_error, encode_notification, encode_request, encode_result};
pub use error::{ErrorKind, ErrorObject};
pub use id::{Generation, Id, LaunchNumber, OwnedId, RequestId};
pub use initialize::{Identity, InitializeParams, InitializeResult, Limits, PluginIdentity};
pub use lines::{LineSplitter, LineTooLong};

use std::time::Duration;

/// The name of this protocol, exchanged in `initialize`.
pub const PROTOCOL: &str = "treewarden.plugin/1";

/// Most bytes of one line, its newline not counted: 1 MiB.
pub const MAX_LINE: usize = 1024 * 1024;

/// Most requests a host has open with one plugin at a time.
pub const MAX_IN_FLIGHT: usize = 32;

/// Deepest nesting of arrays and objects in one line, the message's own object included.
///
/// Deep enough for people, and shallow enough that no reader in use recurses off its stack.
pub const MAX_DEPTH: usize = 128;

/// Time a plugin has to answer `initialize`.
pub const INITIALIZE_DEADLINE: Duration = Duration::from_secs(10);
