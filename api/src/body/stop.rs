//! The stop result of an entry, and a restart's.

use serde::Serialize;
use treewarden_actors::answers::Restarted;
use treewarden_model::id::Instance;
use treewarden_model::outcome::{CleanupCauseKind, ExitStatus, StopResult};

/// `{id, generation}`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InstanceBody {
    id: String,
    generation: u64,
}

impl From<&Instance> for InstanceBody {
    fn from(instance: &Instance) -> Self {
        Self {
            id: instance.id.clone(),
            generation: instance.generation.get(),
        }
    }
}

/// `{code, signal}`, one of them null.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ExitStatusBody {
    code: Option<i32>,
    signal: Option<i32>,
}

impl From<ExitStatus> for ExitStatusBody {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Code(code) => Self {
                code: Some(code),
                signal: None,
            },
            ExitStatus::Signal(signal) => Self {
                code: None,
                signal: Some(signal),
            },
        }
    }
}

/// One cause of a cleanup error.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CleanupCauseBody {
    kind: CleanupCauseKind,
    message: String,
}

/// What went wrong while stopping.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CleanupErrorBody {
    message: String,
    causes: Vec<CleanupCauseBody>,
}

/// A stop result; all but `entry` are null when nothing ran.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StopBody {
    entry: String,
    pub(crate) instance: Option<InstanceBody>,
    launch: Option<u64>,
    outcome: Option<&'static str>,
    cause: Option<&'static str>,
    evidence: Option<&'static str>,
    exit_status: Option<ExitStatusBody>,
    duration_ms: Option<u64>,
    pub(crate) cleanup_error: Option<CleanupErrorBody>,
}

impl StopBody {
    /// Of an entry of which nothing ran.
    pub(crate) fn nothing(entry: &str) -> Self {
        Self {
            entry: entry.to_owned(),
            instance: None,
            launch: None,
            outcome: None,
            cause: None,
            evidence: None,
            exit_status: None,
            duration_ms: None,
            cleanup_error: None,
        }
    }

    /// What a stop of `entry` answers.
    pub(crate) fn of(entry: &str, stop: Option<&StopResult>) -> Self {
        stop.map_or_else(|| Self::nothing(entry), Self::from)
    }
}

impl From<&StopResult> for StopBody {
    fn from(stop: &StopResult) -> Self {
        let ending = &stop.ending;
        let cause = |cause: &treewarden_model::outcome::CleanupCause| CleanupCauseBody {
            kind: cause.kind,
            message: cause.message.clone(),
        };
        let cleanup_error = stop.cleanup_message().map(|message| CleanupErrorBody {
            message,
            causes: ending.cleanup.iter().map(cause).collect(),
        });
        Self {
            entry: stop.entry.to_string(),
            instance: Some(InstanceBody::from(&stop.instance)),
            launch: Some(stop.launch.get()),
            outcome: Some(ending.outcome.as_str()),
            cause: Some(ending.cause.as_str()),
            evidence: ending
                .evidence
                .map(treewarden_model::outcome::Evidence::as_str),
            exit_status: ending.exit_status.map(ExitStatusBody::from),
            duration_ms: Some(u64::try_from(ending.duration.as_millis()).unwrap_or(u64::MAX)),
            cleanup_error,
        }
    }
}

/// What a restart answers: how the old launch ended, and whether the new one serves.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RestartBody {
    #[serde(flatten)]
    stop: StopBody,
    started: bool,
    start_error: Option<String>,
}

impl RestartBody {
    /// Of a restart of `entry`.
    pub(crate) fn of(entry: &str, restarted: Restarted) -> Self {
        Self {
            stop: StopBody::of(entry, restarted.stop.as_ref()),
            started: restarted.started.is_ok(),
            start_error: restarted.started.err(),
        }
    }
}
