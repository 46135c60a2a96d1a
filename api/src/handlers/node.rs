//! `GET /api/console/node`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use axum::response::Response;
use treewarden_actors::answers::Readiness;
use treewarden_actors::limits as actor_limits;

use crate::answer;
use crate::body::node::{NodeBody, NodeLimitBody};
use crate::body::time::Moment;
use crate::limits;
use crate::node::Node;
use crate::pipeline::Shared;
use crate::problem::Problem;

/// The node about itself.
pub(super) fn show<N: Node>(shared: &Shared<N>) -> Result<Response, Problem> {
    let info = shared.node.info();
    let mut entries = BTreeMap::new();
    for status in shared.node.list() {
        let count: &mut u64 = entries.entry(status.state.as_str()).or_default();
        *count = count.saturating_add(1);
    }
    let not_ready_reason = match shared.node.readiness() {
        _ if !shared.open() => Some("The node is shutting down.".to_owned()),
        Readiness::Ready => None,
        Readiness::NotReady(why) => Some(why),
    };
    answer::json(&NodeBody {
        id: info.node.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        session: info.session.0,
        started_at: Moment(info.started_at),
        uptime_ms: shared.clock.wall().0.saturating_sub(info.started_at.0),
        ready: not_ready_reason.is_none(),
        not_ready_reason,
        entries,
        limits: limits_with_use(shared),
        warnings: info.warnings,
    })
}

fn limits_with_use<N>(shared: &Shared<N>) -> Vec<NodeLimitBody> {
    let limit = |name, unit, limit: usize, used: Option<usize>| NodeLimitBody {
        name,
        unit,
        limit: wide(limit),
        used: used.map(wide),
    };
    let millis =
        |time: std::time::Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
    vec![
        limit(
            "http_connections",
            "connections",
            limits::CONNECTIONS,
            Some(shared.connections.load(Ordering::Relaxed)),
        ),
        limit("http_request_body", "bytes", limits::BODY_BYTES, None),
        limit(
            "waiting_requests_per_entry",
            "requests",
            actor_limits::WAITING_PER_ENTRY,
            None,
        ),
        limit(
            "call_timeout",
            "milliseconds",
            millis(actor_limits::CALL_TIMEOUT_MAX),
            None,
        ),
        limit(
            "log_lines_per_entry",
            "lines",
            actor_limits::LOG_LINES_KEPT,
            None,
        ),
        limit(
            "log_bytes_per_entry",
            "bytes",
            actor_limits::LOG_BYTES_KEPT,
            None,
        ),
    ]
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
