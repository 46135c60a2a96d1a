//! `/livez` and `/readyz`.

use axum::response::Response;
use serde_json::json;
use treewarden_actors::answers::Readiness;

use crate::answer;
use crate::node::Node;
use crate::pipeline::Shared;
use crate::problem::{Code, Problem};

/// The process answers.
pub(super) fn live() -> Result<Response, Problem> {
    answer::json(&json!({ "status": "live" }))
}

/// The node takes work, or says why not.
pub(super) fn ready<N: Node>(shared: &Shared<N>) -> Result<Response, Problem> {
    if !shared.open() {
        return Err(Problem::new(
            Code::ShuttingDown,
            "The node is shutting down and takes no new work.",
        ));
    }
    match shared.node.readiness() {
        Readiness::Ready => answer::json(&json!({ "status": "ready" })),
        Readiness::NotReady(why) => Err(Problem::new(Code::NotReady, why)),
    }
}
