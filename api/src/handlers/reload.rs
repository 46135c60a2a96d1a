//! `POST /api/console/reload`.

use axum::response::Response;

use crate::answer;
use crate::body::reload::ReloadBody;
use crate::node::Node;
use crate::problem::Problem;

/// Reads the configuration file again; a wrong one changes nothing.
pub(super) async fn reload<N: Node>(node: &N) -> Result<Response, Problem> {
    answer::json(&ReloadBody::from(node.reload().await?))
}
