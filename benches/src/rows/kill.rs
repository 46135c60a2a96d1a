//! From SIGKILL to a confirmed exit.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

use crate::clock::{self, Moment};
use crate::cores::Cores;
use crate::node::in_process::{Node, entry};
use crate::samples::Samples;
use crate::table::Row;
use crate::{observer, programs};

const ROUNDS: usize = 10;
const KILLS: usize = 20;
const PROCESS_TARGET: Duration = Duration::from_micros(500);
const FAMILY_TARGET: Duration = Duration::from_millis(2);
const CORES: Cores = Cores::Two;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let ledger = programs::ledger()?.display().to_string();
    let process = {
        let node = Node::start(vec![entry("ledger", &[&ledger], &["ledger"])?])?;
        CORES.pin()?;
        let samples = kill(&node, "ledger", |_| Ok(()))?;
        node.shut_down()?;
        samples
    };
    let family = {
        let faulty = programs::faulty_plugin()?.display().to_string();
        let command = [faulty.as_str(), "--name", "family", "--daemon", "daemon"];
        let node = Node::start(vec![entry("family", &command, &[])?])?;
        CORES.pin()?;
        let pid_file = node.working_dir("family").join("daemon");
        let samples = kill(&node, "family", |_| {
            // The daemon says its number when it is on its own; the file goes, so that the next one is noticed.
            clock::wait_for("the daemon's start", Duration::from_secs(10), || {
                fs::read_to_string(&pid_file).ok().filter(|text| text.ends_with('\n'))
            })?;
            fs::remove_file(&pid_file).context("the daemon's file could not be removed")
        })?;
        node.shut_down()?;
        samples
    };
    let row = |what, samples: &Samples, target: Duration, text| {
        Row::of_times(what, CORES, samples).judged(text, samples.percentile(50) <= target)
    };
    Ok(vec![
        row("kill to confirmed, one process", &process, PROCESS_TARGET, "p50 ≤ 0.5 ms"),
        row("kill to confirmed, family with a double-forked daemon", &family, FAMILY_TARGET, "p50 ≤ 2 ms"),
    ])
}

/// From the call of `kill`, through the keeper, to the log line of the confirmed exit.
fn kill(node: &Node, entry: &str, ready: impl Fn(u32) -> anyhow::Result<()>) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        samples.begin_round();
        for _ in 0..KILLS {
            ready(node.wait_running(entry)?)?;
            observer::clear();
            let begun = Moment::now();
            let handle = node.handle().clone();
            let name = entry.to_owned();
            let answer = node.runtime().spawn(async move { handle.kill(&name).await });
            samples.add(observer::next(observer::TERMINATED)?.since(begun));
            node.runtime().block_on(answer)??;
            node.runtime().block_on(node.handle().start(entry))?;
        }
    }
    Ok(samples)
}
