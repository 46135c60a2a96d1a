//! Failing by itself: retry schedule, its cap, what the status tells, and leftovers of a crash.

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
use treewarden_kit::process::{self, Signal, alive};
use treewarden_kit::{Entry, Node, groups, skipped, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(15);

/// Times between starts in milliseconds.
fn gaps(node: &Node, name: &str) -> Vec<i64> {
    let trace = node.trace();
    let starts: Vec<i64> = trace.of(name, "exec").iter().map(|event| event.t).collect();
    starts
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 1_000_000)
        .collect()
}

/// SUP-28
#[test]
fn waits_between_restarts_double_and_are_drawn_from_half_to_whole() {
    let retry = json!({ "initial": "100 millis", "max": "400 millis", "factor": 2, "restarts": 5, "within": "10 minutes" });
    let node = Node::with(&[Entry::new("a").fault("exit-at-once=1").key("retry", retry)]);
    node.wait_state("a", "failed", BOUND);
    let gaps = gaps(&node, "a");
    assert_eq!(gaps.len(), 5, "{gaps:?}");
    // A start itself takes some time too: only the lower bound is exact.
    for (gap, wait) in gaps.iter().zip([100, 200, 400, 400, 400]) {
        assert!(*gap >= wait / 2 && *gap <= wait + 400, "{gaps:?}");
    }
}

/// SUP-28 SUP-11
#[test]
fn past_the_cap_the_entry_fails_and_tells_exit_and_stderr() {
    let retry =
        json!({ "initial": "10 millis", "max": "20 millis", "restarts": 3, "within": "1 minutes" });
    let noisy = Entry::new("a")
        .fault("stderr-line=cannot open the till")
        .fault("exit=3@30")
        .key("retry", retry);
    let node = Node::with(&[noisy]);
    let status = node.wait_state("a", "failed", BOUND);
    assert_eq!(
        node.trace().of("a", "exec").len(),
        4,
        "the first start and three more"
    );
    assert_eq!(status["restarts"], 3, "{status:#}");
    assert_eq!(
        status["last_stop"]["exit_status"],
        json!({ "code": 3, "signal": null }),
        "{status:#}"
    );
    assert_eq!(
        (
            &status["last_stop"]["outcome"],
            &status["last_stop"]["cause"]
        ),
        (&json!("exited"), &json!("crashed"))
    );
    assert!(
        status.to_string().contains("cannot open the till"),
        "the last stderr lines are shown: {status:#}"
    );
    assert_eq!(
        (&status["desired"], &status["pid"]),
        (&json!("running"), &Value::Null)
    );
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        node.trace().of("a", "exec").len(),
        4,
        "it waits for a person"
    );
}

/// SUP-28
#[test]
fn reset_and_start_give_a_failed_entry_its_restarts_again() {
    let retry = json!({ "initial": "10 millis", "max": "10 millis", "restarts": 1, "within": "10 minutes" });
    let node = Node::with(&[Entry::new("a").fault("exit=1@30").key("retry", retry)]);
    for (round, verb) in ["", "reset", "start"].iter().enumerate() {
        if !verb.is_empty() {
            let (status, body) = node.verb("a", verb);
            assert!(matches!(status, 200 | 202), "{verb}: {status} {body:#}");
        }
        wait_until("two more starts", BOUND, || {
            node.trace().of("a", "exec").len() == 2 * (round + 1)
        });
        node.wait_state("a", "failed", BOUND);
    }
    assert_eq!(node.trace().of("a", "exec").len(), 6);
}

/// SUP-28
#[test]
fn without_retry_the_first_crash_is_the_last() {
    let node = Node::with(&[Entry::new("a").fault("exit=1@50").no_retry()]);
    node.wait_state("a", "failed", BOUND);
    assert_eq!(node.trace().of("a", "exec").len(), 1);
}

/// SUP-28
#[test]
fn requested_stops_are_not_counted() {
    let retry = json!({ "initial": "10 millis", "restarts": 2, "within": "10 minutes" });
    let node = Node::with(&[Entry::new("a").key("retry", retry)]);
    node.wait_running("a");
    for verb in ["restart", "kill", "start", "restart", "stop", "start"] {
        let (status, body) = node.verb("a", verb);
        assert_eq!(status, 200, "{verb}: {body:#}");
    }
    let status = node.wait_running("a");
    assert_eq!(status["restarts"], 0, "{status:#}");
}

/// SUP-28
#[test]
fn status_says_when_the_next_start_is() {
    let node = Node::with(&[Entry::new("a")
        .fault("exit-at-once=1")
        .key("retry", json!({ "initial": "20 seconds" }))]);
    let status = node.wait_state("a", "backing_off", BOUND);
    assert!(
        status["next_retry_at"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z')),
        "{status:#}"
    );
    let (code, body) = node.verb("a", "start");
    assert!(matches!(code, 200 | 202 | 409), "{body:#}");
    wait_until("a person need not wait", BOUND, || {
        node.trace().of("a", "exec").len() == 2
    });
}

/// SUP-11 SUP-37
#[test]
fn killed_from_outside_is_told_and_replaced() {
    let node = Node::with(&[Entry::new("a")]);
    let before = node.wait_running("a");
    process::kill9(node.pid_of("a"));
    wait_until("it is replaced", BOUND, || {
        node.trace().of("a", "initialized").len() == 2
    });
    let after = node.wait_running("a");
    assert_eq!(after["restarts"], 1);
    assert!(after["launch"].as_u64() > before["launch"].as_u64());
    assert_ne!(
        after["instance"]["id"], before["instance"]["id"],
        "a new UUID for each launch"
    );
    let ended = &after["last_stop"];
    assert_eq!(
        (&ended["outcome"], &ended["cause"]),
        (&json!("killed"), &json!("external")),
        "{ended:#}"
    );
    assert_eq!(ended["exit_status"], json!({ "code": null, "signal": 9 }));
    assert_eq!(ended["launch"], before["launch"]);
}

/// SUP-37
#[test]
fn exit_status_is_the_plugins_own() {
    for (fault, expected) in [
        ("exit=42@30", json!({ "code": 42, "signal": null })),
        ("exit=0@30", json!({ "code": 0, "signal": null })),
        ("abort", json!({ "code": null, "signal": 6 })),
        ("signal-self=10", json!({ "code": null, "signal": 10 })),
    ] {
        let node = Node::with(&[Entry::new("a").fault(fault).no_retry()]);
        let ended = node.wait_state("a", "failed", BOUND)["last_stop"].clone();
        assert_eq!(
            (&ended["exit_status"], &ended["outcome"]),
            (&expected, &json!("exited")),
            "{fault}: {ended:#}"
        );
        assert_eq!(ended["evidence"], groups::best_evidence());
    }
}

/// SUP-36 SUP-11
#[test]
fn what_a_crash_leaves_is_killed_at_once_and_before_the_replacement() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let retry = json!({ "initial": "10 millis", "restarts": 5 });
    let node = Node::with(&[Entry::new("a")
        .provides("a")
        .fault("fork-holder")
        .fault(&format!("daemon={}", file.display()))
        .key("retry", retry)]);
    node.wait_running("a");
    let daemon: u32 = wait_for("the daemon is there", BOUND, || {
        std::fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    let left: Vec<u32> = node
        .processes()
        .iter()
        .filter(|one| one.command.contains("--as"))
        .map(|one| one.pid)
        .collect();
    assert!(left.contains(&daemon) && left.len() >= 2, "{left:?}");
    process::kill9(node.pid_of("a"));
    let replaced = wait_for("it is replaced", BOUND, || {
        let replaced = node.trace().of("a", "exec").len() == 2;
        replaced.then(|| left.iter().filter(|pid| alive(**pid)).count())
    });
    assert_eq!(
        replaced, 0,
        "the old family is gone before the replacement runs"
    );
    let gap = gaps(&node, "a")[0];
    let ended = node.entry("a")["last_stop"].clone();
    assert_eq!(
        (&ended["outcome"], &ended["exit_status"]["signal"]),
        (&json!("killed"), &json!(9)),
        "{ended:#}"
    );
    assert!(gap < 3000, "{gap} ms");
}

/// SUP-36 SUP-11
#[test]
fn leader_that_exits_by_itself_and_leaves_a_child_counts_as_killed_with_its_own_code() {
    let node = Node::with(&[Entry::new("a")
        .fault("exit=1@200")
        .fault("fork-holder")
        .no_retry()]);
    let ended = node.wait_state("a", "failed", BOUND)["last_stop"].clone();
    assert_eq!(
        (&ended["outcome"], &ended["exit_status"]["code"]),
        (&json!("killed"), &json!(1)),
        "{ended:#}"
    );
    assert!(node.processes_of("a").is_empty());
}

/// SUP-29
#[test]
fn term_from_outside_is_a_crash_like_any_other() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    process::signal(node.pid_of("a"), Signal::TERM);
    wait_until("it is replaced", BOUND, || {
        node.trace().of("a", "initialized").len() == 2
    });
    let ended = node.wait_running("a")["last_stop"].clone();
    assert_eq!(
        (&ended["outcome"], &ended["exit_status"]["signal"]),
        (&json!("exited"), &json!(15)),
        "{ended:#}"
    );
}

/// SUP-31
#[test]
fn stderr_becomes_log_records_and_the_entrys_lines() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    let status = node.wait_running("a");
    node.set_fault("a", "a", "stderr-line", json!("the till is open"));
    let lines = wait_for("the line is there", BOUND, || {
        let (status, body) = node.get("/api/console/entries/a/logs?tail=10");
        assert_eq!(status, 200, "{body:#}");
        body["lines"]
            .as_array()?
            .iter()
            .find(|line| line["text"] == "the till is open")
            .cloned()
    });
    assert_eq!(lines["stream"], "stderr");
    assert!(
        lines["time"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z')),
        "{lines:#}"
    );
    let id = status["instance"]["id"].as_str().unwrap();
    let logged = node.wait_log_line("the till is open");
    assert!(
        logged.contains(id),
        "with the instance's fields: {logged:?}"
    );
    let tail = node.cli(&["entry", "logs", "a"]);
    assert!(
        String::from_utf8_lossy(&tail.stdout).contains("the till is open"),
        "{tail:?}"
    );
}

/// SUP-28
#[test]
fn program_that_can_not_be_executed_fails_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    std::fs::write(&program, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let node = Node::with(&[
        Entry::new("a")
            .command(&[program.to_str().unwrap()])
            .no_retry(),
        Entry::new("b"),
    ]);
    let status = node.wait_state("a", "failed", BOUND);
    assert!(status.to_string().contains("program"), "{status:#}");
    node.wait_running("b");
}

/// SUP-25
#[test]
fn wait_before_a_restart_counts_the_time_of_a_suspend() {
    let node = Node::with(&[Entry::new("a").fault("exit-at-once=1").key(
        "retry",
        json!({ "initial": "60 seconds", "max": "60 seconds" }),
    )]);
    node.wait_state("a", "backing_off", BOUND);
    let (status, body) = node.post("/debug/faults/clock", &json!({ "leap": "2 minutes" }));
    if status == 404 {
        return skipped(
            "wait_before_a_restart_counts_the_time_of_a_suspend",
            "the binary is built without the feature faults",
        );
    }
    assert_eq!(status, 200, "{body:#}");
    wait_until("it is started again", BOUND, || {
        node.trace().of("a", "exec").len() == 2
    });
}
