//! What may go wrong between the wish to launch and a running process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::time::Duration;

use serde_json::json;
use treewarden_kit::{Entry, Node, process, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(20);

fn with_secret(name: &str, file: &std::path::Path) -> Entry {
    Entry::new(name)
        .key("env", json!({ "SECRET": { "file": file } }))
        .key("retry", json!("none"))
}

/// SUP-11 SUP-28 SUP-30: a launch that is refused before there is a process never blocks its entry; the reason names the variable, not the value.
#[test]
fn refused_launch_is_a_failure_and_no_unconfirmed_exit() {
    let folder = tempfile::tempdir().unwrap();
    let (nul, large) = (folder.path().join("nul"), folder.path().join("large"));
    std::fs::write(&nul, "before\0after").unwrap();
    std::fs::write(&large, "x".repeat(60_000)).unwrap();
    let many = (0..4)
        .map(|index| (format!("S{index}"), json!({ "file": large })))
        .collect::<serde_json::Map<_, _>>();
    let refused_by_keeper = Entry::new("large")
        .key("env", many.into())
        .key("retry", json!("none"));
    let mut node = Node::with(&[
        with_secret("nul", &nul),
        refused_by_keeper,
        Entry::new("b").provides("b"),
    ]);
    for name in ["nul", "large"] {
        let status = node.wait_state(name, "failed", BOUND);
        let error = status["last_error"].as_str().unwrap();
        assert!(
            !error.contains("before") && !error.contains("xxxx"),
            "{error}"
        );
        assert!(
            status["pid"].is_null() && status["last_stop"].is_null(),
            "{status:#}"
        );
    }
    assert!(
        node.entry("nul")["last_error"]
            .as_str()
            .unwrap()
            .contains("SECRET")
    );
    let (status, body) = node.verb("nul", "start");
    assert_eq!(
        (status, &body["code"]),
        (409, &json!("entry_failed")),
        "{body:#}"
    );
    node.wait_running("b");
    assert_eq!(
        node.terminate(),
        0,
        "there is nothing left whose exit could not be confirmed"
    );
}

/// SUP-29 SUP-30: whatever a secret's file has become, it blocks nobody and costs no memory.
#[test]
fn file_of_a_secret_that_became_something_else_blocks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let names = ["fifo", "endless", "gone", "folder"];
    for name in names {
        std::fs::write(path(name), "value\n").unwrap();
    }
    let mut entries: Vec<Entry> = names
        .iter()
        .map(|name| with_secret(name, &path(name)))
        .collect();
    entries.push(Entry::new("b").provides("b"));
    let node = Node::with(&entries);
    for name in names {
        node.wait_running(name);
        std::fs::remove_file(path(name)).unwrap();
    }
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    std::thread::scope(|scope| {
        for name in names {
            let node = &node;
            scope.spawn(move || {
                let (_, body) = node.verb(name, "restart");
                assert_eq!(body["started"], json!(false), "{name}: {body:#}");
                assert!(
                    body["start_error"].as_str().unwrap().contains("SECRET"),
                    "{name}: {body:#}"
                );
            });
        }
    });
    assert_eq!(node.result("b", "b", "ping", &json!({})), json!("pong"));
}

/// SUP-13 SUP-17: a launch that is stopped before it is on disk leaves no trace that looks like a lost record.
#[test]
fn stop_of_a_starting_launch_leaves_the_counters_alone() {
    let mut node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    for _ in 0..treewarden_kit::rounds(100) {
        node.stop("a");
        std::thread::scope(|scope| {
            scope.spawn(|| node.verb("a", "start"));
            scope.spawn(|| node.verb("a", "stop"));
        });
    }
    node.verb("a", "start");
    node.wait_running("a");
    let before = node.entry("a")["launch"].as_u64().unwrap();
    node.restart();
    node.wait_running("a");
    let after = node.entry("a")["launch"].as_u64().unwrap();
    assert!(
        after > before && after < before + 1000,
        "{before} and then {after}"
    );
    node.kill9();
    node.start_again();
    node.wait_running("a");
    let last = node.entry("a")["launch"].as_u64().unwrap();
    assert!(
        last > after && last < after + 1000,
        "{after} and then {last}"
    );
}

/// SUP-07 SUP-34: a kill is no stop: the plugin gets no chance to run its finalizers first.
#[test]
fn kill_is_quicker_than_the_plugins_own_exit() {
    let node = Node::with(&[Entry::new("a").key("retry", json!("none"))]);
    for _ in 0..treewarden_kit::rounds(50) {
        node.wait_running("a");
        let (status, result) = node.verb("a", "kill");
        assert_eq!(status, 200);
        assert_eq!(result["outcome"], "killed", "{result:#}");
        assert_eq!(result["exit_status"]["signal"], 9, "{result:#}");
        node.verb("a", "start");
    }
    let pid = node.pid_of("a");
    process::kill9(pid);
    wait_until("it is seen", BOUND, || node.state("a") == "failed");
    wait_for("its end is known", BOUND, || {
        node.entry("a")["last_stop"]["outcome"]
            .as_str()
            .map(ToOwned::to_owned)
    });
}
