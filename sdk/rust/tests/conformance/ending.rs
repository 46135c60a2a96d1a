//! `shutdown`, the end of stdin, and finalizers.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::driver::{Target, error_of};

crate::cases! {
    shutdown_answers_after_the_finalizers
    failed_finalizer_is_named_and_the_others_run
    panicked_finalizer_is_named_and_the_others_run
    finalizer_calls_a_service_that_still_answers
    end_of_stdin_is_shutdown
    end_of_stdin_without_initialize_is_a_clean_exit
    end_of_stdin_ends_calls_of_the_plugin
    call_in_flight_ends_before_the_finalizers_run
    call_that_does_not_end_is_told_and_keeps_no_finalizer_from_running
    nothing_new_begins_after_shutdown
    half_a_line_at_the_end_is_a_dead_host
}

struct Trace(TempDir);

impl Trace {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trace")
    }

    fn environment<'a>(&self, path: &'a str, finalizer: &'a str) -> [(&'a str, &'a str); 2] {
        [
            ("CONFORMANCE_TRACE", path),
            ("CONFORMANCE_FINALIZER", finalizer),
        ]
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path())
            .unwrap_or_default()
            .lines()
            .map(ToOwned::to_owned)
            .collect()
    }
}

fn start(target: &Target, trace: &Trace, finalizer: &str) -> crate::driver::Driver {
    let path = trace.path();
    target.start_with(&trace.environment(path.to_str().unwrap(), finalizer))
}

/// SUP-06
fn shutdown_answers_after_the_finalizers(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "").ready();
    let answer = plugin.ask("shutdown", json!({"timeout_ms": 5000}));
    assert_eq!(answer.get("result"), Some(&json!(null)));
    assert_eq!(
        trace.lines(),
        ["second", "first"],
        "the last registered runs first, and all before the answer"
    );
    let (status, _) = plugin.end();
    assert_eq!(status.code(), Some(0));
    assert_eq!(trace.lines().len(), 2, "each runs once");
}

fn failed_finalizer_is_named_and_the_others_run(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "second:fail").ready();
    let (kind, message) = error_of(&plugin.ask("shutdown", json!({"timeout_ms": 5000})));
    assert_eq!(kind, "application");
    assert!(
        message.contains("second") && message.contains("on purpose"),
        "{message}"
    );
    assert_eq!(trace.lines(), ["second", "first"]);
    assert_eq!(plugin.end().0.code(), Some(0), "the host was told");
}

fn panicked_finalizer_is_named_and_the_others_run(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "second:panic").ready();
    let answer = plugin.ask("shutdown", json!({"timeout_ms": 5000}));
    assert_eq!(answer["error"]["data"]["finalizers"], json!(["second"]));
    assert_eq!(trace.lines(), ["second", "first"]);
}

/// SUP-04, SUP-06
fn finalizer_calls_a_service_that_still_answers(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "second:call").ready();
    let id = plugin.request("shutdown", json!({"timeout_ms": 5000}));
    let request = plugin.incoming("service.call");
    plugin.respond(&request, json!("noted"));
    assert_eq!(plugin.answer(&id)["result"], json!(null));
    assert_eq!(trace.lines(), ["second", "\"noted\"", "first"]);
}

/// SUP-22
fn end_of_stdin_is_shutdown(target: &Target) {
    let trace = Trace::new();
    let plugin = start(target, &trace, "second:call").ready();
    let (status, log) = plugin.end();
    assert_eq!(
        trace.lines(),
        ["second", "first"],
        "its call failed at once, and kept no other from running"
    );
    assert_eq!(
        status.code(),
        Some(1),
        "nobody was left to tell but the exit code"
    );
    assert!(log.contains("connection to the host is gone"), "{log}");
}

/// SUP-22
fn end_of_stdin_without_initialize_is_a_clean_exit(target: &Target) {
    let trace = Trace::new();
    assert_eq!(start(target, &trace, "").end().0.code(), Some(0));
    assert_eq!(trace.lines(), ["second", "first"]);
}

/// SUP-23
fn end_of_stdin_ends_calls_of_the_plugin(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "").ready();
    let id = plugin.begin(
        "relay",
        json!({"service": "witness", "method": "note", "params": null}),
        20_000,
    );
    plugin.incoming("service.call");
    plugin.close_stdin();
    assert_eq!(error_of(&plugin.answer(&id)).0, "connection");
    assert_eq!(plugin.wait().0.code(), Some(0));
    assert_eq!(trace.lines(), ["second", "first"]);
}

/// SUP-06
fn call_in_flight_ends_before_the_finalizers_run(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "").ready();
    let call = plugin.begin(
        "relay",
        json!({"service": "witness", "method": "note", "params": null}),
        20_000,
    );
    let request = plugin.incoming("service.call");
    let shutdown = plugin.request("shutdown", json!({"timeout_ms": 20_000}));
    // Answered in order on the reading side: what comes after has seen the shutdown.
    assert_eq!(plugin.ask("no.such", json!({}))["error"]["code"], -32601);
    assert!(trace.lines().is_empty());
    plugin.respond(&request, json!("noted"));
    assert_eq!(plugin.answer(&call)["result"], "noted");
    assert_eq!(plugin.answer(&shutdown)["result"], json!(null));
    assert_eq!(trace.lines(), ["second", "first"]);
}

/// SUP-06
fn call_that_does_not_end_is_told_and_keeps_no_finalizer_from_running(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "").ready();
    let told = plugin.begin("until_cancelled", json!(null), 120_000);
    let held = plugin.begin("hold", json!(null), 20_000);
    let shutdown = plugin.request("shutdown", json!({"timeout_ms": 400}));
    assert_eq!(plugin.answer(&told)["result"], "cancelled");
    assert_eq!(plugin.answer(&shutdown)["result"], json!(null));
    assert_eq!(trace.lines(), ["second", "first"]);
    let (status, _) = plugin.end();
    assert_eq!(
        status.code(),
        Some(0),
        "call {held} does not hold up the exit"
    );
}

/// SUP-06
fn nothing_new_begins_after_shutdown(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.ask("shutdown", json!({"timeout_ms": 5000}));
    assert_eq!(plugin.call_error("ping", json!(null)).0, "unavailable");
    assert_eq!(
        error_of(&plugin.ask("shutdown", json!({"timeout_ms": 5000}))).0,
        "invalid"
    );
    assert_eq!(plugin.end().0.code(), Some(0));
}

/// SUP-22
fn half_a_line_at_the_end_is_a_dead_host(target: &Target) {
    let trace = Trace::new();
    let mut plugin = start(target, &trace, "").ready();
    plugin.raw(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"meth");
    assert_eq!(plugin.end().0.code(), Some(0));
    assert_eq!(trace.lines(), ["second", "first"]);
}
