//! Reading the configuration again: what changes is replaced, what does not is left alone.

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
use treewarden_kit::process::{self, Signal};
use treewarden_kit::{Entry, Node, wait_until};

const BOUND: Duration = Duration::from_secs(10);

#[track_caller]
fn reload(node: &Node) -> Value {
    let (status, body) = node.post("/api/console/reload", &json!({}));
    assert_eq!(status, 200, "{body:#}");
    body
}

/// SUP-01
#[test]
fn reload_starts_stops_replaces_restarts_and_leaves_alone() {
    let same = || Entry::new("same").provides("same");
    let user = || Entry::new("user").uses("changed");
    let mut node = Node::with(&[
        same(),
        user(),
        Entry::new("changed").provides("changed"),
        Entry::new("gone"),
    ]);
    for name in ["same", "user", "changed", "gone"] {
        node.wait_running(name);
    }
    let (kept, gone) = (node.pid_of("same"), node.pid_of("gone"));
    let changed = Entry::new("changed")
        .provides("changed")
        .key("config", json!({ "n": 2 }));
    node.configure(&[same(), user(), changed, Entry::new("new")]);
    let answer = reload(&node);
    assert_eq!(
        answer,
        json!({
            "started": ["new"], "stopped": ["gone"], "replaced": ["changed"], "restarted": ["user"], "unchanged": ["same"],
        })
    );
    for name in ["same", "user", "changed", "new"] {
        node.wait_running(name);
    }
    assert_eq!(node.pid_of("same"), kept);
    wait_until("what was removed is gone", BOUND, || {
        !process::alive(gone) && node.get("/api/console/entries/gone").0 == 404
    });
    let trace = node.trace();
    assert_eq!(trace.of("changed", "exec").len(), 2);
    assert!(trace.of("user", "exit")[0].t < trace.of("changed", "shutdown")[0].t);
    assert!(trace.of("changed", "initialized")[1].t < trace.of("user", "exec")[1].t);
    assert_eq!(node.entry("changed")["last_stop"]["cause"], "replaced");
    // The same after a restart of the node: the file is what counts.
    node.restart();
    node.wait_running("new");
    assert_eq!(node.get("/api/console/entries/gone").0, 404);
}

/// SUP-01
#[test]
fn change_of_retry_alone_replaces_nothing_but_counts() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    let pid = node.pid_of("a");
    node.configure(&[Entry::new("a").no_retry()]);
    assert_eq!(reload(&node)["unchanged"], json!(["a"]));
    assert_eq!(node.pid_of("a"), pid);
    process::kill9(pid);
    node.wait_state("a", "failed", BOUND);
}

/// SUP-01
#[test]
fn sighup_reloads_too() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    let pid = node.pid_of("a");
    node.configure(&[Entry::new("a"), Entry::new("b")]);
    process::signal(node.pid(), Signal::HUP);
    wait_until("the new entry runs", BOUND, || {
        node.get("/api/console/entries/b").1["state"] == "running"
    });
    assert_eq!(node.pid_of("a"), pid);
}

/// SUP-03
#[test]
fn bad_file_changes_nothing_and_says_where_it_is_wrong() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    let pid = node.pid_of("a");
    let cycle = treewarden_kit::config(
        &[
            Entry::new("a").provides("a").uses("b"),
            Entry::new("b").provides("b").uses("a"),
        ],
        "/dev/null",
    );
    for (text, word) in [
        (
            "entries:\n  a:\n    run: local\n    colour: red\n    command: [/bin/true]\n",
            "colour",
        ),
        ("entries: [", "treewarden.yaml"),
        (cycle.as_str(), "cycle"),
    ] {
        node.configure_text(text);
        let (status, body) = node.post("/api/console/reload", &json!({}));
        assert!(status == 422, "{status} {body:#}");
        assert!(
            body["code"] == "config_invalid" || body["code"] == "dependency_cycle",
            "{body:#}"
        );
        assert!(body.to_string().contains(word), "no {word} in {body:#}");
        assert!(
            !body
                .to_string()
                .contains(&node.directory().display().to_string()),
            "no path of the host: {body:#}"
        );
    }
    // SIGHUP has only the log to say it in.
    node.configure_text("entries: { a: { run: local, flavour: sweet, command: [/bin/true] } }");
    process::signal(node.pid(), Signal::HUP);
    node.wait_log_line("flavour");
    assert_eq!(
        (node.state("a"), node.pid_of("a")),
        ("running".to_owned(), pid)
    );
}

/// SUP-39
#[test]
fn stop_holds_over_reload_and_restart_until_the_declaration_changes() {
    let mut node = Node::with(&[Entry::new("a"), Entry::new("b")]);
    node.wait_running("a");
    node.stop("a");
    node.configure(&[Entry::new("a"), Entry::new("b"), Entry::new("c")]);
    reload(&node);
    assert_eq!(node.state("a"), "stopped");
    node.restart();
    node.wait_running("c");
    assert_eq!(
        (node.state("a"), node.entry("a")["desired"].clone()),
        ("stopped".to_owned(), json!("stopped"))
    );
    assert_eq!(
        node.entry("a")["last_stop"]["outcome"],
        "exited",
        "how it ended is still known"
    );
    node.configure(&[
        Entry::new("a").key("config", json!(1)),
        Entry::new("b"),
        Entry::new("c"),
    ]);
    reload(&node);
    node.wait_running("a");
    node.stop("a");
    assert_eq!(node.verb("a", "start").0, 200);
    node.restart();
    node.wait_running("a");
}

/// SUP-28
#[test]
fn changed_declaration_gives_a_failed_entry_another_chance() {
    let node = Node::with(&[Entry::new("a").fault("exit-at-once=1").no_retry()]);
    node.wait_state("a", "failed", BOUND);
    reload(&node);
    assert_eq!(
        node.state("a"),
        "failed",
        "an unchanged one waits for a person"
    );
    node.configure(&[Entry::new("a").no_retry()]);
    reload(&node);
    node.wait_running("a");
}

/// SUP-02
#[test]
fn replacement_by_a_reload_waits_for_the_whole_old_family() {
    let node = Node::with(&[Entry::new("a").fault("fork-holder")]);
    node.wait_running("a");
    node.wait_event("a", "fault", BOUND);
    node.configure(&[Entry::new("a")]);
    reload(&node);
    wait_until("it is replaced", BOUND, || {
        node.trace().of("a", "exec").len() == 2
    });
    let trace = node.trace();
    let waited = trace.of("a", "exec")[1].t - trace.only("a", "exit");
    assert!(waited >= 1_970_000_000, "{} ms", waited / 1_000_000);
    assert!(
        !node
            .processes()
            .iter()
            .any(|process| process.command.contains("holder"))
    );
}

/// SUP-39
#[test]
fn entries_of_the_file_are_changed_in_the_file() {
    let node = Node::with(&[Entry::new("a")]);
    assert_eq!(node.entry("a")["source"], "file");
}
