//! From a plugin's death to the replacement's own code.

use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::Context as _;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, Signal, kill_process};

use super::start::StartFloors;
use crate::clock::Moment;
use crate::cores::Cores;
use crate::node::in_process::{Node, entry};
use crate::programs;
use crate::samples::{Samples, median_ratio};
use crate::table::Row;

const ROUNDS: usize = 10;
const CRASHES: usize = 20;
const TARGET: f64 = 3.0;
const CORES: Cores = Cores::Two;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let ledger = programs::ledger()?.display().to_string();
    let node = Node::start(vec![entry("ledger", &[&ledger], &["ledger"])?])?;
    CORES.pin()?;
    let journal = Opened::watch(&node.working_dir("ledger"))?;
    let mut floors = StartFloors::new(&node)?;
    let mut samples = Samples::default();
    for _ in 0..ROUNDS {
        floors.begin_round();
        samples.begin_round();
        for _ in 0..CRASHES {
            floors.once()?;
            let pid = node.wait_running("ledger")?;
            let pid =
                Pid::from_raw(i32::try_from(pid)?).context("the plugin has no process number")?;
            let begun = Moment::now();
            kill_process(pid, Signal::KILL)?;
            journal.wait()?;
            samples.add(begun.elapsed());
        }
    }
    node.wait_running("ledger")?;
    node.shut_down()?;
    let ratio = median_ratio(&samples, &floors.sums(1));
    Ok(vec![
        Row::of_times(
            "crash to the replacement's own code (spawn + 1 sync)",
            CORES,
            &samples,
        )
        .with_floor(floors.sum(1))
        .with_ratio(ratio)
        .judged("≤ 3 ×", ratio <= TARGET),
    ])
}

/// Tells when the plugin opens its journal: a little after its program was executed, and before its first byte.
struct Opened {
    watch: OwnedFd,
}

impl Opened {
    fn watch(folder: &Path) -> anyhow::Result<Self> {
        let watch = inotify::init(CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watch, folder.join("ledger.jsonl"), WatchFlags::OPEN)?;
        Ok(Self { watch })
    }

    fn wait(&self) -> anyhow::Result<()> {
        let mut events = [0; 4096];
        let read = rustix::io::read(&self.watch, &mut events)?;
        anyhow::ensure!(read > 0, "the journal can't be watched");
        Ok(())
    }
}
