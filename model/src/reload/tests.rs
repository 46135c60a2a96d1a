use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::declaration::{Limits, Placement, SHUTDOWN_TIMEOUT, Source};
use crate::retry::RetryPolicy;

type Set = BTreeMap<EntryName, Declaration>;
type Change = fn(&mut Declaration);

fn entry(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

fn declaration(name: &str, provides: &[&str], uses: &[&str]) -> Declaration {
    let services = |names: &[&str]| {
        names
            .iter()
            .map(|name| ServiceName::parse(name).expect("a name"))
            .collect()
    };
    Declaration {
        name: entry(name),
        source: Source::File,
        placement: Placement::Local,
        command: vec!["/bin/true".to_owned()],
        env: BTreeMap::new(),
        config: json!({}),
        provides: services(provides),
        uses: services(uses),
        limits: Limits::default(),
        retry: RetryPolicy::default(),
        shutdown_timeout: SHUTDOWN_TIMEOUT,
    }
}

fn set(all: &[Declaration]) -> Set {
    all.iter()
        .map(|declaration| (declaration.name.clone(), declaration.clone()))
        .collect()
}

fn names(names: &[&str]) -> Vec<EntryName> {
    names.iter().map(|name| entry(name)).collect()
}

fn ledger_writer_web() -> Set {
    set(&[
        declaration("ledger", &["ledger"], &[]),
        declaration("writer", &["writer"], &["ledger"]),
        declaration("web", &[], &["writer"]),
        declaration("other", &[], &[]),
    ])
}

fn change(set: &mut Set, name: &str, how: impl FnOnce(&mut Declaration)) {
    how(set.get_mut(&entry(name)).expect("declared"));
}

/// SUP-01
#[test]
fn changed_entry_is_replaced_and_its_consumers_restart() {
    let old = ledger_writer_web();
    let mut new = old.clone();
    change(&mut new, "ledger", |ledger| {
        ledger.config = json!({ "size": 1 })
    });
    assert_eq!(
        plan(&old, &new),
        Plan {
            replaced: names(&["ledger"]),
            restarted: names(&["web", "writer"]),
            unchanged: names(&["other"]),
            ..Plan::default()
        }
    );
}

/// SUP-01
#[test]
fn change_of_retry_alone_replaces_nothing() {
    let old = ledger_writer_web();
    let mut new = old.clone();
    change(&mut new, "ledger", |ledger| {
        ledger.retry = RetryPolicy::None
    });
    assert_eq!(
        plan(&old, &new),
        Plan {
            unchanged: names(&["ledger", "other", "web", "writer"]),
            retry_changed: names(&["ledger"]),
            ..Plan::default()
        }
    );
}

/// SUP-01
#[test]
fn service_that_moves_to_another_entry_restarts_its_consumers() {
    let old = ledger_writer_web();
    let mut new = old.clone();
    new.remove(&entry("ledger"));
    new.insert(entry("books"), declaration("books", &["ledger"], &[]));
    assert_eq!(
        plan(&old, &new),
        Plan {
            started: names(&["books"]),
            stopped: names(&["ledger"]),
            restarted: names(&["web", "writer"]),
            unchanged: names(&["other"]),
            ..Plan::default()
        }
    );
}

/// SUP-01
#[test]
fn everything_a_process_can_notice_replaces_it() {
    let changes: [(&str, Change); 8] = [
        ("command", |d| d.command.push("-v".to_owned())),
        ("env", |d| {
            d.env.insert(
                "A".to_owned(),
                crate::declaration::EnvValue::Literal("1".to_owned()),
            );
        }),
        ("config", |d| d.config = json!(null)),
        ("provides", |d| {
            d.provides.push(ServiceName::parse("more").expect("a name"))
        }),
        ("uses", |d| {
            d.uses.push(ServiceName::parse("ledger").expect("a name"))
        }),
        ("limits", |d| d.limits.open_files = Some(64)),
        ("shutdown_timeout", |d| {
            d.shutdown_timeout = Duration::from_secs(6)
        }),
        ("source", |d| d.source = Source::Api),
    ];
    let old = ledger_writer_web();
    for (what, how) in changes {
        let mut new = old.clone();
        change(&mut new, "other", how);
        assert_eq!(plan(&old, &new).replaced, names(&["other"]), "{what}");
    }
}

/// Six entries; what each provides, uses and is configured with comes from small ranges, so that most sets share most of it.
fn any_set() -> impl Strategy<Value = Set> {
    prop::collection::vec(
        (
            0usize..6,
            0u8..3,
            prop::collection::vec(0usize..6, 0..3),
            any::<bool>(),
        ),
        0..6,
    )
    .prop_map(|written| {
        let all: Vec<Declaration> = written
            .into_iter()
            .map(|(at, size, uses, retries)| {
                let uses: Vec<String> = uses.into_iter().map(|used| format!("s{used}")).collect();
                let mut one = declaration(
                    &format!("e{at}"),
                    &[&format!("s{at}")],
                    &uses.iter().map(String::as_str).collect::<Vec<_>>(),
                );
                one.config = json!(size);
                if !retries {
                    one.retry = RetryPolicy::None;
                }
                one
            })
            .collect();
        set(&all)
    })
}

proptest! {
    /// SUP-01
    #[test]
    fn every_entry_is_in_exactly_one_list(old in any_set(), new in any_set()) {
        let plan = plan(&old, &new);
        let lists = [&plan.started, &plan.stopped, &plan.replaced, &plan.restarted, &plan.unchanged];
        for list in lists {
            prop_assert!(list.is_sorted_by(|a, b| a < b));
        }
        let mut listed: Vec<&EntryName> = lists.into_iter().flatten().collect();
        listed.sort();
        let mut all: Vec<&EntryName> = old.keys().chain(new.keys()).collect();
        all.sort();
        all.dedup();
        prop_assert_eq!(listed, all);
        prop_assert!(plan.retry_changed.iter().all(|name| plan.unchanged.contains(name)));
        for name in &plan.unchanged {
            prop_assert_eq!(old[name].retry != new[name].retry, plan.retry_changed.contains(name));
        }
    }

    /// SUP-01
    #[test]
    fn nothing_happens_when_nothing_changed(set in any_set()) {
        let plan = plan(&set, &set);
        prop_assert!(plan.is_empty());
        prop_assert_eq!(plan.unchanged.len(), set.len());
    }

    /// SUP-01: closed under "uses", and nothing is in it without a reason.
    #[test]
    fn entry_restarts_exactly_when_something_it_uses_does(old in any_set(), new in any_set()) {
        let plan = plan(&old, &new);
        let moves = |name: &EntryName| [&plan.stopped, &plan.replaced, &plan.restarted].iter().any(|list| list.contains(name));
        let providers = |set: &Set, service: &ServiceName| -> Vec<EntryName> {
            set.values().filter(|other| other.provides.contains(service)).map(|other| other.name.clone()).collect()
        };
        for name in plan.unchanged.iter().chain(&plan.restarted) {
            let mut used: Vec<EntryName> = Vec::new();
            for set in [&old, &new] {
                used.extend(set[name].uses.iter().flat_map(|service| providers(set, service)));
            }
            let reason = used.iter().any(|provider| provider != name && moves(provider));
            if plan.unchanged.contains(name) {
                prop_assert!(!reason, "{} is left alone", name);
            } else {
                prop_assert!(reason, "{} restarts for nothing", name);
            }
        }
    }

    /// SUP-01, SUP-39
    #[test]
    fn fingerprints_differ_exactly_when_a_process_would_notice(old in any_set(), new in any_set()) {
        for (name, before) in &old {
            if let Some(after) = new.get(name) {
                prop_assert_eq!(before.fingerprint() == after.fingerprint(), before.runs_the_same(after));
            }
        }
    }
}
