//! The HTTP edge and the command line against a real node: what a stand-in can't show.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::process::{self, Signal};
use treewarden_kit::{Entry, Node, Stopwatch, groups, wait_until};

const BOUND: Duration = Duration::from_secs(10);

fn connect(node: &Node) -> TcpStream {
    let stream = TcpStream::connect(node.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn slow_clients_hold_up_nobody() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    let head = "POST /api/console/entries/a/call HTTP/1.1\r\nhost: localhost\r\n";
    let slow: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = connect(&node);
            stream
                .write_all(&head.as_bytes()[..number % head.len()])
                .unwrap();
            stream
        })
        .collect();
    let watch = Stopwatch::start();
    for number in 0..50 {
        assert_eq!(node.result("a", "a", "echo", &json!(number)), number);
    }
    assert!(
        watch.elapsed() < Duration::from_secs(5),
        "{:?}",
        watch.elapsed()
    );
    let used = |name: &str| {
        let (_, node) = node.get("/api/console/node");
        let limits = node["limits"].as_array().unwrap();
        limits.iter().find(|limit| limit["name"] == name).unwrap()["used"]
            .as_u64()
            .unwrap()
    };
    assert!(used("http_connections") > 200);
    drop(slow);
    wait_until("their places are free", BOUND, || {
        used("http_connections") < 10
    });
}

/// SUP-34
#[test]
fn stop_goes_on_without_the_caller_who_hung_up() {
    let node = Node::with(&[Entry::new("a").fault("finalizer-ms=700")]);
    node.wait_running("a");
    let mut stream = connect(&node);
    let token = node.token();
    write!(stream, "POST /api/console/entries/a/stop HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\n\r\n").unwrap();
    node.wait_event("a", "finalizer", BOUND);
    drop(stream);
    let stopped = node.wait_state("a", "stopped", BOUND);
    assert_eq!(stopped["last_stop"]["outcome"], "exited", "{stopped:#}");
    assert_eq!(stopped["last_stop"]["cause"], "requested");
    assert!(stopped["last_stop"]["duration_ms"].as_u64().unwrap() >= 700);
    assert_eq!(stopped["desired"], "stopped");
}

#[test]
fn draining_node_says_so_finishes_what_it_admitted_and_refuses_the_rest() {
    let mut node = Node::with(&[Entry::new("a").provides("a").fault("finalizer-ms=1500")]);
    node.wait_running("a");
    assert_eq!(node.get_open("/readyz").0, 200);
    process::signal(node.pid(), Signal::TERM);
    node.wait_event("a", "finalizer", BOUND);
    let (status, body) = node.get_open("/readyz");
    assert_eq!(
        (status, &body["code"]),
        (503, &json!("shutting_down")),
        "{body:#}"
    );
    assert_eq!(node.get_open("/livez").0, 200);
    let (status, body) = node.verb("a", "start");
    assert_eq!(
        (status, &body["code"]),
        (503, &json!("shutting_down")),
        "{body:#}"
    );
    assert_eq!(node.get("/api/console/entries/a").0, 200, "reading goes on");
    assert_eq!(node.wait_exit(Duration::from_secs(20)).code(), Some(0));
}

#[test]
fn idle_connections_do_not_hold_up_the_end() {
    let mut node = Node::with(&[]);
    let mut idle = connect(&node);
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut first = [0];
    idle.read_exact(&mut first).unwrap();
    let mut half = connect(&node);
    half.write_all(b"GET /livez HT").unwrap();
    let watch = Stopwatch::start();
    assert_eq!(node.terminate(), 0);
    assert!(
        watch.elapsed() < Duration::from_secs(5),
        "{:?}",
        watch.elapsed()
    );
}

#[test]
fn token_is_in_no_log_and_no_answer() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    let token = node.token();
    for path in [
        "/api/console/node",
        "/api/console/entries",
        "/debug/actors",
        "/debug/actors?format=text",
        "/nothing",
    ] {
        let (_, body) = node.get(path);
        assert!(!body.to_string().contains(&token), "{path}");
    }
    assert!(!node.log_lines().join("\n").contains(&token));
}

#[test]
fn node_tells_about_itself() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    let (status, body) = node.get("/api/console/node");
    assert_eq!(status, 200);
    assert!(
        body["version"].is_string() && body["uptime_ms"].is_u64(),
        "{body:#}"
    );
    assert_eq!(
        (&body["ready"], &body["entries"]),
        (&json!(true), &json!({ "running": 1 }))
    );
    assert!(
        body["warnings"].to_string().contains("isolation"),
        "{body:#}"
    );
}

#[test]
fn status_fits_on_a_screen_and_shows_trouble() {
    let node = Node::with(&[
        Entry::new("fine").provides("fine"),
        Entry::new("broken").fault("exit-at-once=3").no_retry(),
    ]);
    node.wait_running("fine");
    node.wait_state("broken", "failed", BOUND);
    let output = node.cli(&["status"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for word in [
        "fine",
        "running",
        "broken: failed",
        "exit code 3",
        "cause crashed",
        "hint",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    let whole: Value = serde_json::from_str(&stdout(&node.cli(&["status", "-o", "json"]))).unwrap();
    assert_eq!(
        (
            whole["entries"].as_array().unwrap().len(),
            whole["node"]["version"].is_string()
        ),
        (2, true)
    );
}

#[test]
fn verbs_of_the_command_line_say_how_it_ended() {
    let node = Node::with(&[
        Entry::new("ledger").provides("ledger"),
        Entry::new("writer"),
        Entry::new("writer-eu"),
    ]);
    node.wait_running("ledger");
    let stopped = node.cli(&["entry", "stop", "led"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", stderr(&stopped));
    let text = stdout(&stopped);
    assert!(
        text.starts_with("ledger: exited (exit code 0) in ")
            && text.ends_with(&format!(" ms, evidence {}\n", groups::best_evidence())),
        "{text}"
    );
    assert_eq!(
        stdout(&node.cli(&["entry", "stop", "ledger"])),
        "ledger: nothing ran\n"
    );
    let started = node.cli(&["entry", "start", "ledger"]);
    assert!(
        stdout(&started).starts_with("ledger: running (launch 2, pid "),
        "{}",
        stdout(&started)
    );
    let restarted = node.cli(&["entry", "restart", "ledger"]);
    assert!(
        stdout(&restarted).ends_with("ledger: started\n"),
        "{}",
        stdout(&restarted)
    );
    // A plugin that sees its stdin close may be quicker than the signal.
    let killed = stdout(&node.cli(&["entry", "kill", "ledger"]));
    let outcomes = [
        "ledger: killed (signal 9, SIGKILL) in ",
        "ledger: exited (exit code 0) in ",
    ];
    assert!(
        outcomes.iter().any(|outcome| killed.starts_with(outcome)),
        "{killed}"
    );
    let reset = node.cli(&["entry", "reset", "ledger"]);
    assert_eq!(reset.status.code(), Some(0), "{}", stderr(&reset));
    let ambiguous = node.cli(&["entry", "stop", "wri"]);
    assert_eq!(
        (ambiguous.status.code(), stdout(&ambiguous)),
        (Some(1), String::new())
    );
    assert!(
        stderr(&ambiguous).contains("writer, writer-eu"),
        "{}",
        stderr(&ambiguous)
    );
    assert_eq!(node.state("writer"), "running", "nothing was done");
}

#[test]
fn reload_of_the_command_line_tells_what_changed() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    node.configure(&[Entry::new("a"), Entry::new("b")]);
    assert_eq!(
        stdout(&node.cli(&["reload"])),
        "started    b\nunchanged  a\n"
    );
    node.configure_text("entries: { a: { colour: red } }");
    let refused = node.cli(&["reload"]);
    assert_eq!(
        (refused.status.code(), stdout(&refused)),
        (Some(1), String::new())
    );
    assert!(
        stderr(&refused).contains("colour") && stderr(&refused).contains("config_invalid"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn results_are_written_as_the_plugin_wrote_them() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    let called = node.cli(&[
        "entry",
        "call",
        "a",
        "a",
        "sleep",
        r#"{"ms":5000}"#,
        "--timeout",
        "200 millis",
    ]);
    assert_eq!(called.status.code(), Some(1));
    assert!(
        stderr(&called).contains("deadline_exceeded"),
        "{}",
        stderr(&called)
    );
    let indented = node.cli(&[
        "entry",
        "call",
        "a",
        "a",
        "echo",
        "{\n  \"x\": [1]\n}",
        "-o",
        "json",
    ]);
    assert_eq!(
        stdout(&indented),
        "{\n  \"x\": [\n    1\n  ]\n}\n",
        "{}",
        stderr(&indented)
    );
}

#[test]
fn wrong_token_is_told_apart_from_an_absent_node() {
    let node = Node::with(&[]);
    std::fs::write(node.directory().join("wrong"), "tw_wrong").unwrap();
    let mut command = std::process::Command::new(treewarden_kit::binaries::treewarden());
    command
        .args(["status", "--url", node.url(), "--token-file"])
        .arg(node.directory().join("wrong"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("not_authenticated") && stderr(&output).contains("--token-file"),
        "{}",
        stderr(&output)
    );
}
