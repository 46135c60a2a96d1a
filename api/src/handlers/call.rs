//! Calls to services: the hot path. Parameters and result are passed on as text, never built as values.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use treewarden_actors::limits::CALL_TIMEOUT_MAX;
use treewarden_model::quantity;

use crate::answer;
use crate::node::Node;
use crate::problem::Problem;
use crate::request;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallBody<'a> {
    #[serde(borrow)]
    service: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timeout: Option<Cow<'a, str>>,
}

/// Calls a service of an entry, and answers its result.
pub(super) async fn call<N: Node>(
    node: &N,
    name: &str,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<Response, Problem> {
    let body: CallBody<'_> = request::parse(headers, bytes)?;
    let timeout = body.timeout.as_deref().map(timeout).transpose()?;
    let params = body.params.map(on_one_line).transpose()?;
    let result = node
        .call(
            name,
            &body.service,
            &body.method,
            params.as_deref(),
            timeout,
        )
        .await?;
    Ok(answer::result(&result))
}

fn timeout(text: &str) -> Result<Duration, Problem> {
    let refused = |why: String| {
        Problem::invalid(
            "timeout",
            format!("The field \"timeout\" is not valid: {why}."),
        )
    };
    let timeout = quantity::positive_duration(text).map_err(|error| refused(error.to_string()))?;
    if timeout > CALL_TIMEOUT_MAX {
        let most = CALL_TIMEOUT_MAX.as_secs();
        return Err(refused(format!(
            "\"{text}\" is longer than {most} seconds, the most that is accepted"
        )));
    }
    Ok(timeout)
}

/// A plugin's message is one line, while a client may indent its JSON. Line breaks stand only between tokens: inside a string they are escaped.
fn on_one_line(params: &RawValue) -> Result<Cow<'_, RawValue>, Problem> {
    let text = params.get();
    if !text.contains(['\n', '\r']) {
        return Ok(Cow::Borrowed(params));
    }
    RawValue::from_string(text.replace(['\n', '\r'], " "))
        .map(Cow::Owned)
        .map_err(|_| Problem::invalid("params", "The field \"params\" is not valid JSON."))
}
