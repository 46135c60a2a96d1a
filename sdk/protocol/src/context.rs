//! Whom a managed handler runs for.

use serde::{Deserialize, Serialize};

use crate::id::{Generation, LaunchNumber};

/// `context` of `hook.run` and `event.deliver`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvocationContext {
    /// The invocation; null where the work has none.
    #[serde(default)]
    pub invocation_id: Option<String>,
    /// The workspace it happens in.
    #[serde(default)]
    pub workspace_id: String,
    /// The installation whose handler runs.
    #[serde(default)]
    pub installation_id: String,
    /// The contribution whose handler runs.
    #[serde(default)]
    pub contribution_id: String,
    /// The frozen graph the handler was chosen from.
    #[serde(default)]
    pub graph_fingerprint: String,
    /// The authority's revision the call was admitted under.
    #[serde(default)]
    pub authority_revision: u64,
    /// The instance's fencing token.
    #[serde(default)]
    pub generation: Generation,
    /// The host's number of the launch.
    #[serde(default)]
    pub launch: LaunchNumber,
    /// Time the call has, counted from receipt. It decides.
    pub timeout_ms: u64,
    /// The same as a point in time (milliseconds since 1970, UTC), for logs only: clocks differ.
    #[serde(default)]
    pub deadline_unix_ms: u64,
    /// Who caused it; null where nobody did.
    #[serde(default)]
    pub actor_id: Option<String>,
    /// W3C trace context, to be passed on.
    #[serde(default)]
    pub traceparent: Option<String>,
}
