//! Figures, not rules: run with `cargo test --release -p treewarden-keeper --test latency -- --ignored --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "test code"
)]

#[path = "support/harness.rs"]
mod harness;

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::*;

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{what}: p50 {:?}, p90 {:?}, p99 {:?} of {}",
        at(50),
        at(90),
        at(99),
        times.len()
    );
}

#[test]
#[ignore = "measures"]
fn figures() {
    let mut keeper = Keeper::start();

    let mut bare = Vec::new();
    let mut through = Vec::new();
    let mut answered = Vec::new();
    for _ in 0..rounds(300) {
        let begun = Instant::now();
        let mut child = Command::new("/bin/echo")
            .arg("x")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut byte = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut byte)
            .unwrap();
        bare.push(begun.elapsed());
        child.wait().unwrap();

        let mut request = keeper.request("/bin/echo", &["x"]);
        request.env.clear();
        let begun = Instant::now();
        let mut plugin = keeper.spawn_request(request);
        answered.push(begun.elapsed());
        plugin.open();
        plugin.stdout.read_exact(&mut byte).unwrap();
        through.push(begun.elapsed());
        keeper.wait_gone(&plugin);
        keeper.seen.clear();
    }
    show("bare spawn to first byte", bare);
    show("keeper to the answer", answered);
    show("keeper, gate and exec to first byte", through);

    let begun = Instant::now();
    let count = rounds(500);
    for _ in 0..count {
        let mut plugin = keeper.spawn("/bin/true", &[]);
        plugin.open();
        keeper.wait_gone(&plugin);
        keeper.seen.clear();
    }
    println!(
        "launches a second, one after another: {:.0}",
        count as f64 / begun.elapsed().as_secs_f64()
    );

    let mut single = Vec::new();
    let mut family = Vec::new();
    for _ in 0..rounds(300) {
        let mut plugin = keeper.shell("echo ready; exec sleep 1000");
        plugin.line();
        let begun = Instant::now();
        keeper.kill(&plugin);
        keeper.wait_gone(&plugin);
        single.push(begun.elapsed());

        let mut plugin = keeper.shell(
            "env -i setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo ready' & exec sleep 1000",
        );
        plugin.line();
        let begun = Instant::now();
        keeper.kill(&plugin);
        keeper.wait_gone(&plugin);
        family.push(begun.elapsed());
        keeper.seen.clear();
    }
    show("SIGKILL to gone, one process", single);
    show("SIGKILL to gone, with a double-forked daemon", family);

    let status = std::fs::read_to_string(format!("/proc/{}/status", keeper.process.pid)).unwrap();
    println!(
        "keeper: {}",
        status
            .lines()
            .filter(|line| line.starts_with("VmRSS") || line.starts_with("RssAnon"))
            .collect::<Vec<_>>()
            .join(", ")
    );
}
