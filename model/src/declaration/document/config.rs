//! `config`: any JSON, handed to the plugin.

use serde_json::{Map, Value};

use crate::declaration::problem::{Fault, Problems};
use crate::declaration::section::Section;

/// Most bytes of `config` as JSON: `initialize` is one line of at most 1 MiB, and every status carries entries by the dozen.
pub const CONFIG_BYTES_MAX: usize = 256 << 10;

/// Deepest nesting of `config`: what common JSON readers, a plugin's among them, read without a setting of their own.
pub const CONFIG_DEPTH_MAX: usize = 64;

/// Reads it; an empty map when absent.
pub(super) fn read(section: &mut Section<'_>, problems: &mut Problems) -> Value {
    let Some(value) = section.take("config") else {
        return Value::Object(Map::new());
    };
    // The depth first: what is written below by recursion must not be deeper than that.
    if depth_over(value, CONFIG_DEPTH_MAX) {
        problems.report(
            section.at("config"),
            Fault::Refused(format!(
                "is nested deeper than {CONFIG_DEPTH_MAX} levels; flatten it"
            )),
        );
        return Value::Null;
    }
    let bytes = serde_json::to_vec(value)
        .map(|bytes| bytes.len())
        .unwrap_or(usize::MAX);
    if bytes > CONFIG_BYTES_MAX {
        let fix = "keep the larger part in a file";
        problems.report(
            section.at("config"),
            Fault::TooMuch {
                what: "bytes of JSON",
                found: bytes,
                limit: CONFIG_BYTES_MAX,
                fix,
            },
        );
        return Value::Null;
    }
    value.clone()
}

fn depth_over(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 0usize)];
    while let Some((value, depth)) = open.pop() {
        let below = depth.saturating_add(1);
        match value {
            Value::Array(_) | Value::Object(_) if below > limit => return true,
            Value::Array(items) => open.extend(items.iter().map(|item| (item, below))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, below))),
            _ => {}
        }
    }
    false
}
