//! Calls into services over HTTP and the command line: results, errors, time limits, bounds.

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
use treewarden_kit::{Entry, Node, Stopwatch, wait_until};

const BOUND: Duration = Duration::from_secs(10);

fn echo_node() -> Node {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    node
}

fn timed(node: &Node, method: &str, params: &Value, timeout: &str) -> (u16, Value) {
    let body = json!({ "service": "a", "method": method, "params": params, "timeout": timeout });
    node.post("/api/console/entries/a/call", &body)
}

#[test]
fn results_come_back_as_they_are() {
    let node = echo_node();
    for value in [
        json!(null),
        json!(0.1),
        json!("line\nfeed \u{2028} \u{0} ü 🙂"),
        json!({ "a": [1, [2, {}]] }),
        json!(9_007_199_254_740_991_u64),
    ] {
        assert_eq!(node.result("a", "a", "echo", &value), value);
    }
    assert_eq!(node.result("a", "a", "ping", &Value::Null), "pong");
}

#[test]
fn parameters_may_be_left_out() {
    let node = echo_node();
    let (status, body) = node.post(
        "/api/console/entries/a/call",
        &json!({ "service": "a", "method": "ping" }),
    );
    assert_eq!((status, body), (200, json!({ "result": "pong" })));
}

#[test]
fn plugins_own_errors_are_told_apart() {
    let node = echo_node();
    let (status, body) = node.call("a", "a", "fail", &json!({ "kind": "application" }));
    assert_eq!(
        (status, &body["code"]),
        (422, &json!("plugin_error")),
        "{body:#}"
    );
    assert!(
        body.to_string().contains("failed as asked"),
        "the plugin's message is told: {body:#}"
    );
    for kind in [
        "invalid",
        "denied",
        "capacity",
        "deadline",
        "unavailable",
        "connection",
        "stale_generation",
        "of-the-future",
    ] {
        let (status, body) = node.call("a", "a", "fail", &json!({ "kind": kind }));
        assert_eq!(
            (status, &body["code"]),
            (422, &json!("plugin_error")),
            "said by the plugin, {kind}: {body:#}"
        );
    }
    let (status, body) = node.call("a", "a", "no-such-method", &json!({}));
    assert!((400..500).contains(&status), "{status} {body:#}");
}

#[test]
fn calls_to_what_does_not_run_are_unavailable() {
    let node = Node::with(&[
        Entry::new("a").provides("a"),
        Entry::new("b")
            .fault("exit-at-once=1")
            .provides("b")
            .no_retry(),
    ]);
    node.wait_running("a");
    node.stop("a");
    node.wait_state("b", "failed", BOUND);
    for name in ["a", "b"] {
        let (status, body) = node.call(name, name, "ping", &json!({}));
        assert_eq!(
            (status, &body["code"]),
            (503, &json!("service_unavailable")),
            "{body:#}"
        );
    }
    let (status, body) = node.call("zzz", "a", "ping", &json!({}));
    assert_eq!(
        (status, &body["code"]),
        (404, &json!("entry_not_found")),
        "{body:#}"
    );
}

#[test]
fn service_that_the_entry_does_not_provide_is_refused() {
    let node = echo_node();
    let (status, body) = node.call("a", "other", "ping", &json!({}));
    assert!(
        (400..500).contains(&status) || body["code"] == "service_unavailable",
        "{status} {body:#}"
    );
    assert_eq!(node.trace().of("a", "call").len(), 0);
}

#[test]
fn call_past_its_time_is_answered_and_cancelled() {
    let node = echo_node();
    let watch = Stopwatch::start();
    let (status, body) = timed(&node, "sleep", &json!({ "ms": 30_000 }), "300 millis");
    let took = watch.elapsed();
    assert_eq!(
        (status, &body["code"]),
        (504, &json!("deadline_exceeded")),
        "{body:#}"
    );
    assert!(
        took >= Duration::from_millis(300) && took < Duration::from_millis(900),
        "{took:?}"
    );
    let cancelled = node.wait_event("a", "cancel", BOUND);
    assert_eq!(
        cancelled.detail["id"],
        node.trace().of("a", "call")[0].detail["id"]
    );
    assert_eq!(node.result("a", "a", "echo", &json!("next")), "next");
    assert_eq!(node.trace().of("a", "exec").len(), 1);
}

/// SUP-27
#[test]
fn nonsense_for_a_timeout_is_refused() {
    let node = echo_node();
    for timeout in [
        "",
        "5",
        "-1 seconds",
        "0 seconds",
        "infinity",
        "soon",
        "99999999999999999999 hours",
    ] {
        let (status, body) = timed(&node, "ping", &json!({}), timeout);
        assert_eq!(
            (status, &body["code"]),
            (422, &json!("invalid_request")),
            "{timeout:?}: {body:#}"
        );
        assert!(body.to_string().contains("timeout"), "{body:#}");
    }
    assert_eq!(timed(&node, "ping", &json!({}), "2m").0, 200);
}

/// A waiter that goes away cancels its call only.
#[test]
fn caller_that_hangs_up_leaves_the_plugin_alone() {
    use std::io::Write as _;
    let node = echo_node();
    let address = node.url().strip_prefix("http://").unwrap().to_owned();
    let body = r#"{"service":"a","method":"sleep","params":{"ms":400}}"#;
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /api/console/entries/a/call HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        node.token(),
        body.len()
    )
    .unwrap();
    node.wait_event("a", "call", BOUND);
    drop(stream);
    for number in 0..20 {
        assert_eq!(node.result("a", "a", "echo", &json!(number)), number);
    }
    assert_eq!(node.trace().of("a", "exec").len(), 1);
}

#[test]
fn thirty_two_calls_are_open_at_a_time_and_others_wait() {
    let node = echo_node();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..48)
            .map(|_| scope.spawn(|| node.call("a", "a", "sleep", &json!({ "ms": 1500 }))))
            .collect();
        wait_until("32 are open", BOUND, || {
            node.trace().of("a", "call").len() == 32
        });
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(
            node.trace().of("a", "call").len(),
            32,
            "no more before one is answered"
        );
        for one in all {
            let (status, body) = one.join().unwrap();
            assert_eq!(status, 200, "{body:#}");
        }
    });
    assert_eq!(node.trace().of("a", "call").len(), 48);
}

#[test]
fn callers_beyond_the_bound_are_told_so() {
    let node = echo_node();
    let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let long = || timed(&node, "sleep", &json!({ "ms": 5000 }), "40 seconds");
        let holding: Vec<_> = (0..32).map(|_| scope.spawn(long)).collect();
        wait_until("32 are open", BOUND, || {
            node.trace().of("a", "call").len() == 32
        });
        let short = || timed(&node, "ping", &json!({}), "40 seconds");
        let waiting: Vec<_> = (0..320).map(|_| scope.spawn(short)).collect();
        for one in holding {
            assert_eq!(one.join().unwrap().0, 200);
        }
        waiting.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|(status, _)| *status == 200);
    assert!(
        served.len() >= 200 && !refused.is_empty(),
        "{} served, {} refused",
        served.len(),
        refused.len()
    );
    for (status, body) in refused {
        assert_eq!(
            (*status, &body["code"]),
            (429, &json!("capacity_exhausted")),
            "{body:#}"
        );
        assert!(!body["limit"].is_null(), "it names the limit: {body:#}");
    }
    assert_eq!(
        node.result("a", "a", "ping", &json!({})),
        "pong",
        "room again"
    );
}

#[test]
fn concurrent_calls_get_each_their_own_answer() {
    let node = echo_node();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let node = &node;
            scope.spawn(move || {
                for round in 0..100 {
                    let value = json!({ "worker": worker, "round": round });
                    let method = if round % 10 == 0 { "sleep" } else { "echo" };
                    if method == "sleep" {
                        assert_eq!(
                            node.result("a", "a", "sleep", &json!({ "ms": round }))["slept_ms"],
                            round
                        );
                    } else {
                        assert_eq!(node.result("a", "a", "echo", &value), value);
                    }
                }
            });
        }
    });
}

/// SUP-31
#[test]
fn answers_up_to_the_line_limit_pass_and_larger_ones_end_the_instance() {
    let node = echo_node();
    let large = node.result("a", "a", "blob", &json!({ "bytes": 1_000_000 }));
    assert_eq!(large.as_str().unwrap().len(), 1_000_000);
    let (status, body) = node.call("a", "a", "blob", &json!({ "bytes": 1_100_000 }));
    assert_eq!(
        (status, &body["code"]),
        (502, &json!("connection_lost")),
        "{body:#}"
    );
    wait_until("it is replaced", BOUND, || {
        node.trace().of("a", "exec").len() == 2
    });
    let ended = node.wait_running("a");
    assert!(
        format!("{} {}", ended["last_error"], ended["last_stop"])
            .to_lowercase()
            .contains("line"),
        "{ended:#}"
    );
}

#[test]
fn parameters_too_large_for_a_line_are_refused_before_they_are_sent() {
    let node = echo_node();
    let (status, body) = node.call("a", "a", "echo", &json!("x".repeat(1_100_000)));
    assert!(matches!(status, 413 | 422), "{status} {body:#}");
    assert_eq!(node.trace().of("a", "call").len(), 0);
    assert_eq!(node.result("a", "a", "ping", &json!({})), "pong");
}

#[test]
fn command_line_calls_and_shows() {
    let node = echo_node();
    let text = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let called = node.cli(&["entry", "call", "a", "a", "echo", r#"{"x":[1,2]}"#]);
    assert_eq!(called.status.code(), Some(0), "{called:?}");
    assert_eq!(
        serde_json::from_str::<Value>(&text(&called)).unwrap(),
        json!({ "x": [1, 2] })
    );
    let failed = node.cli(&["entry", "call", "a", "a", "fail"]);
    assert_eq!(
        (failed.status.code(), text(&failed).as_str()),
        (Some(1), "")
    );
    assert!(
        String::from_utf8_lossy(&failed.stderr).contains("failed as asked"),
        "{failed:?}"
    );
    let listed = node.cli(&["entry", "ls", "-o", "json"]);
    let rows: Value =
        serde_json::from_str(&text(&listed)).unwrap_or_else(|error| panic!("{error}: {listed:?}"));
    assert!(rows.to_string().contains("\"running\""), "{rows:#}");
    let table = node.cli(&["entry", "ls"]);
    assert!(
        text(&table).contains("running") && text(&table).contains('a'),
        "{table:?}"
    );
    let lines = node.cli(&["entry", "ls", "-o", "jsonl"]);
    assert_eq!(text(&lines).lines().count(), 1, "{lines:?}");
    let shown = node.cli(&["entry", "show", "a", "-o", "json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&text(&shown)).unwrap()["name"],
        "a"
    );
    let stopped = node.cli(&["entry", "stop", "a", "-o", "json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&text(&stopped)).unwrap()["outcome"],
        "exited",
        "{stopped:?}"
    );
    assert_eq!(node.cli(&["entry", "start", "a"]).status.code(), Some(0));
    node.wait_running("a");
    assert_eq!(node.cli(&["entry", "restart", "a"]).status.code(), Some(0));
    assert_eq!(node.cli(&["status"]).status.code(), Some(0));
    let absent = node.cli(&["entry", "show", "zzz"]);
    assert_eq!(
        (absent.status.code(), text(&absent).as_str()),
        (Some(1), "")
    );
    assert!(
        String::from_utf8_lossy(&absent.stderr).contains("zzz"),
        "{absent:?}"
    );
}
