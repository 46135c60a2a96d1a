//! `hook.run`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::InvocationContext;
use crate::open_enum::open_enum;

open_enum! {
    /// The six phases of an invocation.
    pub enum Phase {
        /// May the actor do this? Input: [`ModelInput`].
        Authorization = "authorization",
        /// May it happen now? Input: [`ModelInput`].
        Admission = "admission",
        /// Just before the commit. Input: [`ModelInput`].
        Before = "before",
        /// Just after the commit. Input: [`CommittedInput`].
        After = "after",
        /// It failed. Input: [`FailureInput`].
        Failure = "failure",
        /// It is over. Input: [`CompletionInput`].
        Completion = "completion",
    }
}

open_enum! {
    /// What a hook decides.
    pub enum Decision {
        /// Go on.
        Continue = "continue",
        /// Veto; only where the phase allows one.
        Deny = "deny",
        /// Seen; the answer of a phase that decides nothing.
        Observed = "observed",
    }
}

/// Parameters of `hook.run`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HookRun<'a> {
    /// The contribution's handler.
    #[serde(borrow)]
    pub handler: Cow<'a, str>,
    /// The extension point, `<interface>.<phase>`.
    #[serde(borrow)]
    pub point: Cow<'a, str>,
    /// The phase.
    pub phase: Phase,
    /// Whom it runs for.
    pub context: InvocationContext,
    /// Depends on the phase.
    #[serde(borrow)]
    pub input: &'a RawValue,
}

/// Result of `hook.run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookOutcome {
    /// What is decided.
    pub decision: Decision,
    /// A short stable word for why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<String>,
}

/// Input of the phases authorization, admission and before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInput {
    /// Code of the model definition.
    pub code: String,
    /// Its title.
    pub title: String,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
}

/// Input of the phase after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedInput {
    /// The committed model definition.
    pub model_id: String,
}

/// Input of the phase failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureInput {
    /// What kind of failure.
    pub classification: String,
}

/// Input of the phase completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionInput {
    /// How the invocation ended.
    pub terminal: String,
}

impl HookOutcome {
    /// Go on.
    #[must_use]
    pub const fn proceed() -> Self {
        Self {
            decision: Decision::Continue,
            classification: None,
        }
    }

    /// Seen; for the phases that decide nothing.
    #[must_use]
    pub const fn observed() -> Self {
        Self {
            decision: Decision::Observed,
            classification: None,
        }
    }

    /// A veto, with a short stable word for why.
    #[must_use]
    pub fn deny(classification: impl Into<String>) -> Self {
        Self {
            decision: Decision::Deny,
            classification: Some(classification.into()),
        }
    }
}
