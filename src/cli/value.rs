//! Values of arguments.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::value::RawValue;
use treewarden_model::quantity;

/// Most lines of a log that may be asked for: what a node keeps.
const LINES_MAX: u32 = 500;

/// `ADDR:PORT`.
pub(super) fn address(text: &str) -> Result<String, String> {
    let wrong = |_| "write an address with a port, such as 127.0.0.1:7420 or [::1]:7420".to_owned();
    text.parse::<SocketAddr>()
        .map(|_| text.to_owned())
        .map_err(wrong)
}

/// `30 seconds`, `500 millis`, `2m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    quantity::positive_duration(text).map_err(|error| error.to_string())
}

/// JSON, kept as it is written.
pub(super) fn json(text: &str) -> Result<Box<RawValue>, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
}

/// A number of lines.
pub(super) fn lines(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|lines| *lines <= LINES_MAX);
    number.ok_or_else(|| format!("write a number from 0 to {LINES_MAX}"))
}
