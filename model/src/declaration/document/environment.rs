//! `env`: variables, literal or from files. No message repeats a value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::declaration::problem::{Fault, KeyPath, Problems, Shown};
use crate::declaration::section::{Section, kind};
use crate::declaration::{EnvValue, Source};

/// `PATH` of a plugin unless its entry sets one (SUP-30).
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables that the node sets itself begin with this.
pub const RESERVED_VARIABLES: &str = "TREEWARDEN_";

/// Most variables of an entry.
const VARIABLES_MAX: usize = 256;

const EXPECTED: &str = "a text, a number, true, false, or { file: PATH }";

pub(super) fn read(
    section: &mut Section<'_>,
    source: Source,
    problems: &mut Problems,
) -> BTreeMap<String, EnvValue> {
    let mut env = BTreeMap::new();
    let path = section.at("env");
    let map = match section.take("env") {
        None | Some(Value::Null) => return env,
        Some(Value::Object(map)) => map,
        Some(other) => {
            problems.report(
                path,
                Fault::WrongKind {
                    found: kind(other).to_owned(),
                    expected: "a map such as { COLOR: blue }",
                },
            );
            return env;
        }
    };
    if map.len() > VARIABLES_MAX {
        let fix = "hand them over in config";
        problems.report(
            path,
            Fault::TooMuch {
                what: "variables",
                found: map.len(),
                limit: VARIABLES_MAX,
                fix,
            },
        );
        return env;
    }
    for (name, value) in map {
        let at = path.key(name);
        if let Some(fault) = name_fault(name) {
            problems.report(at.clone(), fault);
        }
        if let Some(value) = read_value(at, value, source, problems) {
            env.insert(name.clone(), value);
        }
    }
    env
}

fn name_fault(name: &str) -> Option<Fault> {
    if name.starts_with(RESERVED_VARIABLES) {
        return Some(Fault::Refused(format!(
            "variables beginning with {RESERVED_VARIABLES} are the node's own; choose another name"
        )));
    }
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic() && b != b'=') {
        return Some(Fault::Refused(format!(
            "{} is no name of a variable; use printable ASCII without spaces and '='",
            Shown(name)
        )));
    }
    None
}

fn read_value(
    at: KeyPath,
    value: &Value,
    source: Source,
    problems: &mut Problems,
) -> Option<EnvValue> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Object(_) => return read_file(at, value, source, problems),
        Value::Null | Value::Array(_) => {
            problems.report(
                at,
                Fault::WrongKind {
                    found: kind(value).to_owned(),
                    expected: EXPECTED,
                },
            );
            return None;
        }
    };
    if text.contains('\0') {
        problems.report(
            at,
            Fault::Refused("a variable can't contain NUL; remove it".to_owned()),
        );
        return None;
    }
    Some(EnvValue::Literal(text))
}

fn read_file(
    at: KeyPath,
    value: &Value,
    source: Source,
    problems: &mut Problems,
) -> Option<EnvValue> {
    let mut section = Section::open(at, Some(value), problems);
    let named = section.take("file").is_some();
    let file = section.file("file", problems);
    if !named {
        problems.report(
            section.at("file"),
            Fault::Missing {
                fix: "name the file that holds the value, or write the value itself",
            },
        );
    }
    let path = section.at("file");
    section.finish(problems);
    let file = file?;
    if source == Source::Api && !file.starts_with('/') {
        problems.report(path, Fault::Refused(format!(
            "{} is a relative path, and a request has no folder it could be relative to; write an absolute one", Shown(file)
        )));
        return None;
    }
    Some(EnvValue::File(PathBuf::from(file)))
}
