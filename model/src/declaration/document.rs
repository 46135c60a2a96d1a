//! An entry as written, in the file or in a request, made a [`Declaration`].
//!
//! Here is all that can be judged without a file system: the shell resolves relative paths afterwards and looks whether programs and files exist.

use serde_json::Value;

use super::problem::{Fault, KeyPath, Problem, Problems, Shown};
use super::section::{Section, wrong_kind};
use super::{Declaration, Placement, SHUTDOWN_TIMEOUT, Source};
use crate::graph::Node;
use crate::name::{EntryName, ServiceName};

mod command;
mod config;
mod environment;
mod limits;
mod retry;

pub use command::{ARGUMENT_BYTES_MAX, ARGUMENTS_MAX, EXEC_BYTES_MAX};
pub use config::{CONFIG_BYTES_MAX, CONFIG_DEPTH_MAX};
pub use environment::{DEFAULT_PATH, RESERVED_VARIABLES};

/// Most services that one entry may provide, and most that it may use.
pub const SERVICES_MAX: usize = 64;

/// Most entries of one node: more processes than this no machine here is meant for, and every list of entries is bounded by it.
pub const ENTRIES_MAX: usize = 4096;

/// An entry as written (interfaces.md §2).
#[derive(Debug, Clone)]
pub struct EntryDocument<'a> {
    name: &'a str,
    name_path: KeyPath,
    body: &'a Value,
    path: KeyPath,
    source: Source,
}

impl<'a> EntryDocument<'a> {
    /// An entry of the configuration file: `entries.NAME: BODY`.
    pub fn of_file(name: &'a str, body: &'a Value) -> Self {
        let path = KeyPath::root().key("entries").key(name);
        Self {
            name,
            name_path: path.clone(),
            body,
            path,
            source: Source::File,
        }
    }

    /// An entry of a request: its body has a `name`, and may set `shutdown_timeout`.
    pub fn of_api(body: &'a Value) -> Self {
        let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
        Self {
            name,
            name_path: KeyPath::root().key("name"),
            body,
            path: KeyPath::root(),
            source: Source::Api,
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn declaration(self) -> Result<Declaration, Vec<Problem>> {
        self.read().into_result()
    }

    /// Reads it as far as it can be read, for those who have more to check before they judge.
    pub fn read(self) -> Reading {
        let mut problems = Problems::default();
        let name = EntryName::parse(self.name)
            .map_err(|error| problems.report(self.name_path, error))
            .ok();
        let mut section = Section::open(self.path, Some(self.body), &mut problems);
        if self.source == Source::Api {
            section.take("name");
        }
        if !self.body.is_object() && !self.body.is_null() {
            return Reading {
                draft: None,
                services_read: false,
                runs_here: false,
                problems,
            };
        }
        let placement = placement(&mut section, &mut problems);
        let env = environment::read(&mut section, self.source, &mut problems);
        let command = command::read(&mut section, placement, self.source, &mut problems);
        command::check_sum(section.path(), &command, &env, &mut problems);
        let config = config::read(&mut section, &mut problems);
        let (provides, all_provides) = services(&mut section, "provides", &mut problems);
        let (uses, all_uses) = services(&mut section, "uses", &mut problems);
        let limits = limits::read(&mut section, &mut problems);
        let retry = retry::read(&mut section, &mut problems);
        let shutdown_timeout = match self.source {
            Source::Api => section.positive_duration("shutdown_timeout", &mut problems),
            Source::File => {
                if section.take("shutdown_timeout").is_some() {
                    problems.report(section.at("shutdown_timeout"), Fault::Refused(
                        "is fixed at 5 seconds for entries in the file; remove it, or declare the entry through the API, where it can be set".to_owned(),
                    ));
                }
                None
            }
        };
        if section.take("run_as").is_some() {
            problems.report(
                section.at("run_as"),
                not_available("is ", "remove it: plugins run as the node's user"),
            );
        }
        section.finish(&mut problems);
        let draft = name.map(|name| Declaration {
            name,
            source: self.source,
            placement: Placement::Local,
            command,
            env,
            config,
            provides,
            uses,
            limits,
            retry,
            shutdown_timeout: shutdown_timeout.unwrap_or(SHUTDOWN_TIMEOUT),
        });
        Reading {
            draft,
            services_read: all_provides && all_uses,
            runs_here: placement == Written::Local,
            problems,
        }
    }
}

/// What came of reading an entry: what it declares as far as that could be read, and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Reading {
    draft: Option<Declaration>,
    services_read: bool,
    runs_here: bool,
    problems: Problems,
}

impl Reading {
    /// The declaration.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn into_result(self) -> Result<Declaration, Vec<Problem>> {
        match self.draft {
            Some(declaration) if self.problems.is_empty() => Ok(declaration),
            _ => Err(self.problems.into_vec()),
        }
    }

    /// What could be read, to check and complete it, and where to report what is wrong with it.
    pub fn draft_mut(&mut self) -> (Option<&mut Declaration>, &mut Problems) {
        (self.draft.as_mut(), &mut self.problems)
    }

    /// Whether it is written to run on the host's machine, so that its program can be looked for there.
    pub fn runs_here(&self) -> bool {
        self.runs_here
    }

    /// Its place in the graph; `None` when its name or its services could not all be read, so that a graph without it would say things that are not so.
    pub fn node(&self) -> Option<Node<'_>> {
        self.draft
            .as_ref()
            .filter(|_| self.services_read)
            .map(Node::from)
    }
}

fn not_available(what: impl Into<String>, fix: &'static str) -> Fault {
    Fault::NotAvailable {
        what: what.into(),
        fix,
    }
}

/// What an entry is written to be: what this version does not run is refused, but the rest of the entry is still judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Local,
    Elsewhere,
}

fn placement(section: &mut Section<'_>, problems: &mut Problems) -> Written {
    let run = section.take("run");
    let mut written = Written::Local;
    match run.map(|run| (run, run.as_str())) {
        None | Some((_, Some("local"))) => {}
        Some((_, Some(run @ ("worker" | "runner")))) => {
            written = Written::Elsewhere;
            problems.report(
                section.at("run"),
                not_available(format!("\"{run}\" is "), "write run: local"),
            );
        }
        Some((_, Some(other))) if !other.is_empty() => {
            written = Written::Elsewhere;
            problems.report(
                section.at("run"),
                Fault::Refused(format!(
                    "{} is no placement; write run: local",
                    Shown(other)
                )),
            );
        }
        Some((other, _)) => problems.report(section.at("run"), wrong_kind(other, "run: local")),
    }
    for (key, belongs_to) in [
        ("runner", "runner"),
        ("instance", "runner"),
        ("module", "worker"),
    ] {
        if section.take(key).is_some() && written == Written::Local {
            problems.report(
                section.at(key),
                Fault::Refused(format!(
                    "belongs to run: {belongs_to}; remove it from an entry with run: local"
                )),
            );
        }
    }
    if section.take("package").is_some() {
        written = Written::Elsewhere;
        problems.report(
            section.at("package"),
            not_available("is ", "name a command instead"),
        );
    }
    written
}

/// The services of a list, and whether all of them could be read.
fn services(
    section: &mut Section<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> (Vec<ServiceName>, bool) {
    let is_list = section
        .take(key)
        .is_none_or(|value| value.is_array() || value.is_null());
    let items = section.list(key, "a list of service names such as [ledger]", problems);
    if items.len() > SERVICES_MAX {
        let fix = "split the entry, or offer fewer services with more methods";
        problems.report(
            section.at(key),
            Fault::TooMuch {
                what: "services",
                found: items.len(),
                limit: SERVICES_MAX,
                fix,
            },
        );
        return (Vec::new(), false);
    }
    let mut names = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = section.at(key).index(index);
        match item.as_str().map(ServiceName::parse) {
            Some(Ok(name)) => names.push(name),
            Some(Err(error)) => problems.report(path, error),
            None => problems.report(path, wrong_kind(item, "the name of a service")),
        }
    }
    let complete = is_list && names.len() == items.len();
    (names, complete)
}

#[cfg(test)]
mod tests;
