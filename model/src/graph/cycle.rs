//! Finding cycles, without recursion: a chain of entries may be longer than a stack is deep.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Graph;
use crate::name::EntryName;

/// The part of the sentence that says what the cycle is.
pub(super) fn sentence(entries: &[EntryName]) -> String {
    match entries {
        [only] => format!("entry {only} uses a service that it provides itself"),
        [first, rest @ ..] => {
            let mut text = format!("entries depend on each other in a cycle: {first}");
            for next in rest {
                text.push_str(&format!(" uses {next}"));
            }
            text.push_str(&format!(" uses {first}"));
            text
        }
        [] => "a cycle".to_owned(),
    }
}

/// Every entry that depends on itself alone, and for each group of entries that all depend on each other one shortest
/// cycle through the smallest name of the group.
pub(super) fn find(graph: &Graph) -> Vec<Vec<EntryName>> {
    let mut cycles = Vec::new();
    for (name, edges) in &graph.edges {
        if edges.dependencies.contains(name) {
            cycles.push(vec![name.clone()]);
        }
    }
    for group in groups(graph) {
        if let Some(cycle) = shortest(graph, &group) {
            cycles.push(cycle);
        }
    }
    cycles
}

fn dependencies<'a>(
    graph: &'a Graph,
    name: &EntryName,
) -> impl Iterator<Item = &'a EntryName> + use<'a> {
    graph
        .edges
        .get(name)
        .into_iter()
        .flat_map(|edges| &edges.dependencies)
}

/// The strongly connected components of two entries or more (Kosaraju, with stacks of our own).
fn groups(graph: &Graph) -> Vec<BTreeSet<&EntryName>> {
    let mut seen: BTreeSet<&EntryName> = BTreeSet::new();
    let mut finished: Vec<&EntryName> = Vec::with_capacity(graph.edges.len());
    for root in graph.edges.keys() {
        if !seen.insert(root) {
            continue;
        }
        let mut path = vec![(root, dependencies(graph, root))];
        while let Some((name, rest)) = path.last_mut() {
            match rest.find(|next| seen.insert(next)) {
                Some(next) => path.push((next, dependencies(graph, next))),
                None => {
                    finished.push(name);
                    path.pop();
                }
            }
        }
    }
    let mut assigned: BTreeSet<&EntryName> = BTreeSet::new();
    let mut groups = Vec::new();
    for root in finished.into_iter().rev() {
        if !assigned.insert(root) {
            continue;
        }
        let mut group = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(name) = open.pop() {
            for consumer in graph
                .edges
                .get(name)
                .into_iter()
                .flat_map(|edges| &edges.consumers)
            {
                if assigned.insert(consumer) {
                    group.insert(consumer);
                    open.push(consumer);
                }
            }
        }
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

/// Breadth first along the dependencies, from the smallest name of the group until it is met again.
fn shortest(graph: &Graph, group: &BTreeSet<&EntryName>) -> Option<Vec<EntryName>> {
    let start = *group.first()?;
    let mut came_from: BTreeMap<&EntryName, &EntryName> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(name) = open.pop_front() {
        for next in dependencies(graph, name).filter(|next| *next != name && group.contains(next)) {
            if next == start {
                let mut cycle = vec![name.clone()];
                let mut at = name;
                while let Some(previous) = came_from.get(at) {
                    cycle.push((*previous).clone());
                    at = previous;
                }
                cycle.reverse();
                return Some(cycle);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, name);
                open.push_back(next);
            }
        }
    }
    None
}
