//! Faults on request, in builds for tests.

use std::borrow::Cow;

use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use treewarden_model::quantity;

use super::actors::nobody;
use crate::answer;
use crate::node::Node;
use crate::problem::Problem;
use crate::request;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeapBody<'a> {
    #[serde(borrow)]
    leap: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BallastBody {
    bytes: usize,
}

/// Kills an actor as a panic would.
pub(super) fn kill_actor<N: Node>(node: &N, id: &str) -> Result<Response, Problem> {
    if node.kill_actor(id) {
        answer::json(&json!({ "killed": id }))
    } else {
        Err(nobody())
    }
}

/// Shifts the clock that decides forward, as a suspend would.
pub(super) fn leap<N: Node>(
    node: &N,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<Response, Problem> {
    let body: LeapBody<'_> = request::parse(headers, bytes)?;
    let by = quantity::positive_duration(&body.leap).map_err(|error| {
        Problem::invalid("leap", format!("The field \"leap\" is not valid: {error}."))
    })?;
    node.leap(by);
    answer::json(&json!({ "leapt_ms": u64::try_from(by.as_millis()).unwrap_or(u64::MAX) }))
}

/// Fills so many bytes of the node's memory.
pub(super) fn ballast<N: Node>(
    node: &N,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<Response, Problem> {
    let body: BallastBody = request::parse(headers, bytes)?;
    node.ballast(body.bytes);
    answer::json(&json!({ "bytes": body.bytes }))
}
