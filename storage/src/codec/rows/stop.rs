//! The stops of an entry.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use treewarden_model::id::LaunchNumber;
use treewarden_model::name::EntryName;
use treewarden_model::outcome::{
    Cause, CleanupCause, CleanupCauseKind, Ending, Evidence, ExitStatus, Outcome, StopResult,
};
use treewarden_model::time::WallTime;

use super::{CodecError, Row, instance};
use crate::stop::{CLEANUP_CAUSES_KEPT, CLEANUP_MESSAGE_MAX, RecordedStop};

/// The last stops of an entry, newest last. One row an entry: bounded, and a confirmed end is found in it again after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StopsRow {
    pub(crate) stops: Vec<StopRow>,
}

impl Row for StopsRow {
    const VERSION: u8 = 1;
}

/// [`RecordedStop`] without the entry's name, which is the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StopRow {
    pub(crate) launch: u64,
    instance: String,
    generation: u64,
    outcome: u8,
    cause: u8,
    evidence: Option<u8>,
    exit_status: Option<ExitRow>,
    duration_seconds: u64,
    duration_nanos: u32,
    cleanup: Vec<(u8, String)>,
    at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ExitRow {
    Code(i32),
    Signal(i32),
}

const OUTCOMES: [(u8, Outcome); 3] = [
    (1, Outcome::Exited),
    (2, Outcome::Killed),
    (3, Outcome::TerminationUnconfirmed),
];
const CAUSES: [(u8, Cause); 7] = [
    (1, Cause::Requested),
    (2, Cause::Replaced),
    (3, Cause::Crashed),
    (4, Cause::LeaseExpired),
    (5, Cause::ConnectionLost),
    (6, Cause::OutOfMemory),
    (7, Cause::External),
];
const EVIDENCE: [(u8, Evidence); 3] = [
    (1, Evidence::Cgroup),
    (2, Evidence::Tree),
    (3, Evidence::Group),
];
const CLEANUP_KINDS: [(u8, CleanupCauseKind); 5] = [
    (1, CleanupCauseKind::GracefulStopTimeout),
    (2, CleanupCauseKind::FinalizerFailed),
    (3, CleanupCauseKind::LocalTerminationTimeout),
    (4, CleanupCauseKind::TerminationUnconfirmed),
    (5, CleanupCauseKind::ConnectionLost),
];

/// The code of a value. A value without one (a new variant of the model) is stored as 0, which no reader takes: the test below notices it first.
fn code<T: PartialEq>(table: &[(u8, T)], value: &T) -> u8 {
    table
        .iter()
        .find(|(_, known)| known == value)
        .map_or(0, |(code, _)| *code)
}

fn value<T: Copy>(table: &[(u8, T)], code: u8, what: &'static str) -> Result<T, CodecError> {
    table
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, value)| *value)
        .ok_or(CodecError::Value(what))
}

/// At most [`CLEANUP_MESSAGE_MAX`] bytes, ending between characters.
fn shortened(text: &str) -> String {
    let mut end = CLEANUP_MESSAGE_MAX.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

impl StopRow {
    pub(crate) fn new(result: &StopResult, at: WallTime) -> Self {
        let ending = &result.ending;
        Self {
            launch: result.launch.get(),
            instance: shortened(&result.instance.id),
            generation: result.instance.generation.get(),
            outcome: code(&OUTCOMES, &ending.outcome),
            cause: code(&CAUSES, &ending.cause),
            evidence: ending.evidence.map(|evidence| code(&EVIDENCE, &evidence)),
            exit_status: ending.exit_status.map(|status| match status {
                ExitStatus::Code(code) => ExitRow::Code(code),
                ExitStatus::Signal(signal) => ExitRow::Signal(signal),
            }),
            duration_seconds: ending.duration.as_secs(),
            duration_nanos: ending.duration.subsec_nanos(),
            cleanup: ending
                .cleanup
                .iter()
                .take(CLEANUP_CAUSES_KEPT)
                .map(|cause| (code(&CLEANUP_KINDS, &cause.kind), shortened(&cause.message)))
                .collect(),
            at: at.0,
        }
    }

    /// Whether the exit is proven: then this end is final, and the launch is no longer open.
    pub(crate) fn is_confirmed(&self) -> bool {
        value(&OUTCOMES, self.outcome, "")
            .is_ok_and(|outcome| outcome != Outcome::TerminationUnconfirmed)
    }

    /// Whether two rows say the same end, whenever it was recorded.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        Self {
            at: other.at,
            ..self.clone()
        } == *other
    }

    pub(crate) fn read(self, entry: &EntryName) -> Result<RecordedStop, CodecError> {
        let cleanup = self
            .cleanup
            .into_iter()
            .map(|(kind, message)| {
                Ok(CleanupCause {
                    kind: value(&CLEANUP_KINDS, kind, "the cleanup cause")?,
                    message,
                })
            })
            .collect::<Result<_, CodecError>>()?;
        if self.duration_nanos >= 1_000_000_000 {
            return Err(CodecError::Value("the duration"));
        }
        let ending = Ending {
            outcome: value(&OUTCOMES, self.outcome, "the outcome")?,
            cause: value(&CAUSES, self.cause, "the cause")?,
            evidence: self
                .evidence
                .map(|evidence| value(&EVIDENCE, evidence, "the evidence"))
                .transpose()?,
            exit_status: self.exit_status.map(|status| match status {
                ExitRow::Code(code) => ExitStatus::Code(code),
                ExitRow::Signal(signal) => ExitStatus::Signal(signal),
            }),
            duration: Duration::new(self.duration_seconds, self.duration_nanos),
            cleanup,
        };
        let result = StopResult {
            entry: entry.clone(),
            instance: instance(self.instance, self.generation)?,
            launch: LaunchNumber::from_stored(self.launch),
            ending,
        };
        Ok(RecordedStop {
            result,
            at: WallTime(self.at),
        })
    }
}
