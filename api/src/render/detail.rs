//! An actor's detail in a line.

use serde_json::{Map, Value};

/// `key=value` of what says something, in order of the keys; texts are quoted where they need it.
pub(super) fn pairs(detail: &Map<String, Value>) -> Vec<String> {
    detail
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| format!("{key}={}", shown(value)))
        .collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_alphanumeric() || "-_./:@+".contains(letter))
}
