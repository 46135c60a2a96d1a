//! What a changed set of declarations does to what runs (SUP-01, SUP-39).

use std::collections::{BTreeMap, BTreeSet};

use crate::declaration::Declaration;
use crate::name::{EntryName, ServiceName};

/// What becomes of each entry. Every name of the old and the new set is in exactly one of the first five lists; all are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// New entries.
    pub started: Vec<EntryName>,
    /// Removed entries: they stop.
    pub stopped: Vec<EntryName>,
    /// Entries whose process no longer fits their declaration: they stop, and start with the new one.
    pub replaced: Vec<EntryName>,
    /// Entries that stay what they are, but use, directly or through others, a service of one that is replaced or removed.
    /// They take over their new declaration, which differs in `retry` at most.
    pub restarted: Vec<EntryName>,
    /// Entries whose process is left alone.
    pub unchanged: Vec<EntryName>,
    /// Those of `unchanged` whose `retry` differs: it takes effect at once, without a restart.
    pub retry_changed: Vec<EntryName>,
}

impl Plan {
    /// Whether nothing at all is to be done.
    pub fn is_empty(&self) -> bool {
        self.started.is_empty()
            && self.stopped.is_empty()
            && self.replaced.is_empty()
            && self.restarted.is_empty()
            && self.retry_changed.is_empty()
    }
}

/// Compares two sets of declarations of one source; both are expected to make a valid graph, and nothing breaks if one does not.
///
/// An entry counts as a consumer if it is one before or after the change: what it used is gone even when something else
/// provides the service from now on.
pub fn plan(
    old: &BTreeMap<EntryName, Declaration>,
    new: &BTreeMap<EntryName, Declaration>,
) -> Plan {
    let mut plan = Plan::default();
    let mut kept = Vec::new();
    for (name, before) in old {
        match new.get(name) {
            None => plan.stopped.push(name.clone()),
            Some(after) if !before.runs_the_same(after) => plan.replaced.push(name.clone()),
            Some(after) => kept.push((name, before.retry != after.retry)),
        }
    }
    plan.started = new
        .keys()
        .filter(|name| !old.contains_key(*name))
        .cloned()
        .collect();
    let gone: Vec<&EntryName> = plan.replaced.iter().chain(&plan.stopped).collect();
    let affected = consumers(old, new, gone);
    for (name, retry_changed) in kept {
        if affected.contains(name) {
            plan.restarted.push(name.clone());
            continue;
        }
        plan.unchanged.push(name.clone());
        if retry_changed {
            plan.retry_changed.push(name.clone());
        }
    }
    plan
}

/// Everything that uses, directly or through others, what `seeds` provide.
fn consumers<'a>(
    old: &'a BTreeMap<EntryName, Declaration>,
    new: &'a BTreeMap<EntryName, Declaration>,
    seeds: Vec<&EntryName>,
) -> BTreeSet<&'a EntryName> {
    let users = [old, new].map(|set| {
        let mut users: BTreeMap<&ServiceName, Vec<&EntryName>> = BTreeMap::new();
        for declaration in set.values() {
            for service in &declaration.uses {
                users.entry(service).or_default().push(&declaration.name);
            }
        }
        (set, users)
    });
    let mut reached = BTreeSet::new();
    let mut open: Vec<&EntryName> = seeds;
    while let Some(name) = open.pop() {
        for (set, users) in &users {
            let provided = set
                .get(name)
                .into_iter()
                .flat_map(|declaration| &declaration.provides);
            for consumer in provided
                .filter_map(|service| users.get(service))
                .flatten()
                .copied()
            {
                if reached.insert(consumer) {
                    open.push(consumer);
                }
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
