//! A host small enough to read: it starts a plugin over pipes and talks lines.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// No step of a test takes longer.
pub const BOUND: Duration = Duration::from_secs(20);

/// What is tested.
pub struct Target {
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

impl Target {
    /// The example `conformance` of this crate, which the test build puts beside the tests.
    pub fn rust() -> Self {
        let here = std::env::current_exe().unwrap();
        let build = here.parent().and_then(Path::parent).unwrap();
        Self {
            program: build.join("examples/conformance"),
            arguments: Vec::new(),
        }
    }

    /// Its twin in Python.
    pub fn python() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/tests/conformance.py");
        Self {
            program: "python3".into(),
            arguments: vec![script],
        }
    }

    pub fn start(&self) -> Driver {
        self.start_with(&[])
    }

    pub fn start_with(&self, environment: &[(&str, &str)]) -> Driver {
        let mut driver = self.start_without_log(environment);
        let mut stderr = driver.log_pipe.take().unwrap();
        driver.log = Some(thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        }));
        driver
    }

    /// Nobody reads the plugin's log, and the pipe breaks when its stdin is closed, as when a host dies.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place of these tests that starts processes"
    )]
    pub fn start_without_log(&self, environment: &[(&str, &str)]) -> Driver {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        let (stdin, log_pipe) = (child.stdin.take(), child.stderr.take());
        Driver {
            child,
            stdin,
            lines,
            log_pipe,
            log: None,
            others: VecDeque::new(),
            last_id: 0,
        }
    }
}

/// A running plugin.
pub struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    log_pipe: Option<ChildStderr>,
    log: Option<thread::JoinHandle<String>>,
    others: VecDeque<Value>,
    last_id: u64,
}

impl Driver {
    /// Sends `initialize` and takes its answer.
    pub fn initialize(&mut self) -> Value {
        self.initialize_with(json!({}))
    }

    pub fn initialize_with(&mut self, config: Value) -> Value {
        self.ask(
            "initialize",
            json!({"protocol": "treewarden.plugin/1", "instance": {"id": "writer-eu", "generation": 7}, "launch": 31,
                "plugin": {"id": "conformance", "version": "1.0.0"}, "config": config, "services": ["witness"],
                "limits": {"frame_bytes": 1_048_576, "in_flight": 32}, "unknown": {"is": "ignored"}}),
        )
    }

    /// A plugin that is initialized already.
    pub fn ready(mut self) -> Self {
        let answer = self.initialize();
        assert!(answer["result"].is_object(), "{answer}");
        self
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Begins a call of the service `conformance`.
    pub fn begin(&mut self, method: &str, params: Value, timeout_ms: u64) -> Value {
        self.request(
            "service.call",
            json!({"service": "conformance", "method": method, "params": params, "timeout_ms": timeout_ms}),
        )
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(&id)
    }

    /// Calls the service `conformance` and takes the answer, which is a result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params, 20_000);
        let answer = self.answer(&id);
        answer
            .get("result")
            .unwrap_or_else(|| panic!("no result of {method}: {answer}"))
            .clone()
    }

    /// Calls the service `conformance` and takes the answer, which is an error: its kind and message.
    pub fn call_error(&mut self, method: &str, params: Value) -> (String, String) {
        let id = self.begin(method, params, 20_000);
        error_of(&self.answer(&id))
    }

    /// The answer to a request; what else comes is kept.
    pub fn answer(&mut self, id: &Value) -> Value {
        self.take(&format!("an answer to {id}"), |message| {
            message.get("method").is_none() && message["id"] == *id
        })
    }

    /// A request or notification of the plugin's own.
    pub fn incoming(&mut self, method: &str) -> Value {
        self.take(method, |message| message["method"] == method)
    }

    fn take(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(position) = self.others.iter().position(&wanted) {
            return self.others.remove(position).unwrap();
        }
        loop {
            let line = self
                .lines
                .recv_timeout(BOUND)
                .unwrap_or_else(|error| panic!("waiting for {what}: {error}"));
            let message: Value = serde_json::from_slice(&line)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
            assert_eq!(message["jsonrpc"], "2.0");
            if wanted(&message) {
                return message;
            }
            self.others.push_back(message);
        }
    }

    pub fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub fn close_stdin(&mut self) {
        // The log first, so that it is broken when the plugin sees the end.
        self.log_pipe = None;
        self.stdin = None;
    }

    /// Closes stdin and waits for the exit: status, and what the log says.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.close_stdin();
        self.wait()
    }

    /// Waits for the exit.
    pub fn wait(&mut self) -> (ExitStatus, String) {
        // The log ends with the process, since it has no children.
        let log = self
            .log
            .take()
            .map(|log| log.join().unwrap())
            .unwrap_or_default();
        (self.child.wait().unwrap(), log)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Kind and message of an error answer.
pub fn error_of(answer: &Value) -> (String, String) {
    let error = answer
        .get("error")
        .unwrap_or_else(|| panic!("no error: {answer}"));
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("no text: {error}"))
            .to_owned()
    };
    (text(&error["data"]["kind"]), text(&error["message"]))
}
