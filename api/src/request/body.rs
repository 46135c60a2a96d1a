//! A request's bytes.

use axum::body::{Body, Bytes};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::limits::{BODY_BYTES, BODY_TIME, DISCARDED_BYTES};
use crate::problem::{Code, Problem};

/// Reads the whole body, which is mostly there already: then nothing is copied.
///
/// # Errors
/// Longer than [`BODY_BYTES`], not there within [`BODY_TIME`], or cut off.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let late = |_| {
        Problem::new(
            Code::RequestTimeout,
            "The request's body did not arrive in time.",
        )
    };
    timeout(BODY_TIME, read_all(headers, body))
        .await
        .map_err(late)?
}

async fn read_all(headers: &HeaderMap, mut body: Body) -> Result<Bytes, Problem> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES) {
        // Who waits for `100 Continue` has sent nothing, and reading would ask for it.
        if !headers.contains_key(EXPECT) {
            discard(&mut body).await;
        }
        return Err(too_large());
    }
    let mut first: Option<Bytes> = None;
    let mut all: Vec<u8> = Vec::new();
    while let Some(data) = next(&mut body).await? {
        let length = all.len().max(first.as_ref().map_or(0, Bytes::len));
        if length.saturating_add(data.len()) > BODY_BYTES {
            discard(&mut body).await;
            return Err(too_large());
        }
        match (first.take(), all.is_empty()) {
            (None, true) => first = Some(data),
            (Some(before), _) => {
                all.extend_from_slice(&before);
                all.extend_from_slice(&data);
            }
            (None, false) => all.extend_from_slice(&data),
        }
    }
    Ok(first.unwrap_or_else(|| all.into()))
}

/// The next bytes; `None` at the end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => {
                return Err(Problem::new(
                    Code::InvalidRequest,
                    "The request's body was cut off.",
                ));
            }
            // Trailers are of no use here.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Takes what the client still writes, up to a bound, so that it comes to read the answer.
async fn discard(body: &mut Body) {
    let mut left = DISCARDED_BYTES;
    while let Ok(Some(data)) = next(body).await {
        let Some(rest) = left.checked_sub(data.len()) else {
            return;
        };
        left = rest;
    }
}

fn too_large() -> Problem {
    let detail = format!("The request's body is longer than {BODY_BYTES} bytes.");
    Problem::new(Code::BodyTooLarge, detail)
        .with("limit", BODY_BYTES)
        .with_header(CONNECTION, HeaderValue::from_static("close"))
}

/// Whether the body is said to be JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(kind)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let suffixed = || {
        essence
            .get(.."application/".len())
            .is_some_and(|start| start.eq_ignore_ascii_case("application/"))
            && essence.ends_with("+json")
    };
    essence.eq_ignore_ascii_case("application/json") || suffixed()
}
