//! What users run: the release build, started as `examples/run` starts it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use treewarden_kit::{binaries, process, skipped, wait_for};

const BOUND: Duration = Duration::from_secs(20);

/// A release node that is ended whatever becomes of the test.
struct Release {
    node: Child,
    url: String,
    data: tempfile::TempDir,
    program: PathBuf,
}

impl Drop for Release {
    fn drop(&mut self) {
        drop(self.node.kill());
        drop(self.node.wait());
    }
}

impl Release {
    fn start(program: PathBuf) -> Self {
        let data = tempfile::tempdir().unwrap();
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/treewarden.yaml");
        let mut node = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .arg("--data-dir")
            .arg(data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(node.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("treewarden ready on ")
            .expect("the ready line")
            .to_owned();
        Self {
            node,
            url,
            data,
            program,
        }
    }

    fn client(&self, arguments: &[&str]) -> Output {
        Command::new(&self.program)
            .args(arguments)
            .args(["--url", &self.url, "--token-file"])
            .arg(self.data.path().join("admin.token"))
            .output()
            .unwrap()
    }

    /// The answer's head, from a plain connection: the client has no verb for what should not be there.
    fn post(&self, path: &str) -> String {
        let address = self.url.strip_prefix("http://").unwrap();
        let token = std::fs::read_to_string(self.data.path().join("admin.token")).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: 2\r\nconnection: close\r\n\r\n{{}}",
            token.trim()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn says(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.client(arguments).stdout).unwrap()
    }
}

/// SUP-03: the release build runs the shipped examples; the faults that tests use are not in it.
#[test]
fn release_build_runs_the_examples_and_has_no_faults() {
    let program = binaries::target().join("release/treewarden");
    if !program.exists() {
        return skipped(
            "release_build_runs_the_examples_and_has_no_faults",
            "there is no release build; tests/run makes one",
        );
    }
    let mut release = Release::start(program);
    wait_for("both examples run", BOUND, || {
        let running = release
            .says(&["status"])
            .lines()
            .filter(|line| line.contains(" running "))
            .count();
        (running == 2).then_some(())
    });
    let appended = release.says(&[
        "entry",
        "call",
        "ledger",
        "ledger",
        "append",
        r#"{"text":"hello"}"#,
    ]);
    assert!(appended.contains("index"), "{appended}");
    assert!(release.says(&["tree"]).contains("entry:writer"));

    let answer = release.post("/debug/actors/0.1/kill");
    assert!(
        answer.starts_with("HTTP/1.1 404 "),
        "faults must not be in a release build: {answer}"
    );

    process::signal(release.node.id(), process::Signal::TERM);
    let ended = wait_for("it ends", BOUND, || release.node.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}
