//! From `start` to an entry that serves.

use std::time::Duration;

use crate::clock::Moment;
use crate::cores::Cores;
use crate::floors::spawn::BareSpawn;
use crate::floors::sync::Appended;
use crate::node::in_process::{Node, entry};
use crate::samples::{Samples, median_ratio};
use crate::table::Row;
use crate::{observer, programs};

const ROUNDS: usize = 10;
const STARTS: usize = 20;
/// Ratio to the floor that may not be exceeded.
const TARGET: f64 = 2.5;
const CORES: Cores = Cores::Two;

/// The floors of everything that starts a plugin: measured in turn with the subject.
pub(super) struct StartFloors {
    spawn: BareSpawn,
    sync: Appended,
    spawned: Samples,
    synced: Samples,
}

impl StartFloors {
    pub(super) fn new(node: &Node) -> anyhow::Result<Self> {
        Ok(Self {
            spawn: BareSpawn::new(programs::ledger()?, node.folder().join("bare"))?,
            sync: Appended::new(node.folder())?,
            spawned: Samples::default(),
            synced: Samples::default(),
        })
    }

    pub(super) fn begin_round(&mut self) {
        self.spawned.begin_round();
        self.synced.begin_round();
    }

    pub(super) fn once(&mut self) -> anyhow::Result<()> {
        self.spawned.add(self.spawn.once()?.first_byte);
        self.synced.add(self.sync.once()?);
        Ok(())
    }

    /// Bare spawn and so many durable steps, by round.
    pub(super) fn sums(&self, durable_steps: u32) -> Vec<Duration> {
        let syncs = self.synced.medians();
        self.spawned
            .medians()
            .into_iter()
            .zip(syncs)
            .map(|(spawn, sync)| spawn + sync * durable_steps)
            .collect()
    }

    pub(super) fn sum(&self, durable_steps: u32) -> Duration {
        self.spawned.percentile(50) + self.synced.percentile(50) * durable_steps
    }

    fn rows(&self) -> [Row; 2] {
        [
            Row::of_times(
                "floor: bare spawn of the plugin to its first byte",
                CORES,
                &self.spawned,
            ),
            Row::of_times("floor: one append + fdatasync", CORES, &self.synced),
        ]
    }
}

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let ledger = programs::ledger()?.display().to_string();
    let node = Node::start(vec![entry("ledger", &[&ledger], &["ledger"])?])?;
    CORES.pin()?;
    let mut floors = StartFloors::new(&node)?;
    let (mut served, mut answered) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        floors.begin_round();
        served.begin_round();
        answered.begin_round();
        for _ in 0..STARTS {
            floors.once()?;
            node.runtime().block_on(node.handle().kill("ledger"))?;
            observer::clear();
            let begun = Moment::now();
            node.runtime().block_on(node.handle().start("ledger"))?;
            answered.add(begun.elapsed());
            served.add(observer::next(observer::RUNS)?.since(begun));
        }
    }
    node.shut_down()?;
    let ratio = median_ratio(&served, &floors.sums(1));
    let mut rows = Vec::from(floors.rows());
    rows.push(
        Row::of_times(
            "start with handshake, to serving (spawn + 1 sync)",
            CORES,
            &served,
        )
        .with_floor(floors.sum(1))
        .with_ratio(ratio)
        .judged("≤ 2.5 ×", ratio <= TARGET),
    );
    rows.push(
        Row::of_times(
            "… to its answer, the wish on disk too (spawn + 2 syncs)",
            CORES,
            &answered,
        )
        .with_floor(floors.sum(2))
        .with_ratio(median_ratio(&answered, &floors.sums(2))),
    );
    Ok(rows)
}
