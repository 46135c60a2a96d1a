//! The node about itself.

use std::collections::BTreeMap;

use serde::Serialize;

use super::time::Moment;

/// A limit with its use; `used` is null where nobody counts.
#[derive(Debug, Serialize)]
pub(crate) struct NodeLimitBody {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) limit: u64,
    pub(crate) used: Option<u64>,
}

/// The node.
#[derive(Debug, Serialize)]
pub(crate) struct NodeBody {
    pub(crate) id: String,
    pub(crate) version: &'static str,
    /// Number of this start.
    pub(crate) session: u64,
    pub(crate) started_at: Moment,
    pub(crate) uptime_ms: u64,
    pub(crate) ready: bool,
    /// Why it is not ready.
    pub(crate) not_ready_reason: Option<String>,
    /// How many entries are in each state.
    pub(crate) entries: BTreeMap<&'static str, u64>,
    pub(crate) limits: Vec<NodeLimitBody>,
    pub(crate) warnings: Vec<String>,
}
