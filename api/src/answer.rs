//! Answers that are no problems.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::problem::{Code, Problem};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// 200 with JSON.
///
/// # Errors
/// The value can't be written as JSON, which is a fault of this room.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    json_with(StatusCode::OK, value)
}

/// JSON under another status.
///
/// # Errors
/// As [`json`].
pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Result<Response, Problem> {
    let bytes = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer could not be written as JSON");
        Problem::new(Code::Internal, "The answer could not be written.")
    })?;
    Ok(of(status, JSON, bytes))
}

/// `{"result": …}` around a plugin's answer, whose bytes are passed on as they are.
pub(crate) fn result(raw: &RawValue) -> Response {
    const OPEN: &[u8] = b"{\"result\":";
    let raw = raw.get().as_bytes();
    let mut bytes = Vec::with_capacity(OPEN.len() + raw.len() + 1);
    bytes.extend_from_slice(OPEN);
    bytes.extend_from_slice(raw);
    bytes.push(b'}');
    of(StatusCode::OK, JSON, bytes)
}

/// 200 with a text of this content type.
pub(crate) fn text(content_type: &'static str, text: String) -> Response {
    of(
        StatusCode::OK,
        HeaderValue::from_static(content_type),
        text.into_bytes(),
    )
}

fn of(status: StatusCode, content_type: HeaderValue, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
