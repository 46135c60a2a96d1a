//! Reading a line.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::error::ErrorObject;
use crate::id::Id;
use crate::{MAX_DEPTH, MAX_LINE};

mod depth;
mod envelope;

use envelope::{Envelope, Member};

/// One message.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// To be echoed in the answer.
    pub id: Id<'a>,
    /// See [`crate::method`].
    pub method: Cow<'a, str>,
    /// Not yet parsed; `None` where the message has no `params`.
    pub params: Option<&'a RawValue>,
}

/// A notification.
#[derive(Debug)]
pub struct Notification<'a> {
    /// See [`crate::method`].
    pub method: Cow<'a, str>,
    /// Not yet parsed; `None` where the message has no `params`.
    pub params: Option<&'a RawValue>,
}

/// An answer.
#[derive(Debug)]
pub struct Response<'a> {
    /// Which request is answered; `None` (a null id) only beside an error that could not be ascribed.
    pub id: Option<Id<'a>>,
    /// The result, not yet parsed, or the error.
    pub outcome: Result<&'a RawValue, ErrorObject>,
}

/// Why a line is no message. Each is a broken line: the connection it came over is not to be trusted further.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// Longer than [`MAX_LINE`].
    TooLong,
    /// Not UTF-8.
    NotUtf8,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Not JSON; what and where.
    Syntax(String),
    /// A batch array, which this protocol does not have.
    Batch,
    /// JSON, but no object.
    NotAnObject,
    /// `jsonrpc` is missing or not `"2.0"`.
    WrongVersion,
    /// A member of the message stands there twice.
    DuplicateMember(&'static str),
    /// `method` is no string.
    InvalidMethod,
    /// `id` is neither a string nor a number, or too long.
    InvalidId,
    /// An answer without an id.
    MissingId,
    /// Neither `method` nor `result` nor `error`.
    Empty,
    /// More than one of `method`, `result` and `error`.
    Ambiguous,
    /// `error` is no error object.
    InvalidError,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "line is longer than {MAX_LINE} bytes"),
            Self::NotUtf8 => f.write_str("line is not UTF-8"),
            Self::TooDeep => write!(f, "line is nested deeper than {MAX_DEPTH}"),
            Self::Syntax(reason) => write!(f, "line is not JSON: {reason}"),
            Self::Batch => f.write_str("batches are not part of the protocol"),
            Self::NotAnObject => f.write_str("message is not an object"),
            Self::WrongVersion => f.write_str("member jsonrpc is not \"2.0\""),
            Self::DuplicateMember(name) => write!(f, "member {name} stands there twice"),
            Self::InvalidMethod => f.write_str("member method is not a string"),
            Self::InvalidId => {
                f.write_str("member id is neither a string nor a number of at most 256 bytes")
            }
            Self::MissingId => f.write_str("answer has no id"),
            Self::Empty => f.write_str("message has none of method, result and error"),
            Self::Ambiguous => f.write_str("message has more than one of method, result and error"),
            Self::InvalidError => f.write_str("member error is not an error object"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads one line, without its newline. Never panics, whatever the bytes.
///
/// Of a member of the message that stands there twice neither is believed; a key that stands twice *inside* `params` or
/// `result` is for whoever parses those. Members the protocol does not know are ignored.
///
/// # Errors
///
/// See [`DecodeError`].
pub fn decode(line: &[u8]) -> Result<Incoming<'_>, DecodeError> {
    if line.len() > MAX_LINE {
        return Err(DecodeError::TooLong);
    }
    let text = std::str::from_utf8(line).map_err(|_| DecodeError::NotUtf8)?;
    if depth::exceeds(line, MAX_DEPTH) {
        return Err(DecodeError::TooDeep);
    }
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => return Err(explain(text, &error)),
    };
    classify(&envelope)
}

/// Tells a line that is no JSON from JSON that is no object.
fn explain(text: &str, error: &serde_json::Error) -> DecodeError {
    match serde_json::from_str::<&RawValue>(text) {
        Err(_) => DecodeError::Syntax(error.to_string()),
        Ok(value) if value.get().starts_with('[') => DecodeError::Batch,
        Ok(_) => DecodeError::NotAnObject,
    }
}

fn classify<'a>(envelope: &Envelope<'a>) -> Result<Incoming<'a>, DecodeError> {
    if let Some(name) = envelope.duplicate() {
        return Err(DecodeError::DuplicateMember(name));
    }
    let version = envelope.get(Member::Version).and_then(string);
    if version.as_deref() != Some("2.0") {
        return Err(DecodeError::WrongVersion);
    }
    let id = envelope.get(Member::Id);
    match (
        envelope.get(Member::Method),
        envelope.get(Member::Result),
        envelope.get(Member::Error),
    ) {
        (Some(method), None, None) => {
            let method = string(method).ok_or(DecodeError::InvalidMethod)?;
            let params = envelope.get(Member::Params);
            Ok(match id {
                None => Incoming::Notification(Notification { method, params }),
                Some(id) => {
                    let id = Id::from_raw(id).ok_or(DecodeError::InvalidId)?;
                    Incoming::Request(Request { id, method, params })
                }
            })
        }
        (None, Some(result), None) => {
            let id =
                Id::from_raw(id.ok_or(DecodeError::MissingId)?).ok_or(DecodeError::InvalidId)?;
            Ok(Incoming::Response(Response {
                id: Some(id),
                outcome: Ok(result),
            }))
        }
        (None, None, Some(error)) => {
            let id = match id.ok_or(DecodeError::MissingId)? {
                null if null.get() == "null" => None,
                id => Some(Id::from_raw(id).ok_or(DecodeError::InvalidId)?),
            };
            let error = serde_json::from_str(error.get()).map_err(|_| DecodeError::InvalidError)?;
            Ok(Incoming::Response(Response {
                id,
                outcome: Err(error),
            }))
        }
        (None, None, None) => Err(DecodeError::Empty),
        _ => Err(DecodeError::Ambiguous),
    }
}

/// The text of a JSON string, borrowed unless it holds an escape.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
