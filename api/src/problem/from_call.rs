//! Problems of calls to services.

use serde_json::json;
use treewarden_actors::answers::CallError;

use super::from_entry::{SHUTTING_DOWN, sentence};
use super::{Code, Problem};

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        let sentence = sentence(&error.to_string());
        match error {
            CallError::NotFound(name) => {
                Self::new(Code::EntryNotFound, sentence).with("entry", name)
            }
            CallError::Invalid(_) => Self::new(Code::InvalidRequest, sentence),
            CallError::Unavailable { entry, service, .. } => {
                Self::new(Code::ServiceUnavailable, sentence)
                    .with("entry", entry.as_str())
                    .with("service", service)
            }
            // Its message may be long, and stands whole in `error`. The plugin's code is a member of `error`: `code` itself is the problem's.
            CallError::Plugin {
                code,
                message,
                kind,
                data,
            } => Self::new(Code::PluginError, shortened(&sentence)).with(
                "error",
                json!({ "code": code, "message": message, "kind": kind, "data": data }),
            ),
            CallError::ConnectionLost => Self::new(
                Code::ConnectionLost,
                "The connection to the plugin was lost before it answered; whether it did what was asked is not known, and the node does not ask again.",
            ),
            CallError::DeadlineExceeded(millis) => {
                Self::new(Code::DeadlineExceeded, sentence).with("timeout_ms", millis)
            }
            CallError::CapacityExhausted { limit } => {
                Self::new(Code::CapacityExhausted, sentence).with("limit", limit)
            }
            CallError::StaleGeneration => Self::new(Code::StaleGeneration, sentence),
            CallError::ShuttingDown => Self::new(Code::ShuttingDown, SHUTTING_DOWN),
        }
    }
}

/// What a sentence for people needs of a plugin's own words.
fn shortened(text: &str) -> String {
    const KEPT: usize = 300;
    match text.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
