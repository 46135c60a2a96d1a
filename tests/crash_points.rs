//! Crashes at chosen points of a launch and of an end, with the feature `faults`.

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

use std::time::Duration;

use serde_json::json;
use treewarden_kit::{Entry, Node, Options, process, skipped, wait_until};

const BOUND: Duration = Duration::from_secs(20);

/// Points of the node's code, in the order in which a launch and its end pass them.
const POINTS: [&str; 6] = [
    "launch.spawn",
    "launch.spawned",
    "launch.recorded",
    "launch.ready",
    "end.confirmed",
    "end.recorded",
];

/// A node that does something at a point; `None` when its binary has no such points.
fn node_with(test: &str, point: &str, action: &str) -> Option<Node> {
    let environment = vec![("FAILPOINTS".to_owned(), format!("{point}={action}"))];
    let retry = json!({ "initial": "10 millis", "max": "50 millis", "restarts": 50 });
    let options = Options {
        environment,
        ..Options::default()
    };
    let node = Node::with_options(
        &[Entry::new("a").provides("a").key("retry", retry)],
        options,
    );
    if node.has_faults() {
        return Some(node);
    }
    skipped(test, "the binary is built without the feature faults");
    None
}

/// Gets a launch to the point.
fn reach(node: &Node, point: &str) {
    let begun = || {
        node.processes().iter().any(|one| {
            one.launch
                .as_deref()
                .is_some_and(|launch| launch.contains("/a/"))
        })
    };
    match point {
        // Nothing to be seen from outside: the entry says that it starts.
        "launch.spawn" => wait_until("it starts", BOUND, || node.state("a") == "starting"),
        "launch.spawned" | "launch.recorded" => wait_until("it waits at its gate", BOUND, begun),
        "launch.ready" => drop(node.wait_event("a", "initialized", BOUND)),
        _ => {
            node.wait_event("a", "initialized", BOUND);
            let plugin = node.trace().of("a", "exec")[0].pid;
            process::kill9(plugin);
            wait_until("it has ended", BOUND, || !process::alive(plugin));
        }
    }
    // What comes next is not to be seen from outside either.
    std::thread::sleep(Duration::from_millis(200));
}

/// SUP-35 SUP-13 SUP-17
#[test]
fn node_killed_at_any_point_of_a_launch_starts_again_with_a_greater_number_and_one_process() {
    for point in POINTS {
        let Some(mut node) = node_with(
            "node_killed_at_any_point_of_a_launch_starts_again_with_a_greater_number_and_one_process",
            point,
            "pause",
        ) else {
            return;
        };
        reach(&node, point);
        let before = node.trace();
        if matches!(point, "launch.spawn" | "launch.spawned" | "launch.recorded") {
            assert_eq!(
                before.of("a", "exec").len(),
                0,
                "{point}: no unrecorded process runs a plugin's code"
            );
        }
        node.kill9();
        wait_until("what was at its gate ends", BOUND, || {
            node.processes()
                .iter()
                .all(|one| !one.command.contains("--name a "))
        });
        assert_eq!(
            node.trace().of("a", "exec").len(),
            before.of("a", "exec").len(),
            "{point}"
        );
        node.set_environment(Vec::new());
        node.start_again();
        let status = node.wait_running("a");
        let number = |event: &treewarden_kit::trace::Event| -> u64 {
            event
                .launch
                .as_deref()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let earlier = before
            .of("a", "exec")
            .iter()
            .map(|event| number(event))
            .max()
            .unwrap_or(0);
        assert!(
            status["launch"].as_u64().unwrap() > earlier,
            "{point}: {status:#}"
        );
        assert_eq!(
            node.processes_of("a").len(),
            1,
            "{point}: {:#?}",
            node.processes_of("a")
        );
        assert_eq!(node.result("a", "a", "ping", &json!({})), "pong");
    }
}

/// SUP-35 SUP-29
#[test]
fn panic_at_any_point_of_a_launch_is_survived() {
    for point in POINTS {
        let Some(node) = node_with(
            "panic_at_any_point_of_a_launch_is_survived",
            point,
            "1*panic(a fault for a test)",
        ) else {
            return;
        };
        if point.starts_with("end") {
            node.wait_event("a", "initialized", BOUND);
            process::kill9(node.trace().of("a", "exec")[0].pid);
            wait_until(
                &format!("it runs again after a panic at {point}"),
                BOUND,
                || node.trace().of("a", "exec").len() >= 2,
            );
        }
        let status = node.wait_running("a");
        node.wait_log_line("a fault for a test");
        let processes = node.processes_of("a");
        assert_eq!(processes.len(), 1, "{point}: {processes:#?}");
        assert_eq!(
            u64::from(processes[0].pid),
            status["pid"].as_u64().unwrap(),
            "{point}"
        );
        assert_eq!(node.result("a", "a", "ping", &json!({})), "pong", "{point}");
        assert_eq!(node.stop("a")["outcome"], "exited", "{point}");
    }
}

/// SUP-38: what could not be stored is not answered as done; nothing else is lost with it.
#[test]
fn stop_that_is_not_on_disk_is_no_success() {
    let Some(mut node) = node_with(
        "stop_that_is_not_on_disk_is_no_success",
        "persist.fails",
        "return",
    ) else {
        return;
    };
    node.wait_running("a");
    let (status, body) = node.verb("a", "stop");
    assert_eq!(
        (status, &body["code"]),
        (503, &json!("store_failed")),
        "{body:#}"
    );
    assert_eq!(
        node.state("a"),
        "stopped",
        "the process was stopped all the same"
    );
    assert!(node.processes_of("a").is_empty());
    node.set_environment(Vec::new());
    node.restart();
    node.wait_running("a");
    assert_eq!(node.verb("a", "stop").0, 200);
}
