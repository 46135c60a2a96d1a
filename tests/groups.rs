//! Control groups: where the node may make them, and where it may not.

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

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::process::{self, Process, alive};
use treewarden_kit::{Entry, Node, Options, groups, rounds, skipped, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(20);

/// Where nodes started from here make their groups; where they can't, the test says so.
fn root(test: &str) -> Option<PathBuf> {
    let root = groups::root();
    if root.is_none() {
        skipped(test, "no cgroup v2 that may be written");
    }
    root
}

/// The folder of a node's groups, from the group of one of its plugins.
fn folder(node: &Node, entry: &str, root: &std::path::Path) -> PathBuf {
    let group = groups::of(node.pid_of(entry)).unwrap();
    let mut parts = group.rsplit('/');
    parts.next().unwrap().parse::<u64>().expect("a number");
    let folder = root.join(parts.next().unwrap());
    assert!(folder.is_dir(), "{}", folder.display());
    folder
}

fn keeper(node: &Node) -> Process {
    wait_for("the keeper is there", BOUND, || {
        Process::all().into_iter().find(|process| {
            process.parent == node.pid() && process.runs() && process.command.contains("keeper")
        })
    })
}

/// SUP-32 S46
#[test]
fn each_launch_has_a_group_that_proves_its_end_and_goes_with_it() {
    let Some(root) = root("each_launch_has_a_group_that_proves_its_end_and_goes_with_it") else {
        return;
    };
    let mut node = Node::with(&[Entry::new("a"), Entry::new("b").fault("fork-holder")]);
    node.wait_running("a");
    node.wait_running("b");
    let folder = folder(&node, "a", &root);
    assert_eq!(groups::below(&folder).len(), 2);
    let result = node.stop("a");
    assert_eq!(
        (&result["evidence"], &result["outcome"]),
        (&json!("cgroup"), &json!("exited")),
        "{result:#}"
    );
    assert_eq!(groups::below(&folder).len(), 1);
    let (_, result) = node.verb("b", "kill");
    assert_eq!(
        (&result["evidence"], &result["outcome"]),
        (&json!("cgroup"), &json!("killed")),
        "{result:#}"
    );
    assert!(groups::below(&folder).is_empty());
    assert_eq!(node.terminate(), 0);
    assert!(!folder.exists());
}

/// SUP-32
#[test]
fn node_that_is_told_so_makes_no_groups_and_goes_by_the_tree() {
    let options = Options {
        environment: vec![("TREEWARDEN_CGROUP".to_owned(), "off".to_owned())],
        ..Options::default()
    };
    let entry = Entry::new("a").key("limits", json!({ "memory": "512 MiB", "processes": 99 }));
    let node = Node::with_options(&[entry], options);
    let status = node.wait_running("a");
    assert!(!groups::of(node.pid_of("a")).is_some_and(|group| group.contains("treewarden-")));
    assert_eq!(status["limits"]["memory"]["enforced_by"], "rlimit");
    assert_eq!(status["limits"]["processes"]["enforced_by"], "not enforced");
    let result = node.stop("a");
    assert_eq!(result["evidence"], "tree", "{result:#}");
    assert_eq!(
        node.entry("a")["limits"]["memory"],
        json!({ "limit": 512 << 20, "enforced_by": null })
    );
}

/// SUP-30: the status says what holds a limit, and does not promise more than that.
#[test]
fn status_says_what_holds_each_limit() {
    let limits = json!({ "memory": "512 MiB", "processes": 99, "open_files": 300, "cpu": 2 });
    let node = Node::with(&[Entry::new("a").provides("a").key("limits", limits)]);
    let status = node.wait_running("a");
    let shown = node.result("a", "a", "proc", &json!({ "file": "limits" }));
    let by_rlimit = shown["now"]
        .as_str()
        .unwrap()
        .lines()
        .any(|line| line.starts_with("Max data size") && line.contains("536870912"));
    let group = groups::of(node.pid_of("a"))
        .zip(groups::root())
        .map(|(group, root)| root.join(group.trim_start_matches('/')));
    let held = |file: &str| {
        let text = std::fs::read_to_string(group.as_ref()?.join(file)).ok()?;
        (!text.starts_with("max")).then_some("cgroup")
    };
    let expected = [
        ("memory", held("memory.max").unwrap_or("rlimit")),
        ("processes", held("pids.max").unwrap_or("not enforced")),
        ("open_files", "rlimit"),
        ("cpu", held("cpu.max").unwrap_or("not enforced")),
    ];
    for (limit, by) in expected {
        assert_eq!(status["limits"][limit]["enforced_by"], by, "{status:#}");
    }
    assert_eq!(
        by_rlimit,
        status["limits"]["memory"]["enforced_by"] == "rlimit"
    );
}

/// SUP-17 SUP-35 SUP-11: node and keeper lost, and a daemon that has taken away every mark: its group still tells.
#[test]
fn daemon_without_marks_is_killed_before_the_next_start_launches_anything() {
    let test = "daemon_without_marks_is_killed_before_the_next_start_launches_anything";
    let Some(root) = root(test) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let mut node = Node::with(&[Entry::new("a").fault(&format!("daemon={}", file.display()))]);
    let before = node.wait_running("a");
    let folder = folder(&node, "a", &root);
    let daemon: u32 = wait_for("the daemon is there", BOUND, || {
        std::fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    let stripped = std::process::Command::new("prlimit")
        .args(["--pid", &daemon.to_string(), "--rttime=1000000:1000000"])
        .status();
    if !stripped.is_ok_and(|status| status.success()) {
        skipped(test, "no prlimit");
        return;
    }
    let keeper = keeper(&node);
    process::signal(node.pid(), process::Signal::STOP);
    process::kill9(keeper.pid);
    node.kill9();
    assert!(alive(daemon));
    node.start_again();
    wait_until("the replacement runs", BOUND, || {
        node.trace().of("a", "initialized").len() == 2
    });
    assert!(!alive(daemon));
    let now = node.wait_running("a");
    assert_eq!(now["last_stop"]["launch"], before["launch"], "{now:#}");
    assert_eq!(now["last_stop"]["outcome"], "killed", "{now:#}");
    assert_eq!(now["last_stop"]["exit_status"], Value::Null, "{now:#}");
    assert_eq!(groups::below(&folder).len(), 1);
}

/// S46: whatever ends launches, and whoever is lost, there are as many groups as launches.
#[test]
fn groups_do_not_pile_up() {
    let Some(root) = root("groups_do_not_pile_up") else {
        return;
    };
    let mut node = Node::with(&[Entry::new("a"), Entry::new("b").fault("fork-holder")]);
    node.wait_running("a");
    let folder = folder(&node, "a", &root);
    for round in 0..rounds(8) {
        let launch = |node: &Node, name: &str| node.wait_running(name)["launch"].as_u64();
        let before = launch(&node, "a");
        match round % 4 {
            0 => assert_eq!(node.verb("a", "restart").0, 200),
            1 => process::kill9(node.pid_of("a")),
            2 => process::kill9(keeper(&node).pid),
            _ => {
                node.kill9();
                node.start_again();
            }
        }
        wait_until("the next launch runs", BOUND, || {
            launch(&node, "a") > before
        });
        node.wait_running("b");
        wait_until("as many groups as launches", BOUND, || {
            groups::below(&folder).len() == 2
        });
    }
    assert_eq!(node.terminate(), 0);
    assert!(!folder.exists());
}
