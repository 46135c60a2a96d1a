//! What an idle plugin costs the node.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Pid;
use serde_json::{Map, Value};

use crate::cores::Cores;
use crate::node::binary::{Node, ledger};
use crate::table::Row;

const PLUGINS: usize = 1000;
/// Kilobytes (1000 bytes) of the node's memory a plugin.
const TARGET: f64 = 25.0;
const CORES: Cores = Cores::Two;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    CORES.pin()?;
    let node = Node::start(&Map::new())?;
    // One plugin that comes and goes, so that what the first one costs is not counted as the thousandth of it.
    let warm: Map<String, Value> = [("warm".to_owned(), ledger(&[])?)].into_iter().collect();
    node.reload(&warm)?;
    node.wait_served(1)?;
    let before = Memory::of(node.pid()?)?;
    let keeper_before = Memory::of(node.keeper()?)?;
    let mut entries = warm;
    for number in 0..PLUGINS {
        entries.insert(format!("idle-{number}"), ledger(&[])?);
    }
    node.reload(&entries)?;
    node.wait_served(1 + PLUGINS)?;
    // Until what the starts used for a moment is given back.
    std::thread::sleep(Duration::from_secs(2));
    let after = Memory::of(node.pid()?)?;
    let keeper_after = Memory::of(node.keeper()?)?;
    node.shut_down()?;
    let node_cost = after.a_plugin_more_than(before);
    let keeper_cost = keeper_after.a_plugin_more_than(keeper_before);
    let row = |what: String, value: f64| {
        let figure = format!("{value:.1} kB");
        Row::new(
            &what,
            CORES,
            [
                String::new(),
                figure,
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ],
        )
        .with_count(PLUGINS)
    };
    let described = |before: Memory, after: Memory| {
        format!(
            "PSS {:.1} → {:.1} MB",
            before.proportional / 1000.0,
            after.proportional / 1000.0
        )
    };
    Ok(vec![
        row(
            format!("node memory an idle plugin ({})", described(before, after)),
            node_cost,
        )
        .judged("≤ 25 kB", node_cost <= TARGET),
        row(
            format!(
                "keeper memory an idle plugin ({})",
                described(keeper_before, keeper_after)
            ),
            keeper_cost,
        ),
    ])
}

/// A process's share of memory, in kilobytes of 1000 bytes.
#[derive(Debug, Clone, Copy)]
struct Memory {
    proportional: f64,
}

impl Memory {
    fn of(process: Pid) -> anyhow::Result<Self> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.as_raw_pid()))?;
        let kibibytes = |key: &str| -> anyhow::Result<f64> {
            let line = rollup
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .context("no such line in smaps_rollup")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok(Self {
            proportional: kibibytes("Pss:")? * 1.024,
        })
    }

    fn a_plugin_more_than(self, before: Self) -> f64 {
        (self.proportional - before.proportional) / PLUGINS as f64
    }
}
