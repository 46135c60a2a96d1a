//! `treewarden.yaml`: what an operator declares.
//!
//! Bytes → a tree of values with positions (`tree`) → the sections (`node`, `runners`, and entries by the rules in the model) →
//! the file system (`files`) → the dependency graph. Every step reports all it finds, and what can be
//! judged without another step's result is judged whatever that step said.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use treewarden_model::declaration::Declaration;
use treewarden_model::declaration::problem::{Fault, KeyPath, Problem, Problems};
use treewarden_model::declaration::section::{Section, wrong_kind};
use treewarden_model::name::EntryName;

use self::files::Folder;
use self::value::Converted;

mod entries;
mod error;
mod files;
mod node;
mod runners;
mod tree;
mod value;

pub(crate) use error::{ConfigError, FileFault, Finding};

/// Free space below which the node starts nothing new (SUP-38), unless the file says otherwise: 64 MiB.
pub(crate) const STORAGE_FLOOR: u64 = 64 << 20;

/// A valid configuration file. The default is what holds without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The section `node`.
    pub(crate) node: NodeConfig,
    /// The section `entries`: a valid dependency graph, all of it from the file.
    pub(crate) entries: BTreeMap<EntryName, Declaration>,
    /// Sentences about what is accepted but has no effect in this version.
    pub(crate) warnings: Vec<String>,
}

/// The section `node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeConfig {
    /// Where to serve HTTP; `None`: the default.
    pub(crate) listen: Option<SocketAddr>,
    /// The data directory, absolute; `None`: the default.
    pub(crate) data_dir: Option<PathBuf>,
    /// Host names served besides loopback ones and the listen address; lower case.
    pub(crate) hosts: Vec<String>,
    /// Whether something before the node ends TLS: only then may it listen beyond loopback.
    pub(crate) behind_proxy: bool,
    /// Free bytes below which nothing new is started (SUP-38).
    pub(crate) storage_floor: u64,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            listen: None,
            data_dir: None,
            hosts: Vec::new(),
            behind_proxy: false,
            storage_floor: STORAGE_FLOOR,
        }
    }
}

/// Largest file that is read: 8 MiB.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Reads and checks a configuration file. It must be a regular file: it is read again on every reload, and must not block one.
///
/// # Errors
/// The file can't be read, or something in it is wrong; then nothing of it may be applied.
pub(crate) fn load(path: &Path) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )));
    }
    let folder = Folder::of(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One more than is allowed, so that a file that grows meanwhile is not cut in silence.
    let limited = std::fs::File::open(path)
        .map_err(unreadable)?
        .take(FILE_BYTES_MAX + 1);
    let read = io::BufReader::new(limited)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge {
            path: path.to_owned(),
            limit: FILE_BYTES_MAX,
        });
    }
    parse(&bytes, &folder).map_err(|findings| ConfigError::Invalid {
        path: path.to_owned(),
        findings,
    })
}

/// Checks the bytes of a file in `folder`.
fn parse(bytes: &[u8], folder: &Folder) -> Result<Config, Vec<Finding>> {
    let syntax = |message: String, position| {
        vec![Finding {
            position,
            fault: FileFault::Syntax(message),
        }]
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        syntax(
            format!("line {line} is not UTF-8; save the file as UTF-8"),
            None,
        )
    })?;
    let tree = tree::parse(text)
        .map_err(|error| tree::describe(&error))
        .map_err(|(message, position)| syntax(message, position))?;

    let Converted {
        value,
        lossy,
        repeated,
    } = value::of(&tree, text);
    let lossy = lossy.into_vec();
    let mut problems = Problems::default();
    let config = sections(&value, folder, &mut problems);

    // What JSON could not hold is said once, not again as an empty value.
    let said = |problem: &Problem| lossy.iter().any(|other| other.path == problem.path);
    let problems: Vec<Problem> = problems
        .into_vec()
        .into_iter()
        .filter(|problem| !said(problem))
        .collect();
    let mut findings: Vec<Finding> = lossy
        .iter()
        .cloned()
        .chain(problems)
        .map(|problem| {
            let at_key = matches!(problem.fault, Fault::UnknownKey { .. });
            (tree.position_of(&problem.path, at_key), problem)
        })
        .chain(repeated)
        .map(|(position, problem)| Finding {
            position: Some(position),
            fault: FileFault::Value(problem),
        })
        .collect();
    if findings.is_empty() {
        return Ok(config);
    }
    findings.sort_by_key(|finding| finding.position);
    Err(findings)
}

fn sections(document: &Value, folder: &Folder, problems: &mut Problems) -> Config {
    let mut root = Section::open(KeyPath::root(), Some(document), problems);
    let node = node::read(root.section("node", problems), folder, problems);
    let runners = runners::check(map(&mut root, "runners", problems), &root, problems);
    let entries = entries::read(map(&mut root, "entries", problems), folder, problems);
    root.finish(problems);
    let warnings = warnings(&runners);
    Config {
        node,
        entries,
        warnings,
    }
}

/// A map whose keys are names, not keywords.
fn map<'a>(
    root: &mut Section<'a>,
    key: &'static str,
    problems: &mut Problems,
) -> Option<&'a Map<String, Value>> {
    match root.take(key)? {
        Value::Object(map) => Some(map),
        Value::Null => None,
        other => {
            problems.report(root.at(key), wrong_kind(other, "a map of names"));
            None
        }
    }
}

fn warnings(runners: &[&str]) -> Vec<String> {
    let mut warnings = Vec::new();
    if !runners.is_empty() {
        warnings.push(format!(
            "runners are not available in this version yet; nothing connects to {}",
            runners.join(", ")
        ));
    }
    warnings
}

#[cfg(test)]
mod tests;
