//! Problems of verbs on entries, and of a reload.

use serde_json::json;
use treewarden_actors::answers::{EntryError, ReloadError};

use super::{Code, Problem};
use crate::body::stop::StopBody;

/// What is said when the node shuts down.
pub(crate) const SHUTTING_DOWN: &str = "The node is shutting down; ask again when it is back.";

impl From<EntryError> for Problem {
    fn from(error: EntryError) -> Self {
        let sentence = sentence(&error.to_string());
        match error {
            EntryError::NotFound(name) => {
                Self::new(Code::EntryNotFound, sentence).with("entry", name)
            }
            EntryError::Unconfirmed(stop) => {
                let body = StopBody::from(&*stop);
                Self::new(Code::TerminationUnconfirmed, sentence)
                    .with("entry", stop.entry.as_str())
                    .with("instance", json!(body.instance))
                    .with("launch", stop.launch.get())
                    .with("cleanup_error", json!(body.cleanup_error))
            }
            EntryError::Removing(name) => {
                Self::new(Code::EntryRemoving, sentence).with("entry", name.as_str())
            }
            EntryError::ShuttingDown => Self::new(Code::ShuttingDown, SHUTTING_DOWN),
            EntryError::Superseded(name) => {
                Self::new(Code::RequestSuperseded, sentence).with("entry", name.as_str())
            }
            EntryError::Failed { name, .. } => {
                Self::new(Code::EntryFailed, sentence).with("entry", name.as_str())
            }
            EntryError::CapacityExhausted { name, limit } => {
                Self::new(Code::CapacityExhausted, sentence)
                    .with("entry", name.as_str())
                    .with("limit", limit)
            }
            EntryError::StoreFailed(error) => {
                tracing::error!(error, "a request failed because the store failed");
                Self::new(
                    Code::StoreFailed,
                    "The node's store failed, so what was asked is not on disk: a process may have been stopped, but that will not hold over a restart. The log says why; what runs is still supervised.",
                )
            }
        }
    }
}

impl From<ReloadError> for Problem {
    fn from(error: ReloadError) -> Self {
        match error {
            ReloadError::Config(problems) => Self::new(
                Code::ConfigInvalid,
                format!(
                    "The configuration was not reloaded, and nothing was changed: {}",
                    problems.join("; ")
                ),
            )
            .with("problems", problems),
            ReloadError::ShuttingDown => Self::new(Code::ShuttingDown, SHUTTING_DOWN),
            ReloadError::Interrupted => Self::new(
                Code::ServiceUnavailable,
                sentence(&ReloadError::Interrupted.to_string()),
            ),
        }
    }
}

/// An error's fragment as a sentence.
pub(crate) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let mut text: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    text.push_str(letters.as_str());
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
