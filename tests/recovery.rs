//! Crashes of the node and its keeper: leftovers are dealt with first, nothing runs twice, numbers only grow.

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
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::process::{self, Process, alive};
use treewarden_kit::trace::Trace;
use treewarden_kit::{Entry, Node, Random, Stopwatch, rounds, skipped, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(20);

/// Entry and launch number of a `TREEWARDEN_LAUNCH`.
fn launch_of(mark: &str) -> Option<(String, u64)> {
    let mut parts = mark.split('/').skip(1);
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?))
}

fn keeper_of(node: &Node) -> Option<Process> {
    let children = Process::all()
        .into_iter()
        .filter(|process| process.parent == node.pid() && process.runs());
    children
        .into_iter()
        .find(|process| process.command.contains("keeper"))
}

#[track_caller]
fn keeper(node: &Node) -> Process {
    wait_for("the keeper is there", BOUND, || keeper_of(node))
}

/// Two launches of one entry that run at the same moment, if there are such.
fn overlap(directory: &str) -> Option<String> {
    let mut seen: BTreeMap<String, (u64, Process)> = BTreeMap::new();
    for process in Process::all()
        .into_iter()
        .filter(|one| one.runs() && one.command.contains(directory))
    {
        let Some((entry, launch)) = process.launch.as_deref().and_then(launch_of) else {
            continue;
        };
        match seen.get(&entry) {
            Some((other, earlier)) if *other != launch => {
                // The list is no snapshot: the one read first must still be there after the other was seen.
                let still = |one: &Process| {
                    Process::read(one.pid).is_some_and(|now| {
                        now.runs() && now.start_time == one.start_time && now.launch == one.launch
                    })
                };
                if still(&process) && still(earlier) {
                    return Some(format!("{entry}: {earlier:?} and {process:?}"));
                }
            }
            Some(_) => {}
            None => drop(seen.insert(entry, (launch, process))),
        }
    }
    None
}

/// What the tests below rely on.
#[test]
fn overlap_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let start = |launch: u32, seconds: u32| {
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", "sleep $0; true", &seconds.to_string()])
            .arg(directory.path());
        command
            .env("TREEWARDEN_LAUNCH", format!("node/a/{launch}"))
            .spawn()
            .unwrap()
    };
    let name = directory.path().display().to_string();
    let mut processes = vec![start(1, 100)];
    assert_eq!(overlap(&name), None);
    processes.push(start(2, 101));
    assert!(overlap(&name).is_some());
    for mut process in processes {
        for child in process::descendants(process.id()) {
            process::kill9(child.pid);
        }
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Launch numbers of each entry grow with time, and each was used once.
#[track_caller]
fn launches_grow(trace: &Trace) {
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for event in trace.0.iter().filter(|event| event.event == "exec") {
        let (entry, launch) = event
            .launch
            .as_deref()
            .and_then(launch_of)
            .expect("every launch is marked");
        assert!(
            last.get(&entry).is_none_or(|earlier| *earlier < launch),
            "{entry}: {launch} after {:?}",
            last.get(&entry)
        );
        last.insert(entry, launch);
    }
}

/// Every entry is where it should be, with one process or none.
#[track_caller]
fn settles(node: &Node, names: &[&str]) {
    for name in names {
        let status = wait_for("the entry settles", BOUND, || {
            let status = node.entry(name);
            let settled = match status["state"].as_str() {
                Some("running") => status["desired"] == "running",
                Some("stopped") => status["desired"] == "stopped",
                // Its provider was stopped.
                Some("waiting") => true,
                _ => false,
            };
            settled.then_some(status)
        });
        let leaders: Vec<Process> = node
            .processes_of(name)
            .into_iter()
            .filter(|one| one.command.contains("--name"))
            .collect();
        match status["state"].as_str() {
            Some("running") => {
                assert_eq!(leaders.len(), 1, "{name}: {status:#} {leaders:#?}");
                let mark = leaders[0].launch.as_deref().and_then(launch_of).unwrap();
                assert_eq!(Some(mark.1), status["launch"].as_u64(), "{name}");
            }
            _ => assert!(leaders.is_empty(), "{name}: {status:#} {leaders:#?}"),
        }
    }
}

/// Watches for overlaps while something is done.
fn without_overlap(node: &mut Node, act: impl FnOnce(&mut Node)) {
    let directory = node.directory().display().to_string();
    let over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if let Some(overlap) = overlap(&directory) {
                    return Some(overlap);
                }
                std::thread::sleep(Duration::from_millis(3));
            }
            None
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(node)));
        over.store(true, Ordering::Relaxed);
        let found = watching.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        found
    });
    assert_eq!(found, None, "two launches of one entry ran at once");
}

const NAMES: [&str; 4] = ["base", "user", "stubborn", "parent"];

fn crowd(daemon: &str) -> Vec<Entry> {
    let retry = json!({ "initial": "10 millis", "max": "100 millis", "restarts": 1000, "within": "1 minutes" });
    let all = [
        Entry::new("base").provides("base"),
        Entry::new("user").uses("base").provides("user"),
        Entry::new("stubborn")
            .fault("ignore-eof")
            .fault("ignore-term"),
        Entry::new("parent").fault(&format!("daemon={daemon}")),
    ];
    all.into_iter()
        .map(|entry| entry.key("retry", retry.clone()))
        .collect()
}

/// Sends random verbs until the node does not answer any more.
fn pester(node: &Node, random: &mut Random) {
    let verbs = ["start", "stop", "restart", "kill", "start", "restart"];
    loop {
        let path = format!(
            "/api/console/entries/{}/{}",
            random.pick(&NAMES),
            random.pick(&verbs)
        );
        if node.try_post(&path, &json!({})).is_err() {
            return;
        }
    }
}

/// SUP-17 SUP-02 SUP-35 SUP-13
#[test]
fn node_killed_at_random_moments_of_random_verbs_never_runs_anything_twice() {
    let mut random = Random::from_environment();
    let mut node = Node::with(&crowd("/dev/null"));
    settles(&node, &NAMES);
    for round in 0..rounds(100) {
        let delay = Duration::from_millis(random.below(400));
        let pause = Duration::from_millis(random.below(4) * random.below(400));
        let mut others: Vec<Random> = (0..3)
            .map(|_| Random::seeded(random.below(u64::MAX)))
            .collect();
        without_overlap(&mut node, |node| {
            std::thread::scope(|scope| {
                for random in &mut others {
                    let node = &*node;
                    scope.spawn(move || pester(node, random));
                }
                std::thread::sleep(delay);
                process::kill9(node.pid());
            });
            node.wait_exit(BOUND);
            std::thread::sleep(pause);
            node.start_again();
            settles(node, &NAMES);
        });
        launches_grow(&node.trace());
        for name in NAMES {
            assert!(
                matches!(node.verb(name, "start").0, 200 | 202),
                "round {round}: {}",
                node.log_tail()
            );
        }
        settles(&node, &NAMES);
    }
    wait_until("no zombie is left", BOUND, || {
        process::zombies(node.pid()).is_empty()
    });
}

/// SUP-35
#[test]
fn keeper_killed_at_random_moments_of_random_verbs_is_replaced() {
    let mut random = Random::from_environment();
    let mut node = Node::with(&crowd("/dev/null"));
    settles(&node, &NAMES);
    for _ in 0..rounds(50) {
        let delay = Duration::from_millis(random.below(200));
        let mut picks = Random::seeded(random.below(u64::MAX));
        without_overlap(&mut node, |node| {
            let lost = keeper(node);
            let over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let (node, over) = (&*node, &over);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let verb = *picks.pick(&["start", "restart", "kill", "stop", "start"]);
                        let name = *picks.pick(&NAMES);
                        let (status, body) = node.verb(name, verb);
                        assert!(matches!(status, 200 | 202 | 409 | 503), "{status} {body:#}");
                    }
                });
                std::thread::sleep(delay);
                process::kill9(lost.pid);
                wait_until("another keeper is there", BOUND, || {
                    keeper_of(node).is_some_and(|one| one.pid != lost.pid)
                });
                over.store(true, Ordering::Relaxed);
            });
            for name in NAMES {
                let (status, body) = node.verb(name, "start");
                assert!(matches!(status, 200 | 202), "{status} {body:#}");
            }
            settles(node, &NAMES);
        });
        launches_grow(&node.trace());
    }
    for name in NAMES {
        assert_eq!(node.state(name), "running");
    }
    wait_until("no zombie is left", BOUND, || {
        process::zombies(node.pid()).is_empty()
    });
}

/// SUP-35 SUP-32
#[test]
fn lost_keeper_ends_its_launches_descendants_included_before_anything_starts_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let mut node = Node::with(&[
        Entry::new("a").fault(&format!("daemon={}", file.display())),
        Entry::new("b"),
    ]);
    let before = [node.wait_running("a"), node.wait_running("b")];
    let daemon: u32 = wait_for("the daemon is there", BOUND, || {
        std::fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    without_overlap(&mut node, |node| {
        process::kill9(keeper(node).pid);
        wait_until("both run again", BOUND, || {
            node.trace()
                .0
                .iter()
                .filter(|event| event.event == "initialized")
                .count()
                == 4
        });
        assert!(!alive(daemon), "it was gone before anything started again");
    });
    for status in before {
        let name = status["name"].as_str().unwrap();
        let now = node.wait_running(name);
        assert!(now["launch"].as_u64() > status["launch"].as_u64());
        assert_eq!(now["last_stop"]["launch"], status["launch"], "{now:#}");
        assert_eq!(now["last_stop"]["evidence"], "tree", "{now:#}");
    }
}

/// SUP-35 SUP-18 SUP-37
#[test]
fn node_and_keeper_lost_together_leave_nothing_that_runs_beside_the_replacement() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let mut node = Node::with(&[Entry::new("a").fault(&format!("daemon={}", file.display()))]);
    let before = node.wait_running("a");
    let daemon: u32 = wait_for("the daemon is there", BOUND, || {
        std::fs::read_to_string(&file).ok()?.trim().parse().ok()
    });
    let keeper = keeper(&node);
    // The keeper first, and the node before it can react: stopped meanwhile.
    process::signal(node.pid(), process::Signal::STOP);
    process::kill9(keeper.pid);
    node.kill9();
    assert!(
        alive(daemon),
        "a daemon survives both: that is what the restart has to deal with"
    );
    without_overlap(&mut node, |node| {
        node.start_again();
        wait_until("the replacement runs", BOUND, || {
            node.trace().of("a", "initialized").len() == 2
        });
        assert!(!alive(daemon));
    });
    let now = node.wait_running("a");
    assert_eq!(now["last_stop"]["launch"], before["launch"], "{now:#}");
    assert_eq!(
        now["last_stop"]["exit_status"],
        Value::Null,
        "unknown, not guessed: {now:#}"
    );
}

/// SUP-22
#[test]
fn plugins_of_a_killed_node_run_their_finalizers_and_end_within_two_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("finalized");
    let mut node = Node::with(&[
        // It goes on writing to its log, whose reader is gone.
        Entry::new("good")
            .fault(&format!("finalizer-file={}", file.display()))
            .fault("flood-stderr=100000"),
        Entry::new("slow")
            .fault("ignore-eof")
            .fault("ignore-term")
            .fault("fork-holder")
            .fault("daemon=/dev/null"),
    ]);
    node.wait_running("good");
    node.wait_running("slow");
    wait_until("slow has its family", BOUND, || {
        node.processes()
            .iter()
            .filter(|one| one.command.contains("--as "))
            .count()
            >= 2
    });
    node.kill9();
    let watch = Stopwatch::start();
    wait_until("the finalizer has run", Duration::from_secs(1), || {
        file.exists()
    });
    wait_until(
        "all are gone, the keeper too",
        Duration::from_secs(4),
        || node.processes().is_empty(),
    );
    let took = watch.elapsed();
    assert!(
        took >= Duration::from_millis(1900) && took < Duration::from_millis(2800),
        "{took:?}"
    );
}

/// SUP-37 SUP-17
#[test]
fn how_plugins_of_a_killed_node_ended_is_known_after_its_restart() {
    let mut node = Node::with(&[
        Entry::new("a").fault("exit-code=42"),
        Entry::new("b").fault("ignore-eof"),
    ]);
    let (a, b) = (node.wait_running("a"), node.wait_running("b"));
    node.kill9();
    wait_until("all are gone", BOUND, || node.processes().is_empty());
    node.start_again();
    let now = node.wait_running("a");
    assert_eq!(now["last_stop"]["launch"], a["launch"], "{now:#}");
    assert_eq!(
        now["last_stop"]["exit_status"],
        json!({ "code": 42, "signal": null }),
        "{now:#}"
    );
    assert_eq!(
        (&now["last_stop"]["outcome"], &now["last_stop"]["cause"]),
        (&json!("exited"), &json!("connection_lost"))
    );
    let now = node.wait_running("b");
    assert_eq!(now["last_stop"]["launch"], b["launch"], "{now:#}");
    assert_eq!(
        (
            &now["last_stop"]["outcome"],
            &now["last_stop"]["exit_status"]["signal"]
        ),
        (&json!("killed"), &json!(9))
    );
}

/// SUP-17 SUP-02
#[test]
fn replacement_waits_for_what_the_killed_node_left_running() {
    let mut node = Node::with(&[Entry::new("a").fault("ignore-eof").fault("ignore-term")]);
    node.wait_running("a");
    let old = node.pid_of("a");
    without_overlap(&mut node, |node| {
        node.kill9();
        assert!(alive(old));
        node.start_again();
        wait_until("the replacement runs", BOUND, || {
            node.trace().of("a", "initialized").len() == 2
        });
        assert!(!alive(old));
    });
}

/// SUP-17
#[test]
fn twenty_plugins_are_all_resolved_after_a_crash() {
    let names: Vec<String> = (0..20).map(|number| format!("p{number}")).collect();
    let entries: Vec<Entry> = names.iter().map(|name| Entry::new(name)).collect();
    let mut node = Node::with(&entries);
    let before: Vec<Value> = names.iter().map(|name| node.wait_running(name)).collect();
    without_overlap(&mut node, |node| {
        node.kill9();
        node.start_again();
        for earlier in &before {
            let now = node.wait_running(earlier["name"].as_str().unwrap());
            assert!(now["launch"].as_u64() > earlier["launch"].as_u64());
        }
    });
    launches_grow(&node.trace());
}

/// SUP-39
#[test]
fn answered_stop_is_on_disk_and_one_cut_off_is_finished() {
    let mut node = Node::with(&[
        Entry::new("quick"),
        Entry::new("slow").fault("finalizer-ms=1500"),
        Entry::new("other"),
    ]);
    node.wait_running("slow");
    node.stop("quick");
    let node_ref = &node;
    std::thread::scope(|scope| {
        scope.spawn(|| node_ref.try_post("/api/console/entries/slow/stop", &json!({})));
        node_ref.wait_event("slow", "finalizer", BOUND);
        process::kill9(node_ref.pid());
    });
    node.wait_exit(BOUND);
    node.start_again();
    node.wait_running("other");
    for name in ["quick", "slow"] {
        let status = node.wait_state(name, "stopped", BOUND);
        assert_eq!(status["desired"], "stopped", "{status:#}");
        assert_eq!(
            node.trace().of(name, "exec").len(),
            1,
            "{name} was not started again"
        );
    }
}

/// SUP-18
#[test]
fn reused_pid_is_never_signalled() {
    let file = PathBuf::from("/proc/sys/kernel/ns_last_pid");
    if std::fs::File::options().write(true).open(&file).is_err() {
        return skipped(
            "reused_pid_is_never_signalled",
            "process numbers can not be chosen here",
        );
    }
    let mut node = Node::with(&[Entry::new("a")]);
    let pid = node.pid_of_running("a");
    let keeper = keeper(&node);
    process::signal(node.pid(), process::Signal::STOP);
    process::kill9(keeper.pid);
    node.kill9();
    wait_until("the plugin is gone", BOUND, || Process::read(pid).is_none());
    let Some(mut decoy) = with_pid(&file, pid) else {
        return skipped(
            "reused_pid_is_never_signalled",
            "another process was faster each time",
        );
    };
    node.start_again();
    node.wait_running("a");
    let lives = decoy.try_wait().unwrap().is_none();
    let _ = decoy.kill();
    let _ = decoy.wait();
    assert!(
        lives,
        "a process that only has the number of an old one was signalled"
    );
    assert_eq!(node.entry("a")["last_stop"]["exit_status"], Value::Null);
}

trait Running {
    fn pid_of_running(&self, name: &str) -> u32;
}

impl Running for Node {
    fn pid_of_running(&self, name: &str) -> u32 {
        self.wait_running(name);
        self.pid_of(name)
    }
}

/// A process of this number, if that can be had within some tries.
fn with_pid(file: &std::path::Path, pid: u32) -> Option<std::process::Child> {
    for _ in 0..200 {
        std::fs::write(file, (pid - 1).to_string()).ok()?;
        let mut child = std::process::Command::new("/bin/sleep")
            .arg("1000")
            .spawn()
            .ok()?;
        if child.id() == pid {
            return Some(child);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
    None
}

/// SUP-39 SUP-34
#[test]
fn what_concurrent_verbs_leave_wanted_is_what_is_on_disk() {
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    let entries: Vec<Entry> = names.iter().map(|name| Entry::new(name)).collect();
    let mut node = Node::with(&entries);
    for _ in 0..rounds(20) {
        std::thread::scope(|scope| {
            for (index, name) in names.iter().enumerate() {
                for number in 0..4 {
                    let node = &node;
                    let verb = if (index + number) % 2 == 0 {
                        "stop"
                    } else {
                        "start"
                    };
                    scope.spawn(move || node.verb(name, verb));
                }
            }
        });
        let wanted: Vec<Value> = names
            .iter()
            .map(|name| node.entry(name)["desired"].clone())
            .collect();
        node.kill9();
        node.start_again();
        let found: Vec<Value> = names
            .iter()
            .map(|name| node.entry(name)["desired"].clone())
            .collect();
        assert_eq!(found, wanted);
    }
}
