//! A plugin on streams of the test's own, in this process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::io::{Cursor, Error, ErrorKind, Read, Result, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use treewarden_sdk::{Failure, LogLevel, Plugin};

/// Remembers each write.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<Vec<Vec<u8>>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Writes {
    fn messages(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap().concat();
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

fn pings(count: usize) -> String {
    let line = |id| json!({"jsonrpc": "2.0", "id": id, "method": "service.call", "params": {"service": "s", "method": "ping"}});
    (0..count).map(|id| format!("{}\n", line(id))).collect()
}

fn run(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> ExitCode {
    let mut plugin = Plugin::on_streams("embedded", input, output);
    plugin.service("s").inline("ping", |_| Ok("pong"));
    plugin.run()
}

#[test]
fn answers_of_one_read_leave_in_one_write() {
    let writes = Writes::default();
    assert_eq!(
        run(Cursor::new(pings(100)), writes.clone()),
        ExitCode::SUCCESS
    );
    assert_eq!(writes.0.lock().unwrap().len(), 1);
    assert_eq!(writes.messages().len(), 100);
}

/// A host that is gone is no reason to panic: the end of the input says so.
#[test]
fn broken_output_is_survived() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> Result<usize> {
            Err(Error::from(ErrorKind::BrokenPipe))
        }
        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }
    assert_eq!(run(Cursor::new(pings(3)), Broken), ExitCode::SUCCESS);
}

#[test]
fn name_declared_twice_is_told_and_nothing_runs() {
    let writes = Writes::default();
    let mut plugin = Plugin::on_streams("embedded", Cursor::new(pings(1)), writes.clone());
    plugin
        .service("s")
        .inline("ping", |_| Ok(1))
        .inline("ping", |_| Ok(2));
    assert_eq!(plugin.run(), ExitCode::FAILURE);
    assert!(writes.messages().is_empty());
}

#[test]
fn log_record_that_does_not_fit_is_shortened() {
    let writes = Writes::default();
    let plugin = Plugin::on_streams("embedded", Cursor::new(""), writes.clone());
    let long = "ü".repeat(1_000_000);
    plugin
        .host()
        .log(LogLevel::Warn, &long, &json!({ "long": long }));
    let record = &writes.messages()[0];
    let message = record["params"]["message"].as_str().unwrap();
    assert!(message.len() <= 8192 && long.starts_with(message) && !message.is_empty());
}

#[test]
fn failure_names_the_causes_of_an_error() {
    #[derive(Debug)]
    struct Outer(Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("can't save")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let failure = Failure::from(Outer(Error::other("disk full")));
    assert_eq!(
        (failure.message(), failure.kind().as_str()),
        ("can't save: disk full", "application")
    );
}
