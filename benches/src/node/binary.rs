//! The real program as a child process.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::{clock, observer, programs};

/// A running node; killed when dropped, and its keeper ends the plugins.
pub(crate) struct Node {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Node {
    /// Starts a node with these entries.
    pub(crate) fn start(entries: &Map<String, Value>) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        write_config(&folder, entries)?;
        #[expect(clippy::disallowed_methods, reason = "the node is what is measured")]
        let mut command = std::process::Command::new(programs::node()?);
        command
            .arg("serve")
            .arg("--config")
            .arg(folder.path().join("treewarden.yaml"))
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("log"))?);
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().context("the node has no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line
            .trim()
            .rsplit("http://")
            .next()
            .and_then(|address| address.parse().ok());
        let address =
            address.with_context(|| format!("the node did not say where it listens: {line}"))?;
        Ok(Self {
            child,
            address,
            folder,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn token(&self) -> anyhow::Result<String> {
        Ok(
            fs::read_to_string(self.folder.path().join("data/admin.token"))?
                .trim()
                .to_owned(),
        )
    }

    /// Makes the running set follow another configuration.
    pub(crate) fn reload(&self, entries: &Map<String, Value>) -> anyhow::Result<()> {
        write_config(&self.folder, entries)?;
        Ok(kill_process(self.pid()?, Signal::HUP)?)
    }

    /// Waits until so many launches have served since the start.
    pub(crate) fn wait_served(&self, count: usize) -> anyhow::Result<()> {
        let log = self.folder.path().join("log");
        let served = || {
            fs::read_to_string(&log)
                .unwrap_or_default()
                .matches(observer::RUNS)
                .count()
        };
        clock::wait_for(
            &format!("the start of {count} entries"),
            Duration::from_secs(120),
            || {
                std::thread::sleep(Duration::from_millis(50));
                (served() >= count).then_some(())
            },
        )
    }

    pub(crate) fn pid(&self) -> anyhow::Result<Pid> {
        let raw = i32::try_from(self.child.id())?;
        Pid::from_raw(raw).context("the node has no process number")
    }

    /// The keeper's process number.
    pub(crate) fn keeper(&self) -> anyhow::Result<Pid> {
        let path = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        for task in fs::read_dir(path)?.flatten() {
            let children = fs::read_to_string(task.path().join("children"))?;
            if let Some(first) = children.split_whitespace().next() {
                return Pid::from_raw(first.parse()?).context("the keeper has no process number");
            }
        }
        anyhow::bail!("the node has no keeper")
    }

    /// Ends it by the ladder.
    pub(crate) fn shut_down(mut self) -> anyhow::Result<()> {
        kill_process(self.pid()?, Signal::TERM)?;
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "the node ended with {status}");
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An entry of the example plugin.
pub(crate) fn ledger(provides: &[&str]) -> anyhow::Result<Value> {
    Ok(json!({ "run": "local", "command": [programs::ledger()?], "provides": provides }))
}

fn write_config(folder: &TempDir, entries: &Map<String, Value>) -> anyhow::Result<()> {
    // JSON is YAML.
    fs::write(
        folder.path().join("treewarden.yaml"),
        serde_json::to_vec(&json!({ "entries": entries }))?,
    )?;
    Ok(())
}
