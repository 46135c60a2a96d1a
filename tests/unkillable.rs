//! A process that can not be killed: the answer comes all the same, nothing replaces it, and its late end is told.

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

use serde_json::{Value, json};
use treewarden_kit::freezer::Freezer;
use treewarden_kit::{Entry, Node, Stopwatch, groups, process, skipped, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(15);

/// A running entry `a` that SIGKILL does not end for now, beside `b`.
fn unkillable(test: &str) -> Option<(Node, Freezer, Value)> {
    let node = Node::with(&[Entry::new("a"), Entry::new("b").provides("b")]);
    let status = node.wait_running("a");
    node.wait_running("b");
    let Some(freezer) = Freezer::freeze(node.pid_of("a")) else {
        skipped(test, "no cgroup v1 freezer that may be used");
        return None;
    };
    Some((node, freezer, status))
}

/// SUP-07 SUP-11 SUP-12
#[test]
fn unkillable_process_is_reported_blocks_its_entry_and_is_let_go_when_it_ends() {
    let Some((node, freezer, before)) =
        unkillable("unkillable_process_is_reported_blocks_its_entry_and_is_let_go_when_it_ends")
    else {
        return;
    };
    let pid = before["pid"].as_u64().unwrap().to_string();
    let watch = Stopwatch::start();
    let (status, result) = node.verb("a", "kill");
    let took = watch.elapsed();
    assert_eq!(
        (status, &result["outcome"]),
        (200, &json!("termination_unconfirmed")),
        "{result:#}"
    );
    assert!(
        took >= Duration::from_millis(4900) && took < Duration::from_millis(6000),
        "5 seconds after SIGKILL, not {took:?}"
    );
    assert_eq!(
        (&result["evidence"], &result["exit_status"]),
        (&Value::Null, &Value::Null),
        "{result:#}"
    );
    let cause = &result["cleanup_error"]["causes"][0];
    assert_eq!(cause["kind"], "termination_unconfirmed", "{result:#}");
    let message = cause["message"].as_str().unwrap();
    assert!(
        message.contains(&pid) && message.contains('D'),
        "pid and state are said: {message}"
    );
    let blocked = node.entry("a");
    assert_eq!(blocked["state"], "blocked", "{blocked:#}");
    let (status, refusal) = node.verb("a", "start");
    assert!(
        refusal.to_string().contains(&pid),
        "which pid to check: {refusal:#}"
    );
    assert_eq!(
        (status, &refusal["code"]),
        (409, &json!("termination_unconfirmed")),
        "{refusal:#}"
    );
    assert!(
        refusal
            .to_string()
            .contains(before["instance"]["id"].as_str().unwrap()),
        "it names the instance: {refusal:#}"
    );
    let unconfirmed = node.wait_logged("Remote execution not confirmed terminated");
    assert_eq!(
        (unconfirmed.len(), &unconfirmed[0]["level"]),
        (1, &json!("WARN"))
    );
    assert_eq!(node.log_with("Remote execution terminated").len(), 0);
    assert_eq!(
        node.result("b", "b", "ping", &json!({})),
        "pong",
        "nobody else is held up"
    );
    freezer.thaw();
    let now = wait_for("the block is lifted", BOUND, || {
        Some(node.entry("a")).filter(|now| now["state"] != "blocked")
    });
    assert_eq!(
        (&now["last_stop"]["outcome"], &now["last_stop"]["evidence"]),
        (&json!("killed"), &json!(groups::best_evidence())),
        "{now:#}"
    );
    assert_eq!(now["last_stop"]["exit_status"]["signal"], 9);
    let lines = node.wait_logged("Remote execution terminated");
    assert_eq!(
        (lines.len(), &lines[0]["remote.termination"]),
        (1, &json!("killed"))
    );
    assert_eq!(node.verb("a", "start").0, 200);
    let again = node.wait_running("a");
    assert!(again["launch"].as_u64() > before["launch"].as_u64());
}

/// SUP-12 SUP-34
#[test]
fn restart_of_what_can_not_be_killed_starts_nothing() {
    let Some((node, freezer, _)) = unkillable("restart_of_what_can_not_be_killed_starts_nothing")
    else {
        return;
    };
    let (status, answer) = node.verb("a", "restart");
    assert!(
        status == 409 || answer["outcome"] == "termination_unconfirmed",
        "{status} {answer:#}"
    );
    assert_eq!(node.trace().of("a", "exec").len(), 1);
    freezer.thaw();
    wait_until("it is gone, or replaced", BOUND, || {
        matches!(node.state("a").as_str(), "running" | "stopped")
    });
    assert!(node.processes_of("a").len() <= 1);
}

/// SUP-12 SUP-17 SUP-35
#[test]
fn restarted_node_starts_nothing_beside_what_its_predecessor_left_unkillable() {
    let Some((mut node, freezer, before)) =
        unkillable("restarted_node_starts_nothing_beside_what_its_predecessor_left_unkillable")
    else {
        return;
    };
    let old = u32::try_from(before["pid"].as_u64().unwrap()).unwrap();
    node.kill9();
    node.start_again();
    let watch = Stopwatch::start();
    while watch.elapsed() < Duration::from_secs(4) {
        assert!(process::alive(old));
        assert_eq!(
            node.trace().of("a", "exec").len(),
            1,
            "nothing starts beside it"
        );
        assert_ne!(node.state("a"), "running");
        std::thread::sleep(Duration::from_millis(50));
    }
    freezer.thaw();
    node.wait_running("a");
    assert!(!process::alive(old));
    node.wait_running("b");
}

/// SUP-07
#[test]
fn node_that_can_not_kill_a_child_says_so_by_its_exit_code() {
    let Some((mut node, freezer, _)) =
        unkillable("node_that_can_not_kill_a_child_says_so_by_its_exit_code")
    else {
        return;
    };
    let watch = Stopwatch::start();
    assert_eq!(node.terminate(), 3, "{}", node.log_tail());
    let took = watch.elapsed();
    // Graceful stop 5, exit window 1, SIGKILL after 1 more, 5 until it is reported; then the keeper's budget of 15.
    assert!(took < Duration::from_secs(30), "{took:?}");
    freezer.thaw();
}
