//! The error object of an answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::open_enum::open_enum;

open_enum! {
    /// Why a request failed, in `data.kind` of the error object. The kind decides, the code is for JSON-RPC tools.
    pub enum ErrorKind {
        /// The connection to the peer, or to whom it asked, is gone; what was asked may have happened.
        Connection = "connection",
        /// Nobody provides what was asked for at the moment.
        Unavailable = "unavailable",
        /// Not allowed.
        Denied = "denied",
        /// Not done in time; it may still happen.
        Deadline = "deadline",
        /// It came from, or went to, a launch that is no longer the current one (SUP-16).
        StaleGeneration = "stale_generation",
        /// A named bound is reached.
        Capacity = "capacity",
        /// The request itself is wrong.
        Invalid = "invalid",
        /// The plugin's own code failed.
        Application = "application",
    }
}

impl ErrorKind {
    fn code(&self) -> i64 {
        match self {
            Self::Application | Self::Other(_) => -32000,
            Self::Connection => -32001,
            Self::Unavailable => -32002,
            Self::Denied => -32003,
            Self::Deadline => -32004,
            Self::StaleGeneration => -32005,
            Self::Capacity => -32006,
            Self::Invalid => ErrorObject::INVALID_PARAMS,
        }
    }
}

/// The error object of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// A JSON-RPC code; see [`ErrorObject::kind`] for what decides.
    pub code: i64,
    /// A sentence for people.
    pub message: String,
    /// `{kind, …}`; a peer may send any value or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// The line is no JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The line is JSON, but no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;

    /// An error of a kind, with that kind's code.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let code = kind.code();
        Self {
            code,
            message: message.into(),
            data: Some(kind_data(&kind)),
        }
    }

    /// The answer to a request whose method nobody knows: code -32601, kind `invalid`.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self {
            code: Self::METHOD_NOT_FOUND,
            message: format!("unknown method {method:?}"),
            data: Some(kind_data(&ErrorKind::Invalid)),
        }
    }

    /// The same error with one more member in `data`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let data = self.data.get_or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(members) = data {
            members.insert(key.to_owned(), value.into());
        }
        self
    }

    /// `data.kind`; where a peer left it out: `invalid` for the codes JSON-RPC reserves, else `application`.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self
            .data
            .as_ref()
            .and_then(|data| data.get("kind"))
            .and_then(Value::as_str)
        {
            Some(kind) => kind.into(),
            None if (-32700..=-32600).contains(&self.code) => ErrorKind::Invalid,
            None => ErrorKind::Application,
        }
    }
}

fn kind_data(kind: &ErrorKind) -> Value {
    Value::Object(Map::from_iter([(
        "kind".to_owned(),
        Value::from(kind.as_str()),
    )]))
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind())
    }
}

impl std::error::Error for ErrorObject {}
