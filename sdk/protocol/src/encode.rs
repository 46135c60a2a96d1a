//! Writing a line.
//!
//! Each function appends one whole line, its newline included, to a buffer that the caller may fill with several before it
//! writes. On an error the buffer is as before.

use std::fmt;

use serde::Serialize;

use crate::MAX_LINE;
use crate::error::ErrorObject;
use crate::id::{Id, RequestId};

/// Why a message could not be written as a line.
#[derive(Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// The line would be longer than [`MAX_LINE`].
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The value can't be written as JSON.
    Serialize(serde_json::Error),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => write!(f, "line of {bytes} bytes is longer than {MAX_LINE}"),
            Self::Serialize(error) => write!(f, "value can't be written as JSON: {error}"),
        }
    }
}

impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TooLong { .. } => None,
            Self::Serialize(error) => Some(error),
        }
    }
}

impl From<serde_json::Error> for EncodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::Serialize(error)
    }
}

/// Appends a request.
///
/// # Errors
///
/// [`EncodeError`]; the buffer is then as before.
pub fn encode_request<P>(
    buffer: &mut Vec<u8>,
    id: RequestId,
    method: &str,
    params: &P,
) -> Result<(), EncodeError>
where
    P: Serialize + ?Sized,
{
    line(buffer, |buffer| {
        buffer.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        json(buffer, &id)?;
        call(buffer, method, params)
    })
}

/// Appends a notification.
///
/// # Errors
///
/// [`EncodeError`]; the buffer is then as before.
pub fn encode_notification<P>(
    buffer: &mut Vec<u8>,
    method: &str,
    params: &P,
) -> Result<(), EncodeError>
where
    P: Serialize + ?Sized,
{
    line(buffer, |buffer| {
        buffer.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        call(buffer, method, params)
    })
}

/// Appends an answer with a result.
///
/// # Errors
///
/// [`EncodeError`]; the buffer is then as before, and an error is still to be answered.
pub fn encode_result<R>(buffer: &mut Vec<u8>, id: Id<'_>, result: &R) -> Result<(), EncodeError>
where
    R: Serialize + ?Sized,
{
    line(buffer, |buffer| {
        answer(buffer, Some(id));
        buffer.extend_from_slice(br#","result":"#);
        json(buffer, result)
    })
}

/// Appends an answer with an error; `None` answers what could not be ascribed to a request.
///
/// # Errors
///
/// [`EncodeError`]; the buffer is then as before.
pub fn encode_error(
    buffer: &mut Vec<u8>,
    id: Option<Id<'_>>,
    error: &ErrorObject,
) -> Result<(), EncodeError> {
    line(buffer, |buffer| {
        answer(buffer, id);
        buffer.extend_from_slice(br#","error":"#);
        json(buffer, error)
    })
}

fn line(
    buffer: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = buffer.len();
    let written = body(buffer).and_then(|()| {
        buffer.push(b'}');
        let bytes = buffer.len() - start;
        if bytes > MAX_LINE {
            Err(EncodeError::TooLong { bytes })
        } else {
            Ok(())
        }
    });
    if let Err(error) = written {
        buffer.truncate(start);
        return Err(error);
    }
    // A raw value from elsewhere may be pretty-printed. Inside a JSON string a newline is always escaped, so each one found
    // here is white space.
    if let Some(appended) = buffer.get_mut(start..) {
        for byte in appended {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    buffer.push(b'\n');
    Ok(())
}

fn call<P: Serialize + ?Sized>(
    buffer: &mut Vec<u8>,
    method: &str,
    params: &P,
) -> Result<(), EncodeError> {
    buffer.extend_from_slice(br#","method":"#);
    json(buffer, method)?;
    buffer.extend_from_slice(br#","params":"#);
    json(buffer, params)
}

fn answer(buffer: &mut Vec<u8>, id: Option<Id<'_>>) {
    buffer.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    buffer.extend_from_slice(id.map_or("null", Id::as_json).as_bytes());
}

fn json<T: Serialize + ?Sized>(buffer: &mut Vec<u8>, value: &T) -> Result<(), EncodeError> {
    serde_json::to_writer(buffer, value).map_err(EncodeError::from)
}
