//! How long a call takes, seen from a host that waits for each answer, beside a child that only echoes bytes.
//!
//! ```text
//! cargo build --release --package treewarden-sdk --examples
//! taskset -c 0 target/release/examples/round_trip                       # both ends on one core
//! taskset -c 0 target/release/examples/round_trip python3 sdk/python/tests/conformance.py
//! ```
#![allow(clippy::print_stdout, reason = "its output is its result")]

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROUNDS: u32 = 20_000;
const TIMES: usize = 5;

fn main() -> Result<()> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "echo") {
        return echo();
    }
    if arguments.is_empty() {
        let plugin = env::current_exe()?.with_file_name("conformance");
        arguments.push(plugin.to_string_lossy().into_owned());
    }
    let mut raw = start(&[
        env::current_exe()?.to_string_lossy().into_owned(),
        "echo".to_owned(),
    ])?;
    let mut plugin = start(&arguments)?;
    let initialize = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocol":"treewarden.plugin/1","instance":{"id":"a","generation":1}}}"#;
    exchange(&mut plugin, &[initialize, &b"\n"[..]].concat())?;
    let resident = resident_kib(&plugin)?;
    let ping = call("ping");
    let (mut echoed, mut inline, mut pooled) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        echoed.push(micros(&mut raw, &ping)?);
        inline.push(micros(&mut plugin, &ping)?);
        pooled.push(micros(&mut plugin, &call("echo"))?);
    }
    let [raw_echo, inline, pooled] = [echoed, inline, pooled].map(median);
    println!("raw pipe echo      {raw_echo:7.2} µs");
    println!(
        "inline method      {inline:7.2} µs  {:.2} ×",
        inline / raw_echo
    );
    println!(
        "method on the pool {pooled:7.2} µs  {:.2} ×",
        pooled / raw_echo
    );
    println!("idle plugin        {resident} KiB (private, after initialize)");
    for mut child in [raw, plugin] {
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(())
}

fn call(method: &str) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":123456,\"method\":\"service.call\",\"params\":{{\"service\":\"conformance\",\"method\":\"{method}\",\"timeout_ms\":30000}}}}\n"
    )
    .into_bytes()
}

/// Sends back what comes, and does nothing else: the floor.
fn echo() -> Result<()> {
    let (mut bytes, mut input, mut output) = ([0; 4096], stdin().lock(), stdout().lock());
    loop {
        let read = input.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        output.write_all(bytes.get(..read).unwrap_or_default())?;
        output.flush()?;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement of its own, outside any node"
)]
fn start(command: &[String]) -> Result<Child> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    Ok(Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?)
}

fn exchange(child: &mut Child, line: &[u8]) -> Result<()> {
    child.stdin.as_mut().ok_or("no stdin")?.write_all(line)?;
    let (output, mut bytes) = (child.stdout.as_mut().ok_or("no stdout")?, [0; 4096]);
    loop {
        let read = output.read(&mut bytes)?;
        if read == 0 {
            return Err("the child ended".into());
        }
        if bytes.get(..read).and_then(<[u8]>::last) == Some(&b'\n') {
            return Ok(());
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement of its own, outside any node"
)]
fn micros(child: &mut Child, line: &[u8]) -> Result<f64> {
    for _ in 0..ROUNDS / 10 {
        exchange(child, line)?;
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        exchange(child, line)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn resident_kib(child: &Child) -> Result<u64> {
    let text = fs::read_to_string(PathBuf::from(format!("/proc/{}/smaps_rollup", child.id())))?;
    let private = text.lines().filter(|line| line.starts_with("Private"));
    Ok(private
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum())
}
