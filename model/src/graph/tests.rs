use proptest::prelude::*;

use super::*;

/// name, provides, uses
type Written = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

struct Owned {
    name: EntryName,
    provides: Vec<ServiceName>,
    uses: Vec<ServiceName>,
}

fn entry(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

fn service(text: &str) -> ServiceName {
    ServiceName::parse(text).expect("a name")
}

fn graph_of(nodes: &[Owned]) -> Result<Graph, Vec<GraphError>> {
    Graph::of(nodes.iter().map(|node| Node {
        name: &node.name,
        provides: &node.provides,
        uses: &node.uses,
    }))
}

fn graph(written: &[Written]) -> Result<Graph, Vec<GraphError>> {
    let services = |names: &[&str]| names.iter().map(|name| service(name)).collect();
    let nodes: Vec<Owned> = written
        .iter()
        .map(|(name, provides, uses)| Owned {
            name: entry(name),
            provides: services(provides),
            uses: services(uses),
        })
        .collect();
    graph_of(&nodes)
}

fn sentences(written: &[Written]) -> Vec<String> {
    graph(written)
        .expect_err("not a graph")
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// SUP-03
#[test]
fn cycle_is_refused_with_its_entries_in_order() {
    assert_eq!(
        sentences(&[
            ("a", &["sa"], &["sb"]),
            ("b", &["sb"], &["sc"]),
            ("c", &["sc"], &["sa"]),
            ("d", &[], &["sa"])
        ]),
        [
            "entries depend on each other in a cycle: a uses b uses c uses a; remove one of these uses"
        ]
    );
}

/// SUP-03
#[test]
fn use_of_the_own_service_is_a_cycle_of_one() {
    assert_eq!(
        graph(&[("a", &["s"], &["s"])]),
        Err(vec![GraphError::Cycle {
            entries: vec![entry("a")]
        }])
    );
    assert_eq!(
        sentences(&[("a", &["s"], &["s"])]),
        ["entry a uses a service that it provides itself; remove one of these uses"]
    );
}

/// SUP-03
#[test]
fn unknown_service_two_providers_and_duplicates_are_refused_together_by_name() {
    assert_eq!(
        sentences(&[
            ("a", &["s"], &["gone", "t", "t"]),
            ("b", &["s"], &[]),
            ("c", &["s", "t"], &[])
        ]),
        [
            "entry a uses service gone, which no entry provides; add gone to the provides of an entry, or remove it from the uses of a",
            "service s is provided by a, b and c; let only one of them provide it",
            "entry a names service t more than once in its uses; name it once",
        ]
    );
}

/// SUP-03
#[test]
fn every_cycle_is_named_at_once() {
    let errors = graph(&[
        ("a", &["sa"], &["sb"]),
        ("b", &["sb"], &["sa"]),
        ("x", &["sx"], &["sy"]),
        ("y", &["sy"], &["sx", "sy"]),
    ])
    .expect_err("cycles");
    let cycle = |names: &[&str]| GraphError::Cycle {
        entries: names.iter().map(|name| entry(name)).collect(),
    };
    assert_eq!(
        errors,
        [cycle(&["a", "b"]), cycle(&["x", "y"]), cycle(&["y"])]
    );
}

/// SUP-03, SUP-04
#[test]
fn orders_follow_the_services_and_then_the_names() {
    let graph = graph(&[
        ("api", &["http"], &["store", "log"]),
        ("store", &["store"], &["log"]),
        ("log", &["log"], &[]),
        ("alone", &[], &[]),
        ("web", &[], &["http"]),
    ])
    .expect("a graph");
    let names = |names: &[&str]| names.iter().map(|name| entry(name)).collect::<Vec<_>>();
    assert_eq!(
        graph.start_order(),
        names(&["alone", "log", "store", "api", "web"])
    );
    assert_eq!(
        graph.consumers_in_stop_order(&entry("log")),
        names(&["web", "api", "store"])
    );
    assert_eq!(
        graph.direct_consumers(&entry("log")),
        names(&["api", "store"])
    );
    assert_eq!(graph.dependencies(&entry("api")), names(&["log", "store"]));
    assert_eq!(graph.provider(&service("http")), Some(&entry("api")));
    assert_eq!(graph.provider(&service("none")), None);
    assert_eq!(graph.direct_consumers(&entry("none")), []);
}

/// SUP-03
#[test]
fn chain_longer_than_a_stack_is_deep_is_no_problem() {
    let count = 10_000usize;
    let build = move |closed: bool| -> Vec<Owned> {
        (0..count)
            .map(|at| Owned {
                name: entry(&format!("e{at:05}")),
                provides: vec![service(&format!("s{at}"))],
                uses: match at {
                    0 if closed => vec![service(&format!("s{}", count - 1))],
                    0 => vec![],
                    _ => vec![service(&format!("s{}", at - 1))],
                },
            })
            .collect()
    };
    // A small stack, so that recursion would be noticed.
    let work = move || {
        let graph = graph_of(&build(false)).expect("a chain");
        assert_eq!(graph.start_order().len(), count);
        assert_eq!(
            graph.consumers_in_stop_order(&entry("e00000")).len(),
            count - 1
        );
        let errors = graph_of(&build(true)).expect_err("a ring");
        assert!(
            matches!(errors.as_slice(), [GraphError::Cycle { entries }] if entries.len() == count)
        );
    };
    std::thread::Builder::new()
        .stack_size(128 << 10)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

/// Up to 12 entries, each with a service of its own name; `edges` say who uses whom.
fn nodes(count: usize, edges: &[(usize, usize)]) -> Vec<Owned> {
    (0..count)
        .map(|at| {
            let mut uses: Vec<usize> = edges
                .iter()
                .filter(|(user, _)| user % count == at)
                .map(|(_, used)| used % count)
                .collect();
            uses.sort_unstable();
            uses.dedup();
            Owned {
                name: entry(&format!("e{at:02}")),
                provides: vec![service(&format!("s{at:02}"))],
                uses: uses
                    .into_iter()
                    .map(|used| service(&format!("s{used:02}")))
                    .collect(),
            }
        })
        .collect()
}

fn uses(nodes: &[Owned], user: &EntryName, used: &EntryName) -> bool {
    let offered = nodes
        .iter()
        .find(|node| node.name == *used)
        .map(|node| &node.provides);
    let wanted = nodes
        .iter()
        .find(|node| node.name == *user)
        .map(|node| &node.uses);
    offered
        .zip(wanted)
        .is_some_and(|(offered, wanted)| wanted.iter().any(|service| offered.contains(service)))
}

/// Removes what needs nothing that is left, until nothing changes: independent of how the graph does it.
fn is_cyclic(nodes: &[Owned]) -> bool {
    let mut left: Vec<&EntryName> = nodes.iter().map(|node| &node.name).collect();
    loop {
        let before = left.len();
        let all = left.clone();
        left.retain(|user| all.iter().any(|used| uses(nodes, user, used)));
        if left.len() == before {
            return before > 0;
        }
    }
}

proptest! {
    /// SUP-03
    #[test]
    fn cyclic_graphs_are_refused_and_only_they_are(
        count in 1usize..12, edges in prop::collection::vec((0usize..12, 0usize..12), 0..20),
    ) {
        let nodes = nodes(count, &edges);
        match graph_of(&nodes) {
            Ok(graph) => {
                prop_assert!(!is_cyclic(&nodes));
                let order = graph.start_order();
                prop_assert_eq!(order.len(), count);
                for (at, user) in order.iter().enumerate() {
                    prop_assert!(order.iter().skip(at).all(|later| !uses(&nodes, user, later)), "{:?}", order);
                }
            }
            Err(errors) => {
                prop_assert!(is_cyclic(&nodes));
                for error in errors {
                    let GraphError::Cycle { entries } = error else { return Err(TestCaseError::fail("not a cycle")) };
                    let mut distinct = entries.clone();
                    distinct.sort();
                    distinct.dedup();
                    prop_assert_eq!(distinct.len(), entries.len());
                    for (user, used) in entries.iter().zip(entries.iter().cycle().skip(1)) {
                        prop_assert!(uses(&nodes, user, used), "{} does not use {}", user, used);
                    }
                }
            }
        }
    }

    /// SUP-04
    #[test]
    fn consumers_stop_before_what_they_use(
        count in 1usize..12, edges in prop::collection::vec((0usize..12, 0usize..12), 0..20),
    ) {
        // Only edges to smaller numbers: never a cycle.
        let edges: Vec<_> = edges.into_iter().filter(|(user, used)| user % count > used % count).collect();
        let nodes = nodes(count, &edges);
        let graph = graph_of(&nodes).expect("no cycle");
        for node in &nodes {
            let order = graph.consumers_in_stop_order(&node.name);
            prop_assert!(!order.contains(&node.name));
            for (at, user) in order.iter().enumerate() {
                prop_assert!(order.iter().take(at).all(|earlier| !uses(&nodes, user, earlier)));
            }
            for other in &nodes {
                let direct = uses(&nodes, &other.name, &node.name) || order.iter().any(|name| uses(&nodes, &other.name, name));
                prop_assert_eq!(direct, order.contains(&other.name));
            }
        }
    }

    #[test]
    fn any_mixture_is_judged_alike_whatever_its_order(
        written in prop::collection::vec((0usize..6, prop::collection::vec(0usize..5, 0..3), prop::collection::vec(0usize..6, 0..3)), 0..6),
    ) {
        let mut nodes: BTreeMap<EntryName, Owned> = BTreeMap::new();
        for (name, provides, uses) in &written {
            let services = |numbers: &[usize]| numbers.iter().map(|number| service(&format!("s{number}"))).collect();
            let name = entry(&format!("e{name}"));
            nodes.insert(name.clone(), Owned { name, provides: services(provides), uses: services(uses) });
        }
        let forward: Vec<Owned> = nodes.into_values().collect();
        let there = graph_of(&forward);
        let back = graph_of(&forward.into_iter().rev().collect::<Vec<_>>());
        prop_assert_eq!(there, back);
    }
}
