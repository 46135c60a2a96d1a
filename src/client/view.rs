//! Answers as far as people are shown them. What is missing or new in another version's answer does no harm.

use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Instance {
    pub(super) id: String,
    pub(super) generation: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExitStatus {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cause {
    pub(super) kind: String,
    pub(super) message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct CleanupError {
    pub(super) message: String,
    pub(super) causes: Vec<Cause>,
}

/// A stop result; a restart's too.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stop {
    pub(super) entry: String,
    pub(super) launch: Option<u64>,
    pub(super) outcome: Option<String>,
    pub(super) cause: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) exit_status: Option<ExitStatus>,
    pub(super) duration_ms: Option<u64>,
    pub(super) cleanup_error: Option<CleanupError>,
    pub(super) ended_at: Option<String>,
    pub(super) start_error: Option<String>,
}

/// A declared limit.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit {
    pub(super) limit: u64,
    pub(super) enforced_by: Option<String>,
}

/// An entry's status.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) run: String,
    pub(super) source: String,
    pub(super) desired: String,
    pub(super) state: String,
    pub(super) reason: String,
    pub(super) hint: Option<String>,
    pub(super) instance: Option<Instance>,
    pub(super) launch: Option<u64>,
    pub(super) pid: Option<u32>,
    pub(super) since: String,
    pub(super) restarts: u64,
    pub(super) provides: Vec<String>,
    pub(super) uses: Vec<String>,
    pub(super) isolation: String,
    pub(super) limits: std::collections::BTreeMap<String, Option<Limit>>,
    pub(super) last_stop: Option<Stop>,
    pub(super) last_error: Option<String>,
    pub(super) next_retry_at: Option<String>,
    pub(super) last_lines: Vec<String>,
    pub(super) command: Vec<String>,
}

/// The node about itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) version: String,
    pub(super) uptime_ms: u64,
    pub(super) ready: bool,
    pub(super) not_ready_reason: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// What a reload did.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reload {
    pub(super) started: Vec<String>,
    pub(super) stopped: Vec<String>,
    pub(super) replaced: Vec<String>,
    pub(super) restarted: Vec<String>,
    pub(super) unchanged: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogLine {
    pub(super) time: String,
    pub(super) stream: String,
    pub(super) text: String,
}
