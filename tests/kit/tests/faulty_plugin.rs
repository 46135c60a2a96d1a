//! The misbehaving plugin, over plain pipes: what the black-box tests rely on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use treewarden_kit::{process, trace::Trace, wait_for, wait_until};

const BOUND: Duration = Duration::from_secs(10);

struct Plugin {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    directory: tempfile::TempDir,
}

impl Plugin {
    fn start(switches: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_faulty-plugin"));
        command
            .args(["--name", "p", "--provides", "p", "--trace"])
            .arg(directory.path().join("trace.jsonl"));
        command
            .args(switches)
            .env("TREEWARDEN_LAUNCH", "node/p/1")
            .current_dir(directory.path());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        let mut plugin = Self {
            child,
            input,
            output,
            directory,
        };
        plugin.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocol": "treewarden.plugin/1", "instance": { "id": "i", "generation": 1 }, "launch": 1 } }));
        plugin
    }

    fn ready(switches: &[&str]) -> Self {
        let mut plugin = Self::start(switches);
        assert!(plugin.hear()["result"]["provides"]["p"].is_array());
        plugin
    }

    fn say(&mut self, message: &Value) {
        self.input
            .as_mut()
            .unwrap()
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    fn call(&mut self, id: u64, method: &str, params: &Value) {
        let params =
            json!({ "service": "p", "method": method, "params": params, "timeout_ms": 100 });
        self.say(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "service.call", "params": params }),
        );
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::String(line))
    }

    fn ended(&mut self) -> ExitStatus {
        wait_for("the plugin ends", BOUND, || self.child.try_wait().unwrap())
    }

    fn traced(&self) -> Vec<String> {
        let trace = Trace::read(&self.directory.path().join("trace.jsonl"));
        trace.0.into_iter().map(|event| event.event).collect()
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn a_plugin_without_faults_keeps_the_protocol() {
    let mut plugin = Plugin::ready(&[]);
    plugin.call(7, "echo", &json!({ "a": [1] }));
    assert_eq!(
        plugin.hear(),
        json!({ "jsonrpc": "2.0", "id": 7, "result": { "a": [1] } })
    );
    plugin.call(8, "sleep", &json!({ "ms": 30 }));
    plugin.call(9, "ping", &json!({}));
    assert_eq!(
        plugin.hear()["id"],
        9,
        "a slow call does not hold up others"
    );
    assert_eq!(plugin.hear()["id"], 8);
    plugin.say(&json!({ "jsonrpc": "2.0", "id": 10, "method": "shutdown", "params": { "timeout_ms": 100 } }));
    assert_eq!(
        plugin.hear(),
        json!({ "jsonrpc": "2.0", "id": 10, "result": null })
    );
    plugin.input = None;
    assert_eq!(plugin.ended().code(), Some(0));
    let expected = [
        "exec",
        "initialize",
        "initialized",
        "call",
        "call",
        "call",
        "shutdown",
        "finalizer",
        "finalized",
        "stdin_eof",
        "exit",
    ];
    assert_eq!(plugin.traced(), expected);
}

#[test]
fn faults_of_stdout_are_as_named() {
    for (switch, expected) in [
        ("--half-frame", "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu"),
        ("--print-garbage", "hello from a stray print"),
        ("--bad-json", "{\"jsonrpc\":\"2.0\",\"id\":}"),
    ] {
        let mut plugin = Plugin::ready(&[switch]);
        let mut bytes = vec![0; expected.len()];
        std::io::Read::read_exact(&mut plugin.output, &mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
    let mut plugin = Plugin::ready(&["--long-line=2000000"]);
    assert_eq!(plugin.hear().as_str().unwrap().len(), 2_000_001);
    let mut plugin = Plugin::ready(&["--close-stdout"]);
    assert_eq!(plugin.hear(), json!(""), "end of stdout, while it lives on");
    assert!(plugin.child.try_wait().unwrap().is_none());
}

#[test]
fn a_running_plugin_can_be_told_to_misbehave() {
    let mut plugin = Plugin::ready(&[]);
    plugin.call(1, "set", &json!({ "fault": "exit", "value": "42@10" }));
    assert_eq!(plugin.hear()["result"], Value::Null);
    assert_eq!(plugin.ended().code(), Some(42));
    let mut plugin = Plugin::ready(&[]);
    plugin.call(1, "set", &json!({ "fault": "no-such" }));
    assert_eq!(plugin.hear()["error"]["data"]["kind"], "invalid");
}

#[test]
fn sigterm_is_traced_and_died_of_or_ignored() {
    let mut plugin = Plugin::ready(&[]);
    process::signal(plugin.child.id(), rustix::process::Signal::TERM);
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&plugin.ended()),
        Some(15)
    );
    assert!(plugin.traced().contains(&"sigterm".to_owned()));
    let plugin = Plugin::ready(&["--ignore-term"]);
    process::signal(plugin.child.id(), rustix::process::Signal::TERM);
    wait_until("SIGTERM is traced", BOUND, || {
        plugin.traced().contains(&"sigterm".to_owned())
    });
    assert!(process::alive(plugin.child.id()));
}

#[test]
fn a_daemon_leaves_group_session_and_environment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("daemon.pid");
    let mut plugin = Plugin::ready(&[&format!("--daemon={}", file.display())]);
    let read = || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
    let pid: u32 = wait_for("the daemon writes its pid", BOUND, read);
    plugin.child.kill().unwrap();
    let daemon = process::Process::read(pid).unwrap();
    process::kill9(pid);
    assert_eq!(daemon.launch, None);
    assert_ne!(daemon.parent, plugin.child.id());
    assert!(
        daemon
            .command
            .contains(&plugin.directory.path().display().to_string()),
        "a harness finds whose it is"
    );
}
