//! A running node on a directory of its own.

mod http;
mod log;
mod remains;
mod start;

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Output};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{self, Process};
use crate::trace::{Event, Trace};
use crate::{Entry, wait_for};

/// How a node is started, beside its configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Address to listen on; a free loopback port unless set.
    pub listen: Option<String>,
    /// More arguments of `serve`.
    pub arguments: Vec<String>,
    /// More environment variables.
    pub environment: Vec<(String, String)>,
    /// A command that runs the node's, such as `unshare --fork --pid`.
    pub wrapper: Vec<String>,
    /// The log goes into a pipe that nobody reads, not to `node.log`.
    pub stalled_log: bool,
    /// Leave out `--config`.
    pub without_config: bool,
}

/// A node. Dropping it kills it, and asserts that none of its processes is left.
#[derive(Debug)]
pub struct Node {
    directory: TempDir,
    options: Options,
    child: Child,
    url: String,
    agent: ureq::Agent,
    marks: remains::Marks,
}

/// How long a node may take to be ready, with leftovers to deal with.
pub const READY_BOUND: Duration = Duration::from_secs(40);

impl Node {
    /// Starts a node with these entries.
    ///
    /// # Panics
    /// It is not ready in time; its log is shown.
    #[track_caller]
    pub fn with(entries: &[Entry]) -> Self {
        Self::with_options(entries, Options::default())
    }

    /// Starts a node with these entries and options.
    ///
    /// # Panics
    /// It is not ready in time; its log is shown.
    #[track_caller]
    pub fn with_options(entries: &[Entry], options: Options) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("treewarden-test-")
            .tempdir()
            .expect("a temporary directory");
        let text = crate::config(
            entries,
            &directory.path().join("trace.jsonl").display().to_string(),
        );
        Self::start_in(directory, &text, options)
    }

    /// Starts a node with this configuration file.
    ///
    /// # Panics
    /// It is not ready in time; its log is shown.
    #[track_caller]
    pub fn start(config: &str, options: Options) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("treewarden-test-")
            .tempdir()
            .expect("a temporary directory");
        Self::start_in(directory, config, options)
    }

    #[track_caller]
    fn start_in(directory: TempDir, config: &str, options: Options) -> Self {
        std::fs::write(directory.path().join("treewarden.yaml"), config)
            .expect("the configuration is written");
        let child = start::spawn(directory.path(), &options);
        let agent = http::agent();
        let marks = remains::Marks::new(directory.path());
        let mut node = Self {
            directory,
            options,
            child,
            url: String::new(),
            agent,
            marks,
        };
        node.wait_ready();
        node
    }

    /// Runs `serve` to its end, for starts that must fail: exit status and stderr.
    ///
    /// # Panics
    /// It is still running after the bound.
    pub fn refused(directory: &Path, options: &Options) -> Output {
        start::run_to_end(directory, options)
    }

    /// Runs the binary by itself, in an empty directory.
    ///
    /// # Panics
    /// It is still running after 20 seconds.
    pub fn command(arguments: &[&str]) -> Output {
        start::plain(arguments, Duration::from_secs(20))
    }

    /// The temporary directory: `treewarden.yaml`, `data`, `trace.jsonl`, `node.log`, `node.out`.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.directory().join("data")
    }

    /// The node's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `http://127.0.0.1:PORT`, from the ready line.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The administrator's token.
    pub fn token(&self) -> String {
        std::fs::read_to_string(self.data().join("admin.token"))
            .expect("admin.token is there")
            .trim()
            .to_owned()
    }

    /// Replaces the configuration file by one with these entries; says nothing to the node.
    pub fn configure(&self, entries: &[Entry]) {
        let text = crate::config(
            entries,
            &self.directory().join("trace.jsonl").display().to_string(),
        );
        self.configure_text(&text);
    }

    /// Replaces the configuration file.
    pub fn configure_text(&self, text: &str) {
        // In one step, as an editor does it: a reload must never meet half a file.
        let fresh = self.directory().join("treewarden.yaml.new");
        std::fs::write(&fresh, text).expect("write configuration");
        std::fs::rename(fresh, self.directory().join("treewarden.yaml"))
            .expect("replace configuration");
    }

    /// Kills the node with SIGKILL and waits for its exit; its plugins and keeper may still be there.
    pub fn kill9(&mut self) {
        process::kill9(self.pid());
        self.wait_exit(Duration::from_secs(10));
    }

    /// Asks the node to end, and gives its exit code.
    pub fn terminate(&mut self) -> i32 {
        process::signal(self.pid(), Signal::TERM);
        self.wait_exit(Duration::from_secs(60)).code().unwrap_or(-1)
    }

    /// Waits for the node's exit.
    #[track_caller]
    pub fn wait_exit(&mut self, bound: Duration) -> ExitStatus {
        let child = &mut self.child;
        wait_for("the node ends", bound, || {
            child.try_wait().expect("the node is our child")
        })
    }

    /// Whether the node's process has not ended.
    pub fn running(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("the node is our child")
            .is_none()
    }

    /// Starts an ended node again on the same directory, and waits until it is ready.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(
            !self.running(),
            "the node must have ended before it is started again"
        );
        self.child = start::spawn(self.directory(), &self.options);
        self.wait_ready();
    }

    /// Ends the node in order and starts it again.
    #[track_caller]
    pub fn restart(&mut self) {
        assert_eq!(
            self.terminate(),
            0,
            "a clean end; log:\n{}",
            self.log_tail()
        );
        self.start_again();
    }

    #[track_caller]
    fn wait_ready(&mut self) {
        match start::wait_ready(&mut self.child, self.directory.path(), READY_BOUND) {
            Ok(url) => self.url = url,
            Err(why) => panic!("the node is not ready: {why}; log:\n{}", self.log_tail()),
        }
    }

    /// Whether the binary is built with the feature `faults`.
    pub fn has_faults(&self) -> bool {
        self.post("/debug/faults/ballast", &json!({ "bytes": 0 })).0 == 200
    }

    /// Environment of later starts.
    pub fn set_environment(&mut self, environment: Vec<(String, String)>) {
        self.options.environment = environment;
    }

    /// Status of one entry.
    ///
    /// # Panics
    /// The node does not answer 200.
    #[track_caller]
    pub fn entry(&self, name: &str) -> Value {
        let (status, body) = self.get(&format!("/api/console/entries/{name}"));
        assert_eq!(status, 200, "{body}");
        body
    }

    /// State of one entry: `running`, `failed`…
    #[track_caller]
    pub fn state(&self, name: &str) -> String {
        self.entry(name)["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until an entry is in a state, and gives its status.
    #[track_caller]
    pub fn wait_state(&self, name: &str, state: &str, bound: Duration) -> Value {
        let mut last = Value::Null;
        let found = crate::wait::Stopwatch::start();
        while found.elapsed() < bound {
            last = self.entry(name);
            if last["state"] == state {
                return last;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{name} is not {state} after {bound:?}: {last:#}");
    }

    /// Waits until an entry runs, and gives its status.
    #[track_caller]
    pub fn wait_running(&self, name: &str) -> Value {
        self.wait_state(name, "running", Duration::from_secs(20))
    }

    /// Process of a running entry.
    #[track_caller]
    pub fn pid_of(&self, name: &str) -> u32 {
        let status = self.entry(name);
        let pid = status["pid"]
            .as_u64()
            .and_then(|pid| u32::try_from(pid).ok());
        pid.unwrap_or_else(|| panic!("{name} has no pid: {status:#}"))
    }

    /// A verb on an entry: `start stop restart kill reset confirm-exit`.
    pub fn verb(&self, name: &str, verb: &str) -> (u16, Value) {
        self.post(&format!("/api/console/entries/{name}/{verb}"), &json!({}))
    }

    /// Stops an entry, and gives the stop result.
    ///
    /// # Panics
    /// The node does not answer 200.
    #[track_caller]
    pub fn stop(&self, name: &str) -> Value {
        let (status, body) = self.verb(name, "stop");
        assert_eq!(status, 200, "{body:#}");
        body
    }

    /// Calls a service through an entry that provides it: the whole answer.
    pub fn call(&self, entry: &str, service: &str, method: &str, params: &Value) -> (u16, Value) {
        let body = json!({ "service": service, "method": method, "params": params });
        self.post(&format!("/api/console/entries/{entry}/call"), &body)
    }

    /// Calls a service, and gives the result.
    ///
    /// # Panics
    /// The node does not answer 200.
    #[track_caller]
    pub fn result(&self, entry: &str, service: &str, method: &str, params: &Value) -> Value {
        let (status, body) = self.call(entry, service, method, params);
        assert_eq!(status, 200, "{body:#}");
        body["result"].clone()
    }

    /// Switches a fault on in a running plugin, which provides a service of this name.
    #[track_caller]
    pub fn set_fault(&self, entry: &str, service: &str, fault: &str, value: Value) {
        self.result(
            entry,
            service,
            "set",
            &json!({ "fault": fault, "value": value }),
        );
    }

    /// Live actor tree.
    #[track_caller]
    pub fn actors(&self) -> Value {
        let (status, body) = self.get("/debug/actors?format=json");
        assert_eq!(status, 200, "{body:#}");
        body
    }

    /// Runs the binary as a client of this node.
    pub fn cli(&self, arguments: &[&str]) -> Output {
        start::client(self.url(), &self.data().join("admin.token"), arguments)
    }

    /// What the plugins traced so far.
    pub fn trace(&self) -> Trace {
        Trace::read(&self.directory().join("trace.jsonl"))
    }

    /// Waits until a plugin has traced an event, and gives the last such.
    #[track_caller]
    pub fn wait_event(&self, name: &str, event: &str, bound: Duration) -> Event {
        wait_for(&format!("{name} traces {event}"), bound, || {
            self.trace().of(name, event).last().map(|&one| one.clone())
        })
    }

    /// Processes of this node that run now, but for the node itself: keeper, plugins, and what they left about.
    pub fn processes(&self) -> Vec<Process> {
        self.marks
            .processes()
            .into_iter()
            .filter(|process| process.pid != self.pid())
            .collect()
    }

    /// Processes that run now and were started for an entry (or descend from such).
    pub fn processes_of(&self, entry: &str) -> Vec<Process> {
        let wanted = format!("/{entry}/");
        let launched = |process: &Process| {
            process
                .launch
                .as_deref()
                .is_some_and(|launch| launch.contains(&wanted))
        };
        let command = format!("--name {entry} ");
        let all = self.processes().into_iter();
        all.filter(|process| launched(process) || process.command.contains(&command))
            .collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.running() {
            process::kill9(self.pid());
            let _ = self.child.wait();
        }
        let left = self.marks.wait_gone(Duration::from_secs(6));
        for process in &left {
            process::kill9(process.pid);
        }
        if std::thread::panicking() {
            eprintln!("log of the node:\n{}", self.log_tail());
        } else {
            assert!(
                left.is_empty(),
                "processes left over: {left:#?}; log:\n{}",
                self.log_tail()
            );
        }
    }
}
