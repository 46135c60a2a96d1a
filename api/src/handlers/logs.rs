//! The last lines of an entry's log.

use axum::http::Uri;
use axum::response::Response;
use treewarden_actors::limits::LOG_LINES_KEPT;

use crate::answer;
use crate::body::log::LogsBody;
use crate::limits::LOG_LINES;
use crate::node::Node;
use crate::problem::Problem;
use crate::request::Query;

/// At most `tail` lines, oldest first; more than are kept are not there to be had.
pub(super) fn tail<N: Node>(node: &N, name: &str, uri: &Uri) -> Result<Response, Problem> {
    let mut query = Query::of(uri)?;
    let tail = query.number("tail", 0, LOG_LINES_KEPT, LOG_LINES)?;
    query.finish()?;
    answer::json(&LogsBody::from(node.logs(name, tail)?))
}
