//! Faults that are done once, at once.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::lifecycle::sleep_for_ever;
use crate::state::Plugin;
use crate::{descendants, wire};

/// Carries out one act; some do not return.
pub(crate) fn perform(plugin: &Arc<Plugin>, fault: &str, value: &str) {
    plugin
        .trace
        .event("fault", &json!({ "fault": fault, "value": value }));
    match fault {
        "exit" => exit_later(plugin, value),
        "fork-holder" => descendants::spawn(plugin, "holder", "", descendants::Stdio::Inherited),
        "daemon" => descendants::spawn(plugin, "daemonize", value, descendants::Stdio::Null),
        "daemon-holding-stdout" => {
            descendants::spawn(plugin, "daemonize", value, descendants::Stdio::Inherited)
        }
        "fork-storm" => {
            for _ in 0..value.parse().unwrap_or(4_u32) {
                descendants::spawn(plugin, "storm", "", descendants::Stdio::Null);
            }
        }
        "close-stdout" => {
            let null = std::fs::File::options()
                .write(true)
                .open("/dev/null")
                .expect("/dev/null opens");
            rustix::stdio::dup2_stdout(&null).expect("stdout can be replaced");
        }
        "half-frame" => wire::raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"resu"),
        "long-line" => long_line(value.parse().expect("long-line takes bytes")),
        "bad-utf8" => wire::raw(
            b"{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"message\":\"\xff\xfe\"}}\n",
        ),
        "bad-json" => wire::raw(b"{\"jsonrpc\":\"2.0\",\"id\":}\n"),
        "flood-stderr" => flood(value.parse().expect("flood-stderr takes bytes a second")),
        "stderr-line" => drop(writeln!(std::io::stderr(), "{value}")),
        "answer-unasked" => wire::raw(b"{\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":null}\n"),
        "stop-self" => signal_self(Signal::SIGSTOP),
        "signal-self" => signal_self(
            value
                .parse::<i32>()
                .unwrap()
                .try_into()
                .expect("a signal's number"),
        ),
        "abort" => std::process::abort(),
        "print-garbage" => wire::raw(b"hello from a stray print\n"),
        // The reading loop looks at the fault itself.
        "no-read" => {}
        "eat-memory" => eat(value.parse().expect("eat-memory takes MiB")),
        other => panic!("{other} is no act"),
    }
}

fn exit_later(plugin: &Arc<Plugin>, value: &str) {
    let (code, after) = value.split_once('@').unwrap_or((value, "0"));
    let (code, after) = (
        code.parse().expect("an exit code"),
        after.parse().expect("milliseconds"),
    );
    let plugin = Arc::clone(plugin);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(after));
        plugin.leave(code)
    });
}

/// A line of that many bytes, then its newline; on a thread, since the host may stop reading.
fn long_line(bytes: usize) {
    std::thread::spawn(move || {
        let chunk = vec![b'x'; 64 * 1024];
        let mut left = bytes;
        while left > 0 {
            let now = left.min(chunk.len());
            wire::raw(&chunk[..now]);
            left -= now;
        }
        wire::raw(b"\n");
    });
}

fn flood(bytes_a_second: u64) {
    std::thread::spawn(move || {
        let line = format!("{}\n", "flood ".repeat(16));
        let pause = (line.len() as u64 * 1_000_000)
            .checked_div(bytes_a_second)
            .map(Duration::from_micros);
        loop {
            if std::io::stderr().write_all(line.as_bytes()).is_err() {
                sleep_for_ever();
            }
            if let Some(pause) = pause {
                std::thread::sleep(pause);
            }
        }
    });
}

fn signal_self(signal: Signal) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), signal);
}

fn eat(mib: usize) {
    std::thread::spawn(move || {
        let mut hoard = Vec::new();
        for _ in 0..mib {
            hoard.push(vec![1_u8; 1024 * 1024]);
        }
        std::hint::black_box(&hoard);
        sleep_for_ever()
    });
}
