//! The section `entries`: each by the rules of the model, then all together as a graph.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use treewarden_model::declaration::Declaration;
use treewarden_model::declaration::document::{ENTRIES_MAX, EntryDocument, Reading};
use treewarden_model::declaration::problem::{Fault, KeyPath, Problems};
use treewarden_model::graph::{Graph, GraphError, ServiceList};
use treewarden_model::name::{EntryName, ServiceName};

use super::files::{self, Folder};

pub(super) fn read(
    entries: Option<&Map<String, Value>>,
    folder: &Folder,
    problems: &mut Problems,
) -> BTreeMap<EntryName, Declaration> {
    let section = KeyPath::root().key("entries");
    let count = entries.map_or(0, Map::len);
    if count > ENTRIES_MAX {
        let fix = "spread them over several nodes";
        problems.report(
            section,
            Fault::TooMuch {
                what: "entries",
                found: count,
                limit: ENTRIES_MAX,
                fix,
            },
        );
        return BTreeMap::new();
    }
    let mut readings = Vec::with_capacity(count);
    for (name, body) in entries.into_iter().flatten() {
        let mut reading = EntryDocument::of_file(name, body).read();
        let here = reading.runs_here();
        if let (Some(draft), found) = reading.draft_mut()
            && here
        {
            files::check(draft, folder, &section.key(name), found);
        }
        readings.push(reading);
    }
    check_graph(&readings, &section, problems);
    let mut declarations = BTreeMap::new();
    for reading in readings {
        match reading.into_result() {
            Ok(declaration) => {
                declarations.insert(declaration.name.clone(), declaration);
            }
            Err(found) => found
                .into_iter()
                .for_each(|problem| problems.report(problem.path, problem.fault)),
        }
    }
    declarations
}

/// An entry whose services are not known makes others' look missing: then nothing is said of the graph until it is read.
fn check_graph(readings: &[Reading], section: &KeyPath, problems: &mut Problems) {
    let Some(nodes) = readings
        .iter()
        .map(Reading::node)
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let Err(errors) = Graph::of(nodes.iter().copied()) else {
        return;
    };
    let lists: BTreeMap<&EntryName, (&[ServiceName], &[ServiceName])> = nodes
        .iter()
        .map(|node| (node.name, (node.provides, node.uses)))
        .collect();
    let at = |entry: &EntryName,
              list: ServiceList,
              service: &dyn Fn(&ServiceName) -> bool,
              last: bool| {
        let (provides, uses) = lists.get(entry).copied().unwrap_or_default();
        let services = match list {
            ServiceList::Provides => provides,
            ServiceList::Uses => uses,
        };
        let path = section.key(entry.as_str()).key(&list.to_string());
        let index = if last {
            services.iter().rposition(service)
        } else {
            services.iter().position(service)
        };
        index.map_or_else(|| path.clone(), |index| path.index(index))
    };
    for error in errors {
        let path = match &error {
            GraphError::UnknownService { entry, service } => {
                at(entry, ServiceList::Uses, &|other| other == service, false)
            }
            GraphError::Duplicate {
                entry,
                service,
                list,
            } => at(entry, *list, &|other| other == service, true),
            GraphError::Conflict { service, entries } => match entries.last() {
                Some(entry) => at(
                    entry,
                    ServiceList::Provides,
                    &|other| other == service,
                    false,
                ),
                None => section.clone(),
            },
            GraphError::Cycle { entries } => match entries.first() {
                Some(entry) => {
                    let next = entries.get(1).unwrap_or(entry);
                    let offered: BTreeSet<&ServiceName> = lists
                        .get(next)
                        .into_iter()
                        .flat_map(|(provides, _)| *provides)
                        .collect();
                    at(
                        entry,
                        ServiceList::Uses,
                        &|other| offered.contains(other),
                        false,
                    )
                }
                None => section.clone(),
            },
        };
        problems.report(path, error);
    }
}
