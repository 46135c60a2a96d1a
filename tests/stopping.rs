//! Stopping: the ladder with its exact times, its causes, and outcomes with evidence.

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

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::process::{self, alive};
use treewarden_kit::{Entry, Node, Stopwatch, boottime, groups, rounds, wait_for, wait_until};

/// How much later than written a step may be on a busy machine.
const SLACK_MS: i64 = 600;

/// Asserts that a span is as long as written: never shorter, and later by the slack at most.
#[track_caller]
fn takes(what: &str, nanoseconds: i64, written_ms: i64) {
    let ms = nanoseconds / 1_000_000;
    // A few milliseconds below are the trace's own: the plugin notes a request later than the node sends it.
    assert!(
        ms >= written_ms - 30 && ms <= written_ms + SLACK_MS,
        "{what} took {ms} ms, not {written_ms}"
    );
}

fn causes(result: &Value) -> Vec<&str> {
    let causes = result["cleanup_error"]["causes"].as_array();
    causes
        .into_iter()
        .flatten()
        .filter_map(|cause| cause["kind"].as_str())
        .collect()
}

fn running(entry: Entry) -> Node {
    let name = entry.name().to_owned();
    let node = Node::with(&[entry]);
    node.wait_running(&name);
    node
}

/// SUP-06 SUP-11 SUP-32
#[test]
fn graceful_stop_runs_finalizers_and_says_how_it_ended() {
    let node = running(Entry::new("a"));
    let status = node.entry("a");
    let result = node.stop("a");
    assert_eq!(result["entry"], "a");
    assert_eq!(result["instance"], status["instance"]);
    assert_eq!(result["launch"], status["launch"]);
    assert_eq!(result["outcome"], "exited");
    assert_eq!(result["cause"], "requested");
    assert_eq!(result["evidence"], groups::best_evidence());
    assert_eq!(result["exit_status"], json!({ "code": 0, "signal": null }));
    assert_eq!(result["cleanup_error"], Value::Null);
    assert!(result["duration_ms"].as_u64().unwrap() < 500, "{result:#}");
    node.trace().only("a", "finalized");
    let status = node.entry("a");
    assert_eq!(
        (&status["state"], &status["desired"]),
        (&json!("stopped"), &json!("stopped"))
    );
    assert_eq!(status["pid"], Value::Null);
    assert_eq!(status["last_stop"]["outcome"], "exited");
    let records = node.wait_logged("Remote execution terminated");
    assert_eq!(records.len(), 1, "one line an end: {records:#?}");
    assert_eq!(records[0]["level"], "INFO");
    assert_eq!(records[0]["remote.termination"], "exited");
    assert!(
        records[0]["remote.instance"]
            .as_str()
            .unwrap()
            .contains(result["instance"]["id"].as_str().unwrap())
    );
    assert_eq!(
        records[0]["remote.generation"]
            .to_string()
            .trim_matches('"'),
        "1"
    );
}

/// SUP-34
#[test]
fn stopping_what_is_stopped_answers_without_an_outcome() {
    let node = running(Entry::new("a"));
    node.stop("a");
    assert_eq!(node.stop("a")["outcome"], Value::Null);
    assert_eq!(node.verb("a", "start").0, 200);
    assert_eq!(node.state("a"), "running");
}

/// SUP-06 SUP-07 SUP-10
#[test]
fn ladder_of_a_plugin_that_ignores_everything_has_the_written_times() {
    let node = running(
        Entry::new("a")
            .fault("ignore-shutdown")
            .fault("ignore-term"),
    );
    let asked = boottime();
    let result = node.stop("a");
    let answered = boottime();
    let trace = node.trace();
    takes(
        "from shutdown to the end of stdin",
        trace.only("a", "stdin_eof") - trace.only("a", "shutdown"),
        5000,
    );
    takes(
        "from shutdown to the interrupt",
        trace.only("a", "sigterm") - trace.only("a", "shutdown"),
        6000,
    );
    takes("the whole stop", answered - asked, 7000);
    assert_eq!(result["outcome"], "killed");
    assert_eq!(result["exit_status"], json!({ "code": null, "signal": 9 }));
    assert_eq!(result["evidence"], groups::best_evidence());
    assert_eq!(
        causes(&result),
        ["graceful_stop_timeout", "local_termination_timeout"],
        "{result:#}"
    );
    takes(
        "the duration told",
        result["duration_ms"].as_i64().unwrap() * 1_000_000,
        7000,
    );
}

/// SUP-07 SUP-11
#[test]
fn death_by_sigterm_counts_as_exited() {
    let node = running(Entry::new("a").fault("ignore-shutdown"));
    let result = node.stop("a");
    assert_eq!(result["outcome"], "exited");
    assert_eq!(result["exit_status"], json!({ "code": null, "signal": 15 }));
    takes(
        "the stop",
        result["duration_ms"].as_i64().unwrap() * 1_000_000,
        6000,
    );
    assert_eq!(
        causes(&result),
        ["graceful_stop_timeout", "local_termination_timeout"],
        "{result:#}"
    );
}

/// SUP-10
#[test]
fn missed_exit_window_is_reported_even_when_the_end_succeeds() {
    let node = running(Entry::new("a").fault("linger-ms=3600000"));
    let result = node.stop("a");
    let trace = node.trace();
    takes(
        "from the answer to the interrupt",
        trace.only("a", "sigterm") - trace.only("a", "finalized"),
        1000,
    );
    assert_eq!(
        (&result["outcome"], causes(&result)),
        (&json!("exited"), vec!["local_termination_timeout"])
    );
    let message = result["cleanup_error"]["causes"][0]["message"]
        .as_str()
        .unwrap();
    for likely in ["timer", "socket", "handle"] {
        assert!(
            message.contains(likely),
            "the likely cause is said: {message}"
        );
    }
    assert_eq!(
        node.entry("a")["last_stop"]["cleanup_error"],
        result["cleanup_error"]
    );
}

/// SUP-07
#[test]
fn exit_within_the_window_is_clean() {
    let node = running(Entry::new("a").fault("linger-ms=600"));
    let result = node.stop("a");
    assert_eq!(
        (&result["outcome"], &result["cleanup_error"]),
        (&json!("exited"), &Value::Null),
        "{result:#}"
    );
    assert_eq!(node.trace().of("a", "sigterm").len(), 0);
}

/// SUP-06
#[test]
fn finalizers_have_their_time() {
    let node = running(Entry::new("a").fault("finalizer-ms=3000"));
    let result = node.stop("a");
    assert_eq!(
        (&result["outcome"], &result["cleanup_error"]),
        (&json!("exited"), &Value::Null),
        "{result:#}"
    );
    assert!(result["duration_ms"].as_u64().unwrap() >= 3000);
}

/// SUP-10
#[test]
fn failed_finalizer_is_a_cause() {
    let node = running(Entry::new("a").fault("finalizer-fail"));
    let result = node.stop("a");
    assert_eq!(
        (&result["outcome"], causes(&result)),
        (&json!("exited"), vec!["finalizer_failed"]),
        "{result:#}"
    );
    assert!(
        result["cleanup_error"].to_string().contains("flush-cache"),
        "it says which: {result:#}"
    );
}

/// SUP-10
#[test]
fn nonzero_exit_of_a_graceful_stop_is_told() {
    let node = running(Entry::new("a").fault("exit-code=7"));
    let result = node.stop("a");
    assert_eq!(
        (&result["outcome"], &result["exit_status"]["code"]),
        (&json!("exited"), &json!(7)),
        "{result:#}"
    );
}

/// SUP-06
#[test]
fn calls_in_flight_may_end_and_new_ones_are_refused() {
    let node = running(Entry::new("a").provides("a").fault("finalizer-ms=1500"));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| node.call("a", "a", "sleep", &json!({ "ms": 1000 })));
        node.wait_event("a", "call", Duration::from_secs(5));
        let stop = scope.spawn(|| node.stop("a"));
        node.wait_event("a", "shutdown", Duration::from_secs(5));
        let (status, body) = node.call("a", "a", "ping", &json!({}));
        assert_eq!(
            (status, &body["code"]),
            (503, &json!("service_unavailable")),
            "{body:#}"
        );
        assert_eq!(
            call.join().unwrap(),
            (200, json!({ "result": { "slept_ms": 1000 } }))
        );
        assert_eq!(stop.join().unwrap()["outcome"], "exited");
    });
    assert_eq!(
        node.trace().of("a", "call").len(),
        1,
        "nothing new was sent after shutdown"
    );
}

/// SUP-06
#[test]
fn call_longer_than_the_stop_fails_with_a_connection_error() {
    let node = running(Entry::new("a").provides("a"));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| node.call("a", "a", "sleep", &json!({ "ms": 20_000 })));
        node.wait_event("a", "call", Duration::from_secs(5));
        assert_eq!(node.stop("a")["outcome"], "exited");
        let (status, body) = call.join().unwrap();
        assert_eq!(
            (status, &body["code"]),
            (502, &json!("connection_lost")),
            "{body:#}"
        );
    });
}

/// SUP-32 SUP-36 SUP-11
#[test]
fn child_of_the_same_group_that_ignores_sigterm_goes_through_the_ladder() {
    let node = running(Entry::new("a").fault("fork-holder"));
    let holder = wait_for("the holder is there", Duration::from_secs(5), || {
        node.processes()
            .into_iter()
            .find(|process| process.command.contains("holder"))
    });
    let result = node.stop("a");
    assert!(!alive(holder.pid), "no survivor");
    assert_eq!(result["outcome"], "killed", "{result:#}");
    assert_eq!(
        result["exit_status"],
        json!({ "code": 0, "signal": null }),
        "the plugin's own process ended well"
    );
    assert_eq!(causes(&result), ["local_termination_timeout"]);
    takes(
        "the stop",
        result["duration_ms"].as_i64().unwrap() * 1_000_000,
        2000,
    );
}

/// SUP-32 SUP-02
#[test]
fn daemon_in_its_own_session_without_environment_does_not_survive_and_lets_no_replacement_start_early()
 {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let node = running(Entry::new("a").fault(&format!("daemon={}", file.display())));
    let read = || {
        std::fs::read_to_string(&file)
            .ok()?
            .trim()
            .parse::<u32>()
            .ok()
    };
    let first = wait_for("the daemon is there", Duration::from_secs(5), read);
    let (status, result) = node.verb("a", "restart");
    assert_eq!(
        (status, &result["outcome"]),
        (200, &json!("killed")),
        "{result:#}"
    );
    assert_eq!(
        (&result["evidence"], &result["cause"]),
        (&json!(groups::best_evidence()), &json!("replaced"))
    );
    assert!(!alive(first));
    let trace = node.trace();
    let execs = trace.of("a", "exec");
    assert_eq!(execs.len(), 2);
    takes(
        "from the leader's exit to the replacement",
        execs[1].t - trace.only("a", "exit"),
        2000,
    );
}

/// SUP-33
#[test]
fn family_that_keeps_forking_is_ended() {
    for round in 0..rounds(20) {
        let node = running(Entry::new("a").fault("fork-storm=4"));
        wait_until("the storm blows", Duration::from_secs(5), || {
            node.processes()
                .iter()
                .any(|process| process.command.contains("--as storm"))
        });
        let (status, result) = node.verb("a", "kill");
        assert_eq!(
            (status, &result["outcome"]),
            (200, &json!("killed")),
            "round {round}: {result:#}"
        );
        let left: Vec<_> = node
            .processes()
            .into_iter()
            .filter(|process| process.command.contains("storm"))
            .collect();
        assert!(left.is_empty(), "round {round}: {left:#?}");
    }
}

/// SUP-11
#[test]
fn kill_skips_the_graceful_stop() {
    let node = running(Entry::new("a"));
    let (status, result) = node.verb("a", "kill");
    assert_eq!(status, 200, "{result:#}");
    assert_eq!(
        (&result["outcome"], &result["exit_status"]["signal"]),
        (&json!("killed"), &json!(9))
    );
    assert_eq!(result["cause"], "requested");
    assert!(result["duration_ms"].as_u64().unwrap() < 500);
    assert_eq!(node.trace().of("a", "shutdown").len(), 0);
}

/// SUP-34
#[test]
fn kill_cuts_a_graceful_stop_short_and_both_callers_get_the_truth() {
    let node = running(Entry::new("a").fault("finalizer-ms=60000"));
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| node.stop("a"));
        node.wait_event("a", "finalizer", Duration::from_secs(5));
        let watch = Stopwatch::start();
        let (status, killed) = node.verb("a", "kill");
        assert!(
            watch.elapsed() < Duration::from_millis(1000),
            "{:?}",
            watch.elapsed()
        );
        assert_eq!(
            (status, &killed["outcome"]),
            (200, &json!("killed")),
            "{killed:#}"
        );
        let stopped = stop.join().unwrap();
        assert_eq!(
            (&stopped["outcome"], &stopped["launch"]),
            (&json!("killed"), &killed["launch"])
        );
    });
}

/// SUP-34
#[test]
fn concurrent_stops_are_one_stop() {
    let node = running(Entry::new("a").fault("finalizer-ms=300"));
    let launch = node.entry("a")["launch"].clone();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| node.stop("a"))).collect();
        for one in all {
            let result = one.join().unwrap();
            assert!(
                result["outcome"] == "exited" && result["launch"] == launch
                    || result["outcome"].is_null(),
                "{result:#}"
            );
        }
    });
    assert_eq!(node.trace().of("a", "shutdown").len(), 1);
}

/// SUP-34
#[test]
fn concurrent_verbs_leave_one_process_and_growing_launches() {
    let node = running(Entry::new("a"));
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let node = &node;
            scope.spawn(move || {
                for round in 0..6 {
                    let verb = ["start", "stop", "restart", "kill"][(worker + round) % 4];
                    let (status, body) = node.verb("a", verb);
                    assert!(
                        matches!(status, 200 | 202 | 409),
                        "{verb}: {status} {body:#}"
                    );
                }
            });
        }
    });
    assert_eq!(node.verb("a", "start").0, 200);
    node.wait_running("a");
    assert_eq!(
        node.processes_of("a").len(),
        1,
        "{:#?}",
        node.processes_of("a")
    );
    let trace = node.trace();
    let launches: Vec<u64> = trace
        .of("a", "exec")
        .iter()
        .map(|event| launch_number(event.launch.as_deref()))
        .collect();
    assert!(
        launches.is_sorted_by(|earlier, later| earlier < later),
        "{launches:?}"
    );
}

fn launch_number(mark: Option<&str>) -> u64 {
    mark.and_then(|mark| mark.rsplit('/').next()?.parse().ok())
        .expect("a launch mark ends with its number")
}

/// SUP-34
#[test]
fn caller_that_goes_away_changes_nothing() {
    let node = running(Entry::new("a").fault("finalizer-ms=500"));
    let address = node.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let token = node.token();
    write!(
        stream,
        "POST /api/console/entries/a/stop HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\n\r\n"
    )
    .unwrap();
    node.wait_event("a", "finalizer", Duration::from_secs(5));
    drop(stream);
    let status = node.wait_state("a", "stopped", Duration::from_secs(5));
    assert_eq!(status["last_stop"]["outcome"], "exited", "{status:#}");
    node.trace().only("a", "finalized");
}

/// SUP-34
#[test]
fn stop_works_while_starting_and_while_backing_off() {
    let node = Node::with(&[
        Entry::new("mute").fault("never-handshake"),
        Entry::new("gone")
            .fault("exit-at-once=1")
            .key("retry", json!({ "initial": "20 seconds" })),
    ]);
    node.wait_event("mute", "initialize", Duration::from_secs(10));
    assert_eq!(node.state("mute"), "starting");
    let result = node.stop("mute");
    assert!(
        matches!(result["outcome"].as_str(), Some("exited" | "killed")),
        "{result:#}"
    );
    assert_eq!(node.state("mute"), "stopped");
    assert!(node.processes_of("mute").is_empty());
    node.wait_state("gone", "backing_off", Duration::from_secs(5));
    let watch = Stopwatch::start();
    node.stop("gone");
    assert!(watch.elapsed() < Duration::from_secs(1));
    assert_eq!(node.state("gone"), "stopped");
}

/// SUP-07
#[test]
fn interrupt_continues_a_stopped_process() {
    let node = running(Entry::new("a").provides("a"));
    node.set_fault("a", "a", "stop-self", Value::Null);
    let pid = node.pid_of("a");
    wait_until("it is stopped", Duration::from_secs(5), || {
        process::Process::read(pid).is_some_and(|one| one.state == 'T')
    });
    let result = node.stop("a");
    assert_eq!(
        result["outcome"], "exited",
        "SIGKILL was not needed: {result:#}"
    );
    takes(
        "the stop",
        result["duration_ms"].as_i64().unwrap() * 1_000_000,
        6000,
    );
}

/// SUP-10
#[test]
fn entry_killed_in_most_of_its_last_stops_gets_a_hint() {
    let node = running(
        Entry::new("a")
            .fault("linger-ms=3600000")
            .fault("ignore-term"),
    );
    assert_eq!(node.entry("a")["hint"], Value::Null);
    for _ in 0..3 {
        assert_eq!(node.stop("a")["outcome"], "killed");
        assert_eq!(node.verb("a", "start").0, 200);
    }
    let hint = node.entry("a")["hint"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        hint.contains("shutdown_timeout") && hint.contains("API"),
        "{hint:?}"
    );
}

/// SUP-36
#[test]
fn held_stdout_does_not_delay_the_exit() {
    let node = running(Entry::new("a").fault("daemon-holding-stdout=/dev/null"));
    let pid = node.pid_of("a");
    wait_until("the daemon is there", Duration::from_secs(5), || {
        node.processes()
            .iter()
            .any(|process| process.command.contains("--as daemon "))
    });
    process::kill9(pid);
    let killed = boottime();
    wait_until("it is replaced", Duration::from_secs(10), || {
        node.trace().of("a", "exec").len() == 2
    });
    let again = node.trace().last("a", "exec");
    assert!(
        again - killed < 1_500_000_000,
        "the leftovers are killed at once: {} ms",
        (again - killed) / 1_000_000
    );
}
