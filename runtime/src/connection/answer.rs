//! How a call ends.

use std::time::Duration;

use serde_json::value::RawValue;
use treewarden_protocol::ErrorObject;

/// Result of a call, as JSON text.
pub type Reply = Result<Box<RawValue>, CallFailure>;

/// Why a call has no result. The node never repeats a call by itself.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallFailure {
    /// The plugin's own error.
    #[error("{}", .0.message)]
    Plugin(ErrorObject),
    /// The connection was lost before the answer; whether the plugin did it is not known.
    #[error("the connection to the plugin was lost before it answered")]
    ConnectionLost,
    /// The plugin takes no calls now.
    #[error("the service is not available now")]
    Unavailable,
    /// No answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    /// Too many calls wait.
    #[error("too many calls are in flight (limit {0})")]
    Capacity(usize),
    /// The request does not fit a line.
    #[error("the request does not fit a line: {0}")]
    TooLarge(String),
    /// Not the current launch.
    #[error("the launch is not the current one")]
    Stale,
    /// The caller may not.
    #[error("{0}")]
    Denied(String),
}
