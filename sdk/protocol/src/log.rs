//! `log`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::open_enum::open_enum;

open_enum! {
    /// How much a log record matters.
    pub enum LogLevel {
        /// For tracing one thing in detail.
        Trace = "trace",
        /// For the plugin's author.
        Debug = "debug",
        /// For its operator.
        Info = "info",
        /// Something is odd.
        Warn = "warn",
        /// Something failed.
        Error = "error",
    }
}

/// Parameters of the notification `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogRecord<'a> {
    /// How much it matters.
    pub level: LogLevel,
    /// A sentence.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// An object of details.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<&'a RawValue>,
}
