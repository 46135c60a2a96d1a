//! The actor tree as the node shows it, held against what really runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::let_underscore_must_use,
    clippy::print_stderr,
    missing_docs,
    reason = "test code"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::{Entry, Node, process, skipped, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(20);

fn node() -> Node {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user").uses("base"),
    ]);
    node.wait_running("user");
    node
}

/// All actors, parents first.
fn all(tree: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut open = vec![tree];
    while let Some(one) = open.pop() {
        found.push(one);
        open.extend(one["children"].as_array().into_iter().flatten());
    }
    found
}

fn of_kind<'a>(tree: &'a Value, kind: &str) -> Vec<&'a Value> {
    all(tree)
        .into_iter()
        .filter(|one| one["kind"] == kind)
        .collect()
}

/// SUP-35
#[test]
fn tree_shows_every_actor_with_what_it_does() {
    let node = node();
    let tree = node.actors();
    assert_eq!(tree["kind"], "node");
    let kinds: BTreeSet<&str> = all(&tree)
        .iter()
        .filter_map(|one| one["kind"].as_str())
        .collect();
    for kind in ["node", "store", "entries", "entry", "instance", "edge"] {
        assert!(kinds.contains(kind), "{kind} is missing: {kinds:?}");
    }
    for actor in all(&tree) {
        assert!(
            actor["id"].is_string() && actor["name"].is_string(),
            "{actor:#}"
        );
        assert!(
            matches!(
                actor["status"].as_str(),
                Some("starting" | "running" | "stopping" | "stopped")
            ),
            "{actor:#}"
        );
        assert!(
            actor["started_at"]
                .as_str()
                .is_some_and(|at| at.ends_with('Z')),
            "{actor:#}"
        );
        assert!(
            actor["restarts"].is_u64()
                && actor["detail"].is_object()
                && actor["children"].is_array(),
            "{actor:#}"
        );
        assert!(
            actor["mailbox"]["queued"].is_u64() && actor["mailbox"]["handled"].is_u64(),
            "{actor:#}"
        );
    }
    let ids: BTreeSet<&str> = all(&tree)
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(ids.len(), all(&tree).len(), "ids are unique");
}

/// SUP-35
#[test]
fn instances_in_the_tree_are_the_processes_that_run() {
    let node = node();
    let tree = node.actors();
    let entries = of_kind(&tree, "entry");
    assert_eq!(entries.len(), 2);
    for entry in entries {
        let name = entry["name"]
            .as_str()
            .unwrap()
            .trim_start_matches("entry:")
            .to_owned();
        let status = node.entry(&name);
        let instances: Vec<&Value> = entry["children"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["kind"] == "instance")
            .collect();
        assert_eq!(instances.len(), 1, "{entry:#}");
        let detail = &instances[0]["detail"];
        assert_eq!(detail["pid"], status["pid"]);
        assert_eq!(detail["launch"], status["launch"]);
        assert_eq!(detail["generation"], 1);
        assert_eq!(detail["placement"], "local");
        assert!(
            detail
                .to_string()
                .contains(status["instance"]["id"].as_str().unwrap()),
            "{detail:#}"
        );
    }
}

#[test]
fn tree_is_live() {
    let node = node();
    let old = node.entry("base")["instance"]["id"].clone();
    process::kill9(node.pid_of("base"));
    wait_until("both run again", Duration::from_secs(10), || {
        node.trace().of("user", "initialized").len() == 2
    });
    node.wait_running("user");
    let tree = node.actors();
    assert!(
        !of_kind(&tree, "instance")
            .iter()
            .any(|one| one.to_string().contains(old.as_str().unwrap())),
        "{tree:#}"
    );
    node.stop("user");
    node.stop("base");
    let tree = node.actors();
    assert_eq!(of_kind(&tree, "instance").len(), 0, "{tree:#}");
    assert_eq!(
        of_kind(&tree, "entry").len(),
        2,
        "stopped entries are there"
    );
}

#[test]
fn every_actor_can_be_looked_at_alone() {
    let node = node();
    let tree = node.actors();
    for actor in all(&tree) {
        let id = actor["id"].as_str().unwrap();
        let (status, body) = node.get(&format!("/debug/actors/{id}"));
        assert_eq!(
            (status, &body["kind"], &body["name"]),
            (200, &actor["kind"], &actor["name"]),
            "{id}"
        );
    }
    assert_eq!(node.get("/debug/actors/nobody").0, 404);
}

#[test]
fn tree_is_shown_as_text_and_graph_too() {
    let node = node();
    let (status, text) = node.get("/debug/actors?format=text");
    let text = text.as_str().unwrap().to_owned();
    assert_eq!(status, 200);
    for word in [
        "entry:base",
        "entry:user",
        "instance:",
        "store",
        "edge",
        &node.pid_of("base").to_string(),
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    let (status, dot) = node.get("/debug/actors?format=dot");
    let dot = dot.as_str().unwrap().to_owned();
    assert_eq!(status, 200);
    assert!(
        dot.starts_with("digraph") && dot.trim_end().ends_with('}') && dot.contains("->"),
        "{dot}"
    );
    assert_eq!(node.get("/debug/actors?format=poem").0, 422);
    let shown = node.cli(&["tree"]);
    assert_eq!(shown.status.code(), Some(0));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("entry:base") && shown.contains("instance:"),
        "{shown}"
    );
}

#[test]
fn tree_needs_a_token() {
    let node = node();
    assert_eq!(node.get_open("/debug/actors").0, 401);
}

/// SUP-29
#[test]
fn actors_do_not_pile_up() {
    let node = node();
    let before = all(&node.actors()).len();
    for _ in 0..10 {
        assert_eq!(node.verb("base", "restart").0, 200);
        node.wait_running("user");
    }
    assert_eq!(all(&node.actors()).len(), before);
    let (status, body) = node.post(
        "/api/console/entries/base/call",
        &json!({ "service": "base", "method": "ping" }),
    );
    assert_eq!(status, 200, "{body:#}");
}

/// Every actor below the root, by kind and name: ids change with each incarnation.
fn below_the_root(tree: &Value) -> BTreeSet<(String, String)> {
    let text = |actor: &Value, key: &str| actor[key].as_str().unwrap_or_default().to_owned();
    all(tree)
        .iter()
        .skip(1)
        .map(|actor| (text(actor, "kind"), text(actor, "name")))
        .collect()
}

/// SUP-35
#[test]
fn any_actor_may_be_killed() {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user").uses("base"),
        Entry::new("resting"),
    ]);
    node.wait_running("user");
    node.wait_running("resting");
    node.stop("resting");
    let (status, _) = node.post("/debug/actors/nobody/kill", &json!({}));
    let (refused, body) = node.post(
        &format!(
            "/debug/actors/{}/kill",
            node.actors()["children"][0]["id"].as_str().unwrap()
        ),
        &json!({}),
    );
    if status == 404 && refused == 404 {
        return skipped(
            "any_actor_may_be_killed",
            &format!("the binary is built without the feature faults: {body}"),
        );
    }
    wait_until("the first is back", BOUND, || {
        node.try_get("/readyz")
            .is_ok_and(|(status, _)| status == 200)
    });
    let mut killed = BTreeSet::new();
    loop {
        settle(&node);
        // Instances are named by their launch: one of the kind is enough for each entry.
        let tree = node.actors();
        let next = all(&tree)
            .into_iter()
            .skip(1)
            .find(|actor| !killed.contains(&key(actor)));
        let Some(victim) = next else { break };
        killed.insert(key(victim));
        let path = format!("/debug/actors/{}/kill", victim["id"].as_str().unwrap());
        // Killing the edge takes the answer along.
        let _ = node.try_post(&path, &json!({}));
        settle(&node);
        let words = format!("after {}", victim["name"]);
        let lasting = |tree: &Value| -> BTreeSet<(String, String)> {
            below_the_root(tree)
                .into_iter()
                .filter(|(kind, _)| kind != "instance")
                .collect()
        };
        let expected = lasting(&tree);
        wait_until(&format!("the tree is whole {words}"), BOUND, || {
            node.try_get("/debug/actors")
                .is_ok_and(|(status, now)| status == 200 && lasting(&now) == expected)
        });
        settle(&node);
        assert_eq!(
            node.state("resting"),
            "stopped",
            "{words}: what is durable is not lost"
        );
        assert_eq!(node.processes_of("resting").len(), 0, "{words}");
        for name in ["base", "user"] {
            let processes = node.processes_of(name);
            assert_eq!(processes.len(), 1, "{words}: {processes:#?}");
            assert_eq!(processes[0].pid, node.pid_of(name), "{words}");
        }
        assert_eq!(
            node.result("base", "base", "ping", &json!({})),
            "pong",
            "{words}"
        );
    }
    assert!(killed.len() >= 7, "{killed:?}");
    assert_eq!(node.stop("base")["outcome"], "exited");
    assert!(node.processes_of("base").is_empty() && node.processes_of("user").is_empty());
}

/// What makes an actor the same one after it was replaced; instances go by their entry.
fn key(actor: &Value) -> String {
    match actor["kind"].as_str() {
        Some("instance") => format!("instance {}", actor["detail"]["entry"]),
        _ => actor["name"].to_string(),
    }
}

/// Waits until all runs that should.
#[track_caller]
fn settle(node: &Node) {
    wait_until("all run again", BOUND, || {
        ["base", "user"].iter().all(|name| {
            let status = node.try_get(&format!("/api/console/entries/{name}"));
            status.is_ok_and(|(code, status)| code == 200 && status["state"] == "running")
        })
    });
}

/// SUP-35 SUP-34
#[test]
fn actors_killed_during_a_stop_lose_neither_the_stop_nor_its_answer() {
    let node = Node::with(&[Entry::new("a")
        .fault("finalizer-ms=1500")
        .fault("linger-ms=3600000")]);
    node.wait_running("a");
    if !node.has_faults() {
        return skipped(
            "actors_killed_during_a_stop_lose_neither_the_stop_nor_its_answer",
            "the binary is built without the feature faults",
        );
    }
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| node.stop("a"));
        node.wait_event("a", "finalizer", BOUND);
        for kind in ["instance", "entry", "entries", "store", "instance"] {
            let victim = wait_for("the actor is there", BOUND, || {
                let tree = node.actors();
                of_kind(&tree, kind)
                    .first()
                    .map(|one| one["id"].as_str().unwrap().to_owned())
            });
            let (status, body) = node.post(&format!("/debug/actors/{victim}/kill"), &json!({}));
            assert_eq!(status, 200, "{kind}: {body:#}");
        }
        let result = stop.join().unwrap();
        assert_eq!(result["outcome"], "exited", "{result:#}");
        assert_eq!(result["exit_status"]["signal"], 15, "{result:#}");
        let causes = result["cleanup_error"]["causes"].as_array().unwrap();
        assert_eq!(
            (causes.len(), &causes[0]["kind"]),
            (1, &json!("local_termination_timeout")),
            "{result:#}"
        );
    });
    let took = node.trace().only("a", "sigterm") - node.trace().only("a", "finalized");
    assert!(
        (970_000_000..1_800_000_000).contains(&took),
        "the ladder keeps its times: {took} ns"
    );
    assert!(node.processes_of("a").is_empty());
}
