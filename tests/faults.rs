//! Everything a plugin process can do wrong: each is survived, and its neighbour never notices.

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

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::process::{self, descriptors, resident, zombies};
use treewarden_kit::{Entry, Node, Options, Stopwatch, rounds, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(20);

/// Starts a neighbour and the faulty entry, and makes trouble while somebody asks the neighbour all the time.
fn survives(faulty: Entry, trouble: impl FnOnce(&Node)) {
    let node = Node::with(&[
        Entry::new("neighbour").provides("neighbour"),
        faulty.provides("faulty"),
    ]);
    let before = node.wait_running("neighbour");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let watch = Stopwatch::start();
                assert_eq!(
                    node.result("neighbour", "neighbour", "ping", &json!({})),
                    "pong"
                );
                slowest = slowest.max(watch.elapsed());
                std::thread::sleep(Duration::from_millis(20));
            }
            slowest
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trouble(&node)));
        over.store(true, Ordering::Relaxed);
        let slowest = asking.join().expect("the neighbour answers all the time");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        assert!(
            slowest < Duration::from_secs(1),
            "the neighbour's slowest answer took {slowest:?}"
        );
    });
    assert_eq!(
        node.entry("neighbour")["launch"],
        before["launch"],
        "the neighbour was left alone"
    );
    wait_until("no zombie is left", BOUND, || no_zombies(&node));
    assert!(
        !node
            .log_lines()
            .iter()
            .any(|line| line.contains("panicked")),
        "{}",
        node.log_tail()
    );
}

fn no_zombies(node: &Node) -> bool {
    let processes = node.processes();
    let parents = processes
        .iter()
        .map(|process| process.pid)
        .chain([node.pid()]);
    // A plugin's own unreaped children are its own business.
    parents
        .filter(|pid| {
            processes
                .iter()
                .all(|one| one.pid != *pid || one.launch.is_none())
        })
        .all(|pid| zombies(pid).is_empty())
}

/// Waits for the entry's failure; its reason must hold one of these words.
fn fails_with(node: &Node, words: &[&str]) -> Value {
    let status = node.wait_state("faulty", "failed", BOUND);
    let text = format!("{} {}", status["reason"], status["last_error"]).to_lowercase();
    assert!(
        words.iter().any(|word| text.contains(word)),
        "none of {words:?} in {status:#}"
    );
    assert!(
        node.processes_of("faulty").is_empty(),
        "{:#?}",
        node.processes_of("faulty")
    );
    status
}

/// Fails, and fails again and again, without leaking descriptors.
fn fails_without_leak(node: &Node, words: &[&str]) {
    fails_with(node, words);
    let open = descriptors(node.pid());
    for _ in 0..4 {
        let before = node.entry("faulty")["launch"].clone();
        node.verb("faulty", "start");
        wait_until("it has failed again", BOUND, || {
            let status = node.entry("faulty");
            status["state"] == "failed" && status["last_stop"]["launch"] != before
        });
    }
    wait_until("descriptors are given back", BOUND, || {
        descriptors(node.pid()) <= open + 2
    });
}

fn faulty(fault: &str) -> Entry {
    Entry::new("faulty").fault(fault).no_retry()
}

/// SUP-29
#[test]
fn exits_at_once() {
    survives(faulty("exit-at-once=3"), |node| {
        fails_without_leak(node, &["exit", "3"])
    });
}

/// SUP-29
#[test]
fn exits_in_the_handshake() {
    survives(faulty("exit-in-handshake=4"), |node| {
        fails_without_leak(node, &["exit", "4", "initialize", "handshake"])
    });
}

/// SUP-29
#[test]
fn never_answers_the_handshake() {
    survives(faulty("never-handshake"), |node| {
        let watch = Stopwatch::start();
        fails_with(node, &["initialize", "handshake"]);
        assert!(
            watch.elapsed() > Duration::from_secs(8),
            "it has 10 seconds, not {:?}",
            watch.elapsed()
        );
    });
}

/// SUP-29
#[test]
fn refuses_the_handshake_or_provides_too_little() {
    survives(faulty("refuse-handshake"), |node| {
        fails_without_leak(node, &["does not want to run"])
    });
    survives(faulty("omit-services"), |node| {
        fails_without_leak(node, &["faulty"])
    });
}

/// SUP-29
#[test]
fn closes_stdout_but_lives_on() {
    survives(faulty("close-stdout"), |node| {
        fails_without_leak(node, &["stdout", "closed", "output"])
    });
}

/// SUP-29
#[test]
fn writes_half_a_frame_and_stops() {
    survives(faulty("half-frame"), |node| {
        node.wait_event("faulty", "fault", BOUND);
        // The rest of the line is the next answer: broken JSON.
        let (status, body) = node.call("faulty", "faulty", "ping", &json!({}));
        assert!(matches!(status, 502 | 503), "{status} {body:#}");
        fails_with(node, &["json", "line", "broken", "protocol"]);
    });
}

/// SUP-31
#[test]
fn writes_a_line_of_a_hundred_megabytes() {
    survives(faulty("long-line=100000000"), |node| {
        let memory = resident(node.pid());
        fails_with(node, &["line", "1 mib", "limit", "1048576"]);
        let grown = resident(node.pid()).saturating_sub(memory);
        assert!(grown < 24 << 20, "the node has grown by {grown} bytes");
    });
}

/// SUP-29
#[test]
fn writes_invalid_utf8_json_or_plain_text() {
    for fault in ["bad-utf8", "bad-json", "print-garbage"] {
        survives(faulty(fault), |node| {
            fails_without_leak(node, &["json", "utf-8", "line", "broken", "protocol"])
        });
    }
}

/// SUP-29 SUP-31
#[test]
fn floods_stderr() {
    survives(faulty("flood-stderr=0"), |node| {
        node.wait_running("faulty");
        let memory = resident(node.pid());
        let log = std::fs::metadata(node.directory().join("node.log"))
            .unwrap()
            .len();
        let watch = Stopwatch::start();
        while watch.elapsed() < Duration::from_secs(3) {
            assert_eq!(node.result("faulty", "faulty", "ping", &json!({})), "pong");
        }
        let grown = resident(node.pid()).saturating_sub(memory);
        assert!(grown < 24 << 20, "the node has grown by {grown} bytes");
        let written = std::fs::metadata(node.directory().join("node.log"))
            .unwrap()
            .len()
            - log;
        assert!(
            written < 64 << 20,
            "the log is bounded in rate, not {written} bytes in 3 seconds"
        );
        let watch = Stopwatch::start();
        assert_eq!(node.stop("faulty")["outcome"], "exited");
        assert!(
            watch.elapsed() < Duration::from_secs(2),
            "a stop does not wait for the flood: {:?}",
            watch.elapsed()
        );
    });
}

/// SUP-29
#[test]
fn answers_twice_or_unasked() {
    for fault in ["answer-twice", "answer-unasked"] {
        survives(faulty(fault), |node| {
            node.wait_event("faulty", "initialized", BOUND);
            for number in 0..5 {
                let (status, body) = node.call("faulty", "faulty", "echo", &json!(number));
                // Whether the instance is ended for it or not: no wrong answer.
                assert!(
                    matches!(status, 502 | 503) || body["result"] == number,
                    "{fault}: {status} {body:#}"
                );
            }
        });
    }
}

/// SUP-29 SUP-16
#[test]
fn answers_after_its_deadline() {
    survives(faulty("late-answer=300"), |node| {
        node.wait_running("faulty");
        for number in 0..4 {
            let body = json!({ "service": "faulty", "method": "echo", "params": number, "timeout": "200 millis" });
            let (status, body) = node.post("/api/console/entries/faulty/call", &body);
            assert_eq!(
                (status, &body["code"]),
                (504, &json!("deadline_exceeded")),
                "{body:#}"
            );
        }
        std::thread::sleep(Duration::from_millis(500));
        node.set_fault_cleared("late-answer");
        assert_eq!(
            node.result("faulty", "faulty", "echo", &json!("right")),
            "right"
        );
    });
}

trait Clears {
    fn set_fault_cleared(&self, fault: &str);
}

impl Clears for Node {
    fn set_fault_cleared(&self, fault: &str) {
        // Its own answer is late too.
        let body = json!({ "service": "faulty", "method": "clear", "params": { "fault": fault }, "timeout": "100 millis" });
        self.post("/api/console/entries/faulty/call", &body);
        std::thread::sleep(Duration::from_millis(600));
    }
}

/// SUP-29
#[test]
fn is_stopped_by_sigstop() {
    survives(faulty("stop-self"), |node| {
        node.wait_event("faulty", "fault", BOUND);
        let body =
            json!({ "service": "faulty", "method": "ping", "params": {}, "timeout": "300 millis" });
        let (status, body) = node.post("/api/console/entries/faulty/call", &body);
        assert_eq!(
            (status, &body["code"]),
            (504, &json!("deadline_exceeded")),
            "{body:#}"
        );
        let (status, result) = node.verb("faulty", "kill");
        assert_eq!(
            (status, &result["outcome"]),
            (200, &json!("killed")),
            "{result:#}"
        );
    });
}

/// SUP-29
#[test]
fn dumps_core() {
    survives(faulty("abort"), |node| {
        fails_without_leak(node, &["signal", "6", "abrt"])
    });
}

/// SUP-29 SUP-30
#[test]
fn runs_out_of_memory() {
    let limited = faulty("eat-memory=4096").key("limits", json!({ "memory": "256 MiB" }));
    survives(limited, |node| {
        let status = node.wait_state("faulty", "failed", BOUND);
        assert_ne!(status["limits"], Value::Null, "{status:#}");
    });
}

/// SUP-29
#[test]
fn is_killed_by_someone_else() {
    survives(
        Entry::new("faulty").key(
            "retry",
            json!({ "initial": "10 millis", "max": "50 millis", "restarts": 50 }),
        ),
        |node| {
            for round in 1..=10 {
                let pid = node.wait_running("faulty")["pid"].as_u64().unwrap();
                process::kill9(u32::try_from(pid).unwrap());
                wait_until("it runs again", BOUND, || {
                    node.trace().of("faulty", "initialized").len() == round + 1
                });
            }
            node.wait_running("faulty");
            assert_eq!(node.processes_of("faulty").len(), 1);
        },
    );
}

/// SUP-29
#[test]
fn reads_nothing_from_stdin() {
    survives(faulty("no-read"), |node| {
        node.wait_event("faulty", "fault", BOUND);
        let large = json!("x".repeat(300_000));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let body = json!({ "service": "faulty", "method": "echo", "params": large, "timeout": "500 millis" });
                    let (status, body) = node.post("/api/console/entries/faulty/call", &body);
                    assert!(matches!(status, 502 | 503 | 504 | 429), "{status} {body:#}");
                });
            }
        });
        let watch = Stopwatch::start();
        let result = node.stop("faulty");
        assert!(
            matches!(result["outcome"].as_str(), Some("exited" | "killed") | None),
            "{result:#}"
        );
        assert!(
            watch.elapsed() < Duration::from_secs(8),
            "{:?}",
            watch.elapsed()
        );
        assert!(node.processes_of("faulty").is_empty());
    });
}

/// SUP-29
#[test]
fn crashes_on_a_call() {
    survives(faulty("crash-on-call"), |node| {
        node.wait_running("faulty");
        let (status, body) = node.call("faulty", "faulty", "ping", &json!({}));
        assert_eq!(
            (status, &body["code"]),
            (502, &json!("connection_lost")),
            "{body:#}"
        );
        fails_with(node, &["exit", "70"]);
    });
}

/// SUP-29
#[test]
fn ignores_shutdown_and_sigterm() {
    survives(faulty("ignore-shutdown").fault("ignore-term"), |node| {
        node.wait_running("faulty");
        assert_eq!(node.stop("faulty")["outcome"], "killed");
    });
}

/// SUP-29 SUP-33
#[test]
fn forks_without_end_and_crashes() {
    survives(faulty("fork-storm=4").fault("exit=1@300"), |node| {
        let status = node.wait_state("faulty", "failed", BOUND);
        assert_eq!(status["last_stop"]["outcome"], "killed", "{status:#}");
        let storm = || {
            node.processes()
                .into_iter()
                .filter(|one| one.command.contains("storm"))
                .count()
        };
        assert_eq!(storm(), 0);
    });
}

/// SUP-29
#[test]
fn never_answers_and_its_instance_is_replaced() {
    survives(Entry::new("faulty").fault("never-answer"), |node| {
        let before = node.wait_running("faulty")["launch"].clone();
        std::thread::scope(|scope| {
            for _ in 0..9 {
                scope.spawn(|| {
                    let body = json!({ "service": "faulty", "method": "ping", "params": {}, "timeout": "200 millis" });
                    node.post("/api/console/entries/faulty/call", &body)
                });
            }
        });
        wait_for("eight stuck calls replace the instance", BOUND, || {
            let status = node.entry("faulty");
            (status["state"] == "running" && status["launch"] != before).then_some(())
        });
    });
}

/// SUP-29
#[test]
fn log_that_nobody_reads_stalls_nothing() {
    let options = Options {
        stalled_log: true,
        ..Options::default()
    };
    let flood = Entry::new("flood")
        .provides("flood")
        .fault("flood-stderr=0");
    let node = Node::with_options(&[flood, Entry::new("b").provides("b")], options);
    node.wait_running("flood");
    let watch = Stopwatch::start();
    while watch.elapsed() < Duration::from_secs(3) {
        for name in ["flood", "b"] {
            assert_eq!(node.result(name, name, "ping", &json!({})), "pong");
        }
    }
    assert!(resident(node.pid()) < 128 << 20, "{}", resident(node.pid()));
    for name in ["flood", "b"] {
        assert_eq!(node.stop(name)["outcome"], "exited");
    }
}

/// SUP-29
#[test]
fn nothing_grows_with_the_number_of_launches() {
    let node = Node::with(&[Entry::new("a").provides("a"), Entry::new("b").uses("a")]);
    node.wait_running("b");
    let keeper = node
        .processes()
        .into_iter()
        .find(|one| one.launch.is_none() && one.command.contains("keeper"))
        .unwrap()
        .pid;
    let cycle = |verb: &str| {
        assert_eq!(node.verb("a", verb).0, 200);
        assert_eq!(node.verb("a", "start").0, 200);
        node.wait_running("b");
        node.result("a", "a", "ping", &json!({}));
    };
    for _ in 0..10 {
        cycle("restart");
    }
    let sizes = || {
        (
            descriptors(node.pid()),
            descriptors(keeper),
            std::fs::read_dir(format!("/proc/{}/task", node.pid()))
                .unwrap()
                .count(),
        )
    };
    let (before, memory) = (sizes(), resident(node.pid()));
    for round in 0..rounds(400) {
        cycle(if round % 2 == 0 { "restart" } else { "kill" });
    }
    wait_until("descriptors and threads are as before", BOUND, || {
        let now = sizes();
        now.0 <= before.0 + 2 && now.1 <= before.1 + 1 && now.2 <= before.2 + 2
    });
    let grown = resident(node.pid()).saturating_sub(memory);
    assert!(grown < 12 << 20, "the node has grown by {grown} bytes");
    assert!(no_zombies(&node));
}

/// SUP-29
#[test]
fn slow_but_living_plugin_is_left_alone() {
    survives(Entry::new("faulty").fault("handshake-ms=4000"), |node| {
        node.wait_running("faulty");
        assert_eq!(
            node.result("faulty", "faulty", "sleep", &json!({ "ms": 4000 })),
            json!({ "slept_ms": 4000 })
        );
        assert_eq!(node.entry("faulty")["restarts"], 0);
        assert_eq!(node.trace().of("faulty", "exec").len(), 1);
    });
}

/// SUP-29 SUP-35
#[test]
fn shortage_of_descriptors_leaves_nothing_behind_and_ends_with_its_cause() {
    let entries: Vec<Entry> = (0..40)
        .map(|number| {
            let retry = json!({ "initial": "50 millis", "max": "200 millis", "restarts": 10000 });
            Entry::new(&format!("p{number}")).key("retry", retry)
        })
        .collect();
    let wrapper = ["prlimit", "--nofile=110:110"].map(str::to_owned).to_vec();
    let mut node = Node::with_options(
        &entries,
        Options {
            wrapper,
            ..Options::default()
        },
    );
    let running = || {
        (0..40)
            .filter(|number| {
                node.try_get(&format!("/api/console/entries/p{number}"))
                    .is_ok_and(|(_, status)| status["state"] == "running")
            })
            .count()
    };
    wait_until("some run", BOUND, || running() > 5);
    let short = || {
        node.log_lines()
            .iter()
            .any(|line| line.contains("Too many open files") || line.contains("os error 24"))
    };
    wait_until("the shortage is told", BOUND, short);
    assert!(running() < 40, "this test wants a shortage");
    for number in 0..40 {
        node.try_post(&format!("/api/console/entries/p{number}/stop"), &json!({}))
            .ok();
    }
    wait_until("all are stopped", BOUND, || {
        node.processes().iter().all(|one| one.launch.is_none())
    });
    assert_eq!(
        node.verb("p39", "start").0,
        200,
        "with room again it goes on"
    );
    node.wait_running("p39");
    assert!(no_zombies(&node));
    assert_eq!(node.terminate(), 0, "{}", node.log_tail());
}
