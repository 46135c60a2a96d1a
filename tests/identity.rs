//! What a plugin is told about itself, and what it gets from the node besides: nothing.

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

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::{Entry, Node, Options, process, wait_until};

fn environment(node: &Node, entry: &str) -> BTreeMap<String, String> {
    serde_json::from_value(node.result(entry, entry, "env", &json!({}))).unwrap()
}

/// SUP-14
#[test]
fn instance_is_a_new_uuid_of_generation_1_for_each_launch() {
    let mut node = Node::with(&[Entry::new("a")
        .provides("a")
        .key("config", json!({ "deep": [1, null, "ü"] }))]);
    let mut seen: Vec<Value> = Vec::new();
    for round in 0..3 {
        let status = node.wait_running("a");
        let told = node.result("a", "a", "identity", &json!({}));
        assert_eq!(
            (&told["id"], &told["generation"]),
            (&status["instance"]["id"], &json!(1)),
            "{told:#}"
        );
        assert_eq!(
            (&told["launch"], &told["pid"]),
            (&status["launch"], &status["pid"])
        );
        let id = told["id"].as_str().unwrap();
        assert!(
            id.len() == 36 && id.bytes().filter(|byte| *byte == b'-').count() == 4,
            "{id} is no UUID"
        );
        let initialize = &told["initialize"];
        assert_eq!(initialize["protocol"], "treewarden.plugin/1");
        assert_eq!(initialize["config"], json!({ "deep": [1, null, "ü"] }));
        assert!(
            initialize["limits"]["frame_bytes"].is_u64() && initialize["limits"]["in_flight"] == 32,
            "{initialize:#}"
        );
        let mark = told["mark"].as_str().unwrap();
        assert!(mark.ends_with(&format!("/a/{}", told["launch"])), "{mark}");
        assert!(
            seen.iter()
                .all(|earlier: &Value| earlier["id"] != told["id"])
        );
        let greatest = seen
            .iter()
            .filter_map(|earlier| earlier["launch"].as_u64())
            .max();
        assert!(told["launch"].as_u64() > greatest, "launch numbers grow");
        seen.push(told);
        match round {
            0 => assert_eq!(node.verb("a", "restart").0, 200),
            _ => node.restart(),
        }
    }
}

/// SUP-30
#[test]
fn environment_is_clean_but_for_what_the_entry_names() {
    let secret = (
        "TW_TEST_SECRET".to_owned(),
        "from the node's own environment".to_owned(),
    );
    let options = Options {
        environment: vec![secret],
        ..Options::default()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "from-a-file\n").unwrap();
    let named = json!({ "COLOUR": "blue", "KEY": { "file": file.path() } });
    let node = Node::with_options(&[Entry::new("a").provides("a").key("env", named)], options);
    let status = node.wait_running("a");
    let got = environment(&node, "a");
    assert_eq!(got["COLOUR"], "blue");
    assert_eq!(got["KEY"], "from-a-file");
    assert_eq!(
        got["PATH"],
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    );
    let stray: Vec<_> = got
        .keys()
        .filter(|name| !matches!(name.as_str(), "COLOUR" | "KEY" | "PATH"))
        .collect();
    assert!(
        stray.iter().all(|name| name.starts_with("TREEWARDEN_")),
        "{stray:?}"
    );
    let everything = format!("{status} {} {}", node.actors(), node.log_lines().join("\n"));
    for value in ["blue", "from-a-file"] {
        assert!(
            !everything.contains(value),
            "values of variables are never shown: {value}"
        );
    }
    // Read at each launch.
    std::fs::write(file.path(), "changed\n").unwrap();
    assert_eq!(node.verb("a", "restart").0, 200);
    assert_eq!(environment(&node, "a")["KEY"], "changed");
}

/// SUP-30
#[test]
fn only_the_three_standard_descriptors_are_inherited() {
    let node = Node::with(&[Entry::new("other"), Entry::new("a").provides("a")]);
    node.wait_running("a");
    let open: BTreeMap<u32, String> =
        serde_json::from_value(node.result("a", "a", "fds", &json!({}))).unwrap();
    for (number, target) in &open {
        match number {
            0..=2 => assert!(
                target.starts_with("pipe:") || target.starts_with("socket:"),
                "{number} is {target}"
            ),
            // The plugin's own: its trace, and the listing itself.
            _ => assert!(
                target.ends_with("trace.jsonl") || target.contains("/fd"),
                "{number} is {target}"
            ),
        }
    }
    assert!(open.contains_key(&0) && open.contains_key(&1) && open.contains_key(&2));
}

/// SUP-30
#[test]
fn working_directory_is_its_own_and_is_kept() {
    let node = Node::with(&[Entry::new("a").provides("a"), Entry::new("b").provides("b")]);
    for name in ["a", "b"] {
        node.wait_running(name);
        let directory = node.result(name, name, "cwd", &json!({}));
        assert_eq!(directory, json!(node.data().join("work").join(name)));
    }
    let note = node.data().join("work/a/note");
    std::fs::write(&note, "keep me").unwrap();
    assert_eq!(node.verb("a", "restart").0, 200);
    assert_eq!(std::fs::read_to_string(note).unwrap(), "keep me");
}

/// SUP-30
#[test]
fn signals_and_limits_are_those_of_a_fresh_process() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    let status = node.wait_running("a");
    let shown = node.result("a", "a", "proc", &json!({ "file": "limits" }));
    let at_exec = shown["status_at_exec"].as_str().unwrap();
    let field = |name: &str| {
        at_exec
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    for mask in ["SigBlk:", "SigIgn:"] {
        // Rust's own start ignores SIGPIPE (bit 12) before the plugin looks.
        let bits = u64::from_str_radix(&field(mask), 16).unwrap() & !(1 << 12);
        assert_eq!(bits, 0, "{mask} {}", field(mask));
    }
    let files = |limits: &str| {
        limits
            .lines()
            .find(|line| line.starts_with("Max open files"))
            .map(str::to_owned)
    };
    let own = std::fs::read_to_string("/proc/self/limits").unwrap();
    assert_eq!(
        files(shown["now"].as_str().unwrap()),
        files(&own),
        "the descriptor limit is the one the node was started with"
    );
    let pid = u32::try_from(status["pid"].as_u64().unwrap()).unwrap();
    let group = |pid: u32| process::Process::read(pid).unwrap().group;
    assert_ne!(
        group(pid),
        group(node.pid()),
        "a terminal's interrupt does not reach it"
    );
    assert_eq!(status["isolation"], "none");
}

/// SUP-30
#[test]
fn limit_of_open_files_is_enforced() {
    let node = Node::with(&[Entry::new("a")
        .provides("a")
        .key("limits", json!({ "open_files": 77 }))]);
    node.wait_running("a");
    let shown = node.result("a", "a", "proc", &json!({ "file": "limits" }));
    let line = shown["now"]
        .as_str()
        .unwrap()
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap()
        .to_owned();
    assert_eq!(line.split_whitespace().nth(3), Some("77"), "{line}");
}

/// SUP-16
#[test]
fn answer_of_an_older_launch_counts_for_nothing() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    let before = node.wait_running("a");
    std::thread::scope(|scope| {
        let call = scope.spawn(|| node.call("a", "a", "sleep", &json!({ "ms": 1500 })));
        node.wait_event("a", "call", Duration::from_secs(5));
        process::kill9(node.pid_of("a"));
        let (status, body) = call.join().unwrap();
        assert_eq!(
            (status, &body["code"]),
            (502, &json!("connection_lost")),
            "not retried with the next launch: {body:#}"
        );
    });
    wait_until("it is replaced", Duration::from_secs(10), || {
        let status = node.entry("a");
        status["state"] == "running" && status["launch"] != before["launch"]
    });
    assert_eq!(node.trace().of("a", "call").len(), 1);
}
