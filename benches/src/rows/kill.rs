//! From SIGKILL to a confirmed exit.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use crate::clock::{self, Moment};
use crate::cores::Cores;
use crate::floors::spawn::BareSpawn;
use crate::node::in_process::{Node, entry};
use crate::samples::{Samples, median_ratio};
use crate::table::Row;
use crate::{observer, programs};

const ROUNDS: usize = 10;
const KILLS: usize = 20;
const PROCESS_TARGET: Duration = Duration::from_micros(500);
const FAMILY_TARGET: Duration = Duration::from_millis(2);
const CORES: Cores = Cores::Two;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let [floor, process, verb] = process()?;
    let family = family()?;
    let row = |what, samples: &Samples| Row::of_times(what, CORES, samples);
    Ok(vec![
        row("floor: SIGKILL of a bare plugin to its reaping", &floor),
        row("SIGKILL to confirmed, one process", &process)
            .with_floor(floor.percentile(50))
            .with_ratio(median_ratio(&process, &floor.medians()))
            .judged("p50 ≤ 0.5 ms", process.percentile(50) <= PROCESS_TARGET),
        row(
            "SIGKILL to confirmed, family with a double-forked daemon",
            &family,
        )
        .judged("p50 ≤ 2 ms", family.percentile(50) <= FAMILY_TARGET),
        row("… the verb `kill` to confirmed, one process", &verb),
    ])
}

/// The floor, a SIGKILL from outside, and the node's own verb, in turn.
fn process() -> anyhow::Result<[Samples; 3]> {
    let ledger = programs::ledger()?;
    let bare = BareSpawn::new(ledger.clone(), std::env::temp_dir())?;
    let node = Node::start(vec![entry(
        "ledger",
        &[&ledger.display().to_string()],
        &["ledger"],
    )?])?;
    CORES.pin()?;
    let (mut floor, mut outside, mut verb) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        floor.begin_round();
        outside.begin_round();
        verb.begin_round();
        for _ in 0..KILLS {
            floor.add(bare.once()?.end);
            let pid = node.wait_running("ledger")?;
            outside.add(kill_from_outside(pid)?);
            node.wait_replaced("ledger", Some(pid))?;
            verb.add(kill_by_verb(&node, "ledger")?);
        }
    }
    node.shut_down()?;
    Ok([floor, outside, verb])
}

/// SIGKILL of the plugin's own process; the node kills what it leaves behind.
fn family() -> anyhow::Result<Samples> {
    let faulty = programs::faulty_plugin()?.display().to_string();
    let command = [faulty.as_str(), "--name", "family", "--daemon", "daemon"];
    let node = Node::start(vec![entry("family", &command, &[])?])?;
    CORES.pin()?;
    let pid_file = node.working_dir("family").join("daemon");
    let mut samples = Samples::default();
    let mut killed = None;
    for _ in 0..ROUNDS {
        samples.begin_round();
        for _ in 0..KILLS {
            let pid = node.wait_replaced("family", killed)?;
            // The daemon says its number when it is on its own; the file goes, so that the next one is noticed.
            clock::wait_for("the daemon's start", Duration::from_secs(10), || {
                fs::read_to_string(&pid_file)
                    .ok()
                    .filter(|text| text.ends_with('\n'))
            })?;
            fs::remove_file(&pid_file).context("the daemon's file could not be removed")?;
            samples.add(kill_from_outside(pid)?);
            killed = Some(pid);
        }
    }
    node.wait_replaced("family", killed)?;
    node.shut_down()?;
    Ok(samples)
}

/// From the signal, through keeper and machines, to the log line of the confirmed exit.
fn kill_from_outside(pid: u32) -> anyhow::Result<Duration> {
    let pid = Pid::from_raw(i32::try_from(pid)?).context("the plugin has no process number")?;
    observer::clear();
    let begun = Moment::now();
    kill_process(pid, Signal::KILL)?;
    Ok(observer::next(observer::TERMINATED)?.since(begun))
}

/// The same from the call of `kill`, which also writes down that the entry is stopped; then the entry is started again.
fn kill_by_verb(node: &Node, entry: &str) -> anyhow::Result<Duration> {
    observer::clear();
    let (handle, name) = (node.handle().clone(), entry.to_owned());
    let begun = Moment::now();
    let answer = node
        .runtime()
        .spawn(async move { handle.kill(&name).await });
    let took = observer::next(observer::TERMINATED)?.since(begun);
    node.runtime().block_on(answer)??;
    node.runtime().block_on(node.handle().start(entry))?;
    Ok(took)
}
