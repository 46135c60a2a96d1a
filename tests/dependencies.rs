//! Dependencies between entries: order of start and stop, failing providers, calls between plugins.

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
use treewarden_kit::trace::Trace;
use treewarden_kit::{Entry, Node, process, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(10);

/// `base` ← `left`, `right` ← `top`.
fn diamond() -> Vec<Entry> {
    vec![
        Entry::new("base").provides("base"),
        Entry::new("left").uses("base").provides("left"),
        Entry::new("right").uses("base").provides("right"),
        Entry::new("top").uses("left").uses("right"),
    ]
}

const ALL: [&str; 4] = ["base", "left", "right", "top"];
const EDGES: [(&str, &str); 4] = [
    ("base", "left"),
    ("base", "right"),
    ("left", "top"),
    ("right", "top"),
];

#[track_caller]
fn all_run(node: &Node) {
    for name in ALL {
        node.wait_running(name);
    }
}

/// The nth event of a kind.
#[track_caller]
fn nth(trace: &Trace, name: &str, event: &str, n: usize) -> i64 {
    trace
        .of(name, event)
        .get(n)
        .unwrap_or_else(|| panic!("{name} has no {event} number {n}: {trace:#?}"))
        .t
}

/// SUP-03
#[test]
fn services_start_before_their_consumers() {
    let node = Node::with(&diamond());
    all_run(&node);
    let trace = node.trace();
    for (provider, consumer) in EDGES {
        assert!(
            trace.only(provider, "initialized") < trace.only(consumer, "exec"),
            "{provider} before {consumer}"
        );
    }
}

/// SUP-04
#[test]
fn stopping_a_provider_stops_its_consumers_first_and_they_return_with_it() {
    let node = Node::with(&diamond());
    all_run(&node);
    assert_eq!(node.stop("base")["outcome"], "exited");
    let trace = node.trace();
    for (provider, consumer) in EDGES {
        assert!(
            trace.only(consumer, "exit") < trace.only(provider, "shutdown"),
            "{consumer} before {provider}"
        );
    }
    for consumer in ["left", "right", "top"] {
        let status = node.entry(consumer);
        assert_eq!(
            (&status["state"], &status["desired"]),
            (&json!("waiting"), &json!("running")),
            "{status:#}"
        );
    }
    let reason = node.entry("left")["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        reason.contains("base"),
        "the reason names what it waits for: {reason:?}"
    );
    assert_eq!(node.verb("base", "start").0, 200);
    all_run(&node);
    let trace = node.trace();
    for (provider, consumer) in EDGES {
        assert!(nth(&trace, provider, "initialized", 1) < nth(&trace, consumer, "exec", 1));
    }
}

/// SUP-04
#[test]
fn service_still_answers_while_its_consumers_stop() {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user")
            .uses("base")
            .fault("finalizer-call=base.ping")
            .fault("finalizer-ms=300"),
    ]);
    node.wait_running("user");
    node.stop("base");
    let event = node.wait_event("user", "finalizer_call", BOUND);
    assert_eq!(event.detail, json!({ "ok": true, "answer": "pong" }));
}

/// SUP-01 SUP-04
#[test]
fn restarting_a_provider_restarts_its_consumers_around_it() {
    let node = Node::with(&diamond());
    all_run(&node);
    let (status, result) = node.verb("base", "restart");
    assert_eq!(status, 200, "{result:#}");
    assert_eq!(
        (&result["outcome"], &result["cause"]),
        (&json!("exited"), &json!("replaced")),
        "{result:#}"
    );
    all_run(&node);
    let trace = node.trace();
    for (provider, consumer) in EDGES {
        assert!(nth(&trace, consumer, "exit", 0) < nth(&trace, provider, "shutdown", 0));
        assert!(nth(&trace, provider, "initialized", 1) < nth(&trace, consumer, "exec", 1));
    }
}

/// SUP-04
#[test]
fn restarting_a_consumer_leaves_its_provider_alone() {
    let node = Node::with(&diamond());
    all_run(&node);
    let base = node.pid_of("base");
    assert_eq!(node.verb("left", "restart").0, 200);
    all_run(&node);
    assert_eq!(node.pid_of("base"), base);
    assert_eq!(node.trace().of("right", "exec").len(), 1);
    assert_eq!(node.trace().of("top", "exec").len(), 2);
}

/// SUP-05
#[test]
fn provider_that_dies_takes_its_consumers_down_and_they_return_with_it() {
    let node = Node::with(&diamond());
    all_run(&node);
    process::kill9(node.pid_of("base"));
    wait_until("all have run again", BOUND, || {
        node.trace().of("top", "initialized").len() == 2
    });
    all_run(&node);
    let trace = node.trace();
    for (provider, consumer) in EDGES {
        assert!(nth(&trace, provider, "initialized", 1) < nth(&trace, consumer, "exec", 1));
    }
    for consumer in ["left", "right", "top"] {
        assert_eq!(
            trace.of(consumer, "finalized").len(),
            1,
            "{consumer} was stopped, not killed"
        );
        assert_eq!(
            node.entry(consumer)["restarts"],
            0,
            "being stopped is no failure of {consumer}"
        );
    }
    let ended = node.entry("base")["last_stop"].clone();
    assert_eq!(
        (&ended["outcome"], &ended["cause"]),
        (&json!("killed"), &json!("external")),
        "{ended:#}"
    );
}

/// SUP-05
#[test]
fn calls_in_flight_fail_when_the_provider_dies() {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user").uses("base").provides("user"),
    ]);
    node.wait_running("user");
    let params = json!({ "service": "base", "method": "sleep", "params": { "ms": 30_000 } });
    std::thread::scope(|scope| {
        let direct = scope.spawn(|| node.call("base", "base", "sleep", &json!({ "ms": 30_000 })));

        let through = scope.spawn(|| node.call("user", "user", "relay", &params));
        wait_until("both calls have arrived", BOUND, || {
            node.trace().of("base", "call").len() == 2
        });
        process::kill9(node.pid_of("base"));
        let (status, body) = direct.join().unwrap();
        assert_eq!(
            (status, &body["code"]),
            (502, &json!("connection_lost")),
            "{body:#}"
        );
        let (status, body) = through.join().unwrap();
        assert!(
            status >= 400,
            "the consumer's call fails too: {status} {body:#}"
        );
    });
}

/// SUP-05
#[test]
fn finalizer_that_calls_a_dead_provider_gets_an_error_and_the_stop_goes_on() {
    let node = Node::with(&[
        Entry::new("base").provides("base").no_retry(),
        Entry::new("user")
            .uses("base")
            .fault("finalizer-call=base.ping"),
    ]);
    node.wait_running("user");
    process::kill9(node.pid_of("base"));
    let event = node.wait_event("user", "finalizer_call", BOUND);
    assert_eq!(event.detail["ok"], false);
    let kind = event.detail["answer"]["data"]["kind"].as_str();
    assert!(
        matches!(kind, Some("connection" | "unavailable")),
        "{:?}",
        event.detail
    );
    node.wait_event("user", "exit", BOUND);
    node.wait_state("base", "failed", BOUND);
    node.wait_state("user", "waiting", BOUND);
}

/// SUP-03
#[test]
fn consumers_of_what_never_starts_wait_and_say_for_what() {
    let node = Node::with(&[
        Entry::new("base")
            .provides("base")
            .fault("exit-at-once=1")
            .no_retry(),
        Entry::new("user").uses("base"),
        Entry::new("other"),
    ]);
    node.wait_running("other");
    node.wait_state("base", "failed", BOUND);
    let status = node.wait_state("user", "waiting", BOUND);
    assert!(
        status["reason"]
            .as_str()
            .unwrap_or_default()
            .contains("base"),
        "{status:#}"
    );
    assert_eq!(node.trace().of("user", "exec").len(), 0);
}

#[test]
fn plugin_calls_another_through_the_node() {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user").uses("base").provides("user"),
    ]);
    node.wait_running("user");
    let relay = |service: &str, method: &str, params: Value| {
        node.call(
            "user",
            "user",
            "relay",
            &json!({ "service": service, "method": method, "params": params }),
        )
    };
    assert_eq!(
        relay("base", "echo", json!([1, { "a": "ü" }])),
        (200, json!({ "result": [1, { "a": "ü" }] }))
    );
    let (status, body) = relay("base", "fail", json!({ "kind": "application" }));
    assert_eq!(
        (status, &body["code"]),
        (422, &json!("plugin_error")),
        "{body:#}"
    );
    // A service that it does not name among its `uses`, though it is there.
    let (status, body) = relay("user", "ping", json!({}));
    assert!(
        status >= 400 && body.to_string().contains("denied"),
        "{status} {body:#}"
    );
    let (status, body) = relay("nowhere", "ping", json!({}));
    assert!(status >= 400, "{status} {body:#}");
}

/// SUP-04
#[test]
fn consumer_that_ends_by_the_whole_ladder_holds_its_provider_up_until_it_is_gone() {
    let node = Node::with(&[
        Entry::new("base").provides("base"),
        Entry::new("user")
            .uses("base")
            .fault("linger-ms=3600000")
            .fault("ignore-term"),
    ]);
    node.wait_running("user");
    let user = node.pid_of("user");
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| node.stop("base"));
        node.wait_event("user", "sigterm", BOUND);
        assert_eq!(
            node.trace().of("base", "shutdown").len(),
            0,
            "the provider is not asked before its consumer is gone"
        );
        assert!(process::alive(user));
        assert_eq!(stop.join().unwrap()["outcome"], "exited");
    });
    assert!(!process::alive(user));
    assert_eq!(node.entry("user")["last_stop"]["outcome"], "killed");
}

/// SUP-04
#[test]
fn stopped_consumer_stays_stopped_when_its_provider_returns() {
    let node = Node::with(&diamond());
    all_run(&node);
    node.stop("left");
    assert_eq!(node.verb("base", "restart").0, 200);
    node.wait_running("right");
    assert_eq!(node.state("left"), "stopped");
    assert_eq!(node.state("top"), "waiting");
    assert_eq!(node.verb("left", "start").0, 200);
    wait_for("top runs again", BOUND, || {
        (node.state("top") == "running").then_some(())
    });
}
