//! `command`: the program and its arguments.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Written;
use crate::declaration::problem::{Fault, KeyPath, Problems, Shown};
use crate::declaration::section::{Section, wrong_kind};
use crate::declaration::{EnvValue, Source};

/// Most arguments, the program among them.
pub const ARGUMENTS_MAX: usize = 256;

/// Longest argument, in bytes.
pub const ARGUMENT_BYTES_MAX: usize = 32 << 10;

/// Most bytes that arguments and environment take together: a launch is one message to the keeper, and has to fit.
pub const EXEC_BYTES_MAX: usize = 96 << 10;

/// Longest path that the kernel takes, without its NUL.
const PROGRAM_BYTES_MAX: usize = 4095;

const EXAMPLE: &str = "a list such as [./ledger, --verbose]";

/// Reads it; empty when it is missing or nothing of it can be used.
pub(super) fn read(
    section: &mut Section<'_>,
    placement: Written,
    source: Source,
    problems: &mut Problems,
) -> Vec<String> {
    let path = section.at("command");
    let present = section.take("command");
    if present.is_none() {
        // What runs elsewhere may have none, and has been refused already.
        if placement == Written::Local {
            problems.report(path, Fault::Missing { fix: "name the program and its arguments, such as command: [./ledger, --verbose]" });
        }
        return Vec::new();
    }
    let items = match present {
        Some(Value::Array(items)) => items.as_slice(),
        Some(other) => {
            problems.report(path, wrong_kind(other, EXAMPLE));
            return Vec::new();
        }
        None => &[],
    };
    if items.is_empty() {
        problems.report(
            path,
            Fault::Refused(
                "is empty; name the program and its arguments, such as [./ledger, --verbose]"
                    .to_owned(),
            ),
        );
        return Vec::new();
    }
    if items.len() > ARGUMENTS_MAX {
        let fix = "hand them over in a file";
        problems.report(
            path,
            Fault::TooMuch {
                what: "arguments",
                found: items.len(),
                limit: ARGUMENTS_MAX,
                fix,
            },
        );
        return Vec::new();
    }
    let mut command = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let at = path.index(index);
        match item {
            Value::String(text) => match fault(index, text, source) {
                None => command.push(text.clone()),
                Some(fault) => problems.report(at, fault),
            },
            other => problems.report(at, wrong_kind(other, "a text; put it in quotes")),
        }
    }
    if command.len() == items.len() {
        command
    } else {
        Vec::new()
    }
}

fn fault(index: usize, text: &str, source: Source) -> Option<Fault> {
    if text.contains('\0') {
        return Some(Fault::Refused(
            "an argument can't contain NUL; remove it".to_owned(),
        ));
    }
    if text.len() > ARGUMENT_BYTES_MAX {
        let fix = "hand it over in a file";
        return Some(Fault::TooMuch {
            what: "bytes of one argument",
            found: text.len(),
            limit: ARGUMENT_BYTES_MAX,
            fix,
        });
    }
    if index > 0 {
        return None;
    }
    if text.is_empty() {
        return Some(Fault::Refused(
            "the program is an empty text; name a program".to_owned(),
        ));
    }
    if text.len() > PROGRAM_BYTES_MAX {
        return Some(Fault::Refused(format!(
            "{} is longer than a path can be; name a shorter one",
            Shown(text)
        )));
    }
    if source == Source::Api && text.contains('/') && !text.starts_with('/') {
        return Some(Fault::Refused(format!(
            "{} is a relative path, and a request has no folder it could be relative to; write an absolute one",
            Shown(text)
        )));
    }
    None
}

/// Reports more than [`EXEC_BYTES_MAX`]. Values that come from files count when they are read, at the launch.
pub(super) fn check_sum(
    path: &KeyPath,
    command: &[String],
    env: &BTreeMap<String, EnvValue>,
    problems: &mut Problems,
) {
    let arguments = command
        .iter()
        .map(|argument| argument.len().saturating_add(1));
    let variables = env.iter().map(|(name, value)| {
        let value = match value {
            EnvValue::Literal(text) => text.len(),
            EnvValue::File(_) => 0,
        };
        name.len().saturating_add(value).saturating_add(2)
    });
    let found = arguments
        .chain(variables)
        .fold(0usize, usize::saturating_add);
    if found > EXEC_BYTES_MAX {
        let fix = "hand the larger ones over in files or in config";
        problems.report(
            path.clone(),
            Fault::TooMuch {
                what: "bytes of command and env together",
                found,
                limit: EXEC_BYTES_MAX,
                fix,
            },
        );
    }
}
