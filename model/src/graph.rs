//! Which entry needs which: services make a dependency graph (SUP-03).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;

use crate::declaration::Declaration;
use crate::name::{EntryName, ServiceName};

mod cycle;

/// One of an entry's two lists of services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServiceList {
    /// `provides`
    Provides,
    /// `uses`
    Uses,
}

impl fmt::Display for ServiceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Provides => "provides",
            Self::Uses => "uses",
        })
    }
}

/// Why a set of entries makes no graph. Each sentence names the fix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum GraphError {
    /// Each entry uses a service of the next one, the last of the first. Begins with the smallest name.
    #[error("{}; remove one of these uses", cycle::sentence(entries))]
    Cycle {
        /// The entries on the cycle, in order, each once. One alone uses its own service.
        entries: Vec<EntryName>,
    },
    /// Nobody provides what an entry uses.
    #[error(
        "entry {entry} uses service {service}, which no entry provides; add {service} to the provides of an entry, or remove it from the uses of {entry}"
    )]
    UnknownService {
        /// Who uses it.
        entry: EntryName,
        /// What is missing.
        service: ServiceName,
    },
    /// More than one entry provides a service.
    #[error(
        "service {service} is provided by {}; let only one of them provide it",
        join(entries)
    )]
    Conflict {
        /// The service.
        service: ServiceName,
        /// All its providers, by name: two at least.
        entries: Vec<EntryName>,
    },
    /// A list names a service more than once.
    #[error("entry {entry} names service {service} more than once in its {list}; name it once")]
    Duplicate {
        /// Whose list.
        entry: EntryName,
        /// What is named again.
        service: ServiceName,
        /// In which list.
        list: ServiceList,
    },
}

fn join(entries: &[EntryName]) -> String {
    let names: Vec<&str> = entries.iter().map(EntryName::as_str).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// What the graph needs to know of one entry (or host plugin).
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// Its name, unique in the graph.
    pub name: &'a EntryName,
    /// Services it provides.
    pub provides: &'a [ServiceName],
    /// Services it uses.
    pub uses: &'a [ServiceName],
}

impl<'a> From<&'a Declaration> for Node<'a> {
    fn from(declaration: &'a Declaration) -> Self {
        Self {
            name: &declaration.name,
            provides: &declaration.provides,
            uses: &declaration.uses,
        }
    }
}

/// A valid dependency graph: every used service has exactly one provider, and nothing depends on itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    providers: BTreeMap<ServiceName, EntryName>,
    edges: BTreeMap<EntryName, Edges>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Edges {
    dependencies: BTreeSet<EntryName>,
    consumers: BTreeSet<EntryName>,
}

impl Graph {
    /// Makes the graph of all entries, those of the file and those of the API together.
    ///
    /// # Errors
    /// Everything that is wrong, sorted (SUP-03). A service with several providers takes no part in the search for
    /// cycles, since which entry would be meant is not known.
    pub fn new(declarations: &BTreeMap<EntryName, Declaration>) -> Result<Self, Vec<GraphError>> {
        Self::of(declarations.values().map(Node::from))
    }

    /// As [`Graph::new`], of anything that provides and uses services.
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn of<'a>(nodes: impl IntoIterator<Item = Node<'a>>) -> Result<Self, Vec<GraphError>> {
        let nodes: BTreeMap<&EntryName, Node<'a>> =
            nodes.into_iter().map(|node| (node.name, node)).collect();
        let mut errors = duplicates(&nodes);
        let mut candidates: BTreeMap<&ServiceName, BTreeSet<&EntryName>> = BTreeMap::new();
        for node in nodes.values() {
            for service in node.provides {
                candidates.entry(service).or_default().insert(node.name);
            }
        }
        let mut graph = Self {
            edges: nodes
                .keys()
                .map(|name| ((*name).clone(), Edges::default()))
                .collect(),
            ..Self::default()
        };
        for (service, entries) in &candidates {
            let entries: Vec<EntryName> = entries.iter().map(|entry| (*entry).clone()).collect();
            match entries.as_slice() {
                [only] => {
                    graph.providers.insert((*service).clone(), only.clone());
                }
                _ => errors.push(GraphError::Conflict {
                    service: (*service).clone(),
                    entries,
                }),
            }
        }
        for node in nodes.values() {
            for service in node.uses {
                if let Some(provider) = graph.providers.get(service).cloned() {
                    graph
                        .edges
                        .entry(provider.clone())
                        .or_default()
                        .consumers
                        .insert(node.name.clone());
                    graph
                        .edges
                        .entry(node.name.clone())
                        .or_default()
                        .dependencies
                        .insert(provider);
                } else if !candidates.contains_key(service) {
                    errors.push(GraphError::UnknownService {
                        entry: node.name.clone(),
                        service: service.clone(),
                    });
                }
            }
        }
        errors.extend(
            cycle::find(&graph)
                .into_iter()
                .map(|entries| GraphError::Cycle { entries }),
        );
        if errors.is_empty() {
            return Ok(graph);
        }
        errors.sort();
        errors.dedup();
        Err(errors)
    }

    /// Who provides a service; `None` when nobody does.
    pub fn provider(&self, service: &ServiceName) -> Option<&EntryName> {
        self.providers.get(service)
    }

    /// The entries that use a service of `entry`, by name; none for an entry that is not in the graph.
    pub fn direct_consumers(&self, entry: &EntryName) -> Vec<EntryName> {
        self.edges
            .get(entry)
            .map(|edges| edges.consumers.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// The entries whose services `entry` uses, by name; none for an entry that is not in the graph.
    pub fn dependencies(&self, entry: &EntryName) -> Vec<EntryName> {
        self.edges
            .get(entry)
            .map(|edges| edges.dependencies.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// All that stops before `entry` does: its consumers, transitively, each before what it uses (SUP-04).
    /// Ties by name; `entry` itself is not among them.
    pub fn consumers_in_stop_order(&self, entry: &EntryName) -> Vec<EntryName> {
        let mut reached = BTreeSet::new();
        let mut open = vec![entry];
        while let Some(name) = open.pop() {
            for consumer in self
                .edges
                .get(name)
                .into_iter()
                .flat_map(|edges| &edges.consumers)
            {
                if reached.insert(consumer) {
                    open.push(consumer);
                }
            }
        }
        order(
            &reached,
            |name| self.edges.get(name).map(|edges| &edges.consumers),
            |name| self.edges.get(name).map(|edges| &edges.dependencies),
        )
    }

    /// All entries, each after everything it depends on; ties by name.
    pub fn start_order(&self) -> Vec<EntryName> {
        order(
            &self.edges.keys().collect(),
            |name| self.edges.get(name).map(|edges| &edges.dependencies),
            |name| self.edges.get(name).map(|edges| &edges.consumers),
        )
    }
}

/// Kahn's algorithm over `members`: each after all of `before` it that are members; the smallest name first.
/// What lies on a cycle, or behind one, is left out; a [`Graph`] has none.
fn order<'a>(
    members: &BTreeSet<&'a EntryName>,
    before: impl Fn(&EntryName) -> Option<&'a BTreeSet<EntryName>>,
    after: impl Fn(&EntryName) -> Option<&'a BTreeSet<EntryName>>,
) -> Vec<EntryName> {
    let mut waits: BTreeMap<&EntryName, usize> = BTreeMap::new();
    let mut ready = BinaryHeap::new();
    for name in members {
        let count = before(name).map_or(0, |all| {
            all.iter().filter(|other| members.contains(other)).count()
        });
        waits.insert(name, count);
        if count == 0 {
            ready.push(Reverse(*name));
        }
    }
    let mut ordered = Vec::with_capacity(members.len());
    while let Some(Reverse(name)) = ready.pop() {
        ordered.push(name.clone());
        for next in after(name).into_iter().flatten() {
            if let Some(count) = waits.get_mut(next) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
    }
    ordered
}

fn duplicates(nodes: &BTreeMap<&EntryName, Node<'_>>) -> Vec<GraphError> {
    let mut errors = Vec::new();
    for node in nodes.values() {
        for (list, services) in [
            (ServiceList::Provides, node.provides),
            (ServiceList::Uses, node.uses),
        ] {
            let mut seen = BTreeSet::new();
            for service in services {
                if !seen.insert(service) {
                    errors.push(GraphError::Duplicate {
                        entry: node.name.clone(),
                        service: service.clone(),
                        list,
                    });
                }
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests;
