//! The shipped examples, used as a newcomer would: look, call, kill, crash, stop, and read how each ended.

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

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::{Node, Options, binaries, process, wait_until};

const BOUND: Duration = Duration::from_secs(20);

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn lines_in_ledger(node: &Node) -> u64 {
    node.result("ledger", "ledger", "count", &json!({}))["count"]
        .as_u64()
        .unwrap()
}

/// SUP-03 SUP-04 SUP-11 SUP-17
#[test]
fn first_hour_with_the_examples() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let ledger = binaries::built("treewarden-ledger");
    let config = std::fs::read_to_string(examples.join("treewarden.yaml")).unwrap();
    let config = config.replace(
        "../target/release/treewarden-ledger",
        ledger.to_str().unwrap(),
    );
    let config = config.replace(
        "./writer/writer.py",
        examples.join("writer/writer.py").to_str().unwrap(),
    );
    let mut node = Node::start(&config, Options::default());
    node.wait_running("writer");

    let status = text(&node.cli(&["status"]));
    assert!(
        status.contains("ledger") && status.contains("writer") && status.contains("running"),
        "{status}"
    );
    let tree = text(&node.cli(&["tree"]));
    assert!(
        tree.contains("entry:ledger") && tree.contains(&node.pid_of("writer").to_string()),
        "{tree}"
    );

    let appended = text(&node.cli(&[
        "entry",
        "call",
        "ledger",
        "ledger",
        "append",
        r#"{"text":"hello"}"#,
    ]));
    let index = serde_json::from_str::<Value>(&appended).unwrap()["index"]
        .as_u64()
        .unwrap();
    node.result(
        "writer",
        "writer",
        "write",
        &json!({ "text": "through the writer" }),
    );
    assert!(lines_in_ledger(&node) > index);

    let before = node.entry("ledger")["launch"].clone();
    process::kill9(node.pid_of("ledger"));
    wait_until("it is seen replaced", BOUND, || {
        let now = node.entry("ledger");
        now["state"] == "running" && now["launch"] != before
    });
    node.wait_running("writer");
    let kept = lines_in_ledger(&node);
    assert!(kept > index, "a replacement goes on with what was written");

    node.kill9();
    node.start_again();
    node.wait_running("writer");
    assert!(lines_in_ledger(&node) >= kept);

    let told = text(&node.cli(&["entry", "stop", "ledger"]));
    assert!(
        told.contains("exited") && told.contains("evidence "),
        "{told}"
    );
    let writer = node.entry("writer");
    assert_eq!(
        (&writer["state"], &writer["last_stop"]["outcome"]),
        (&json!("waiting"), &json!("exited")),
        "{writer:#}"
    );
    assert_eq!(
        writer["last_stop"]["cleanup_error"],
        Value::Null,
        "its last line was still written: {writer:#}"
    );
    let status = text(&node.cli(&["status"]));
    assert!(
        status.contains("stopped") && status.contains("exited"),
        "{status}"
    );
    assert_eq!(node.terminate(), 0);
}
