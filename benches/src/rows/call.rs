//! Calls of a service in the node's process.

use std::time::Duration;

use anyhow::Context as _;
use treewarden_actors::NodeHandle;

use crate::clock::Moment;
use crate::cores::Cores;
use crate::floors::echo::Echo;
use crate::node::in_process::{Node, entry};
use crate::programs;
use crate::samples::{Samples, median, median_ratio};
use crate::table::Row;

const ROUNDS: usize = 20;
const CALLS: usize = 2000;
const ROUND_TRIP_TARGET: f64 = 2.0;

const IN_FLIGHT: usize = 32;
const THROUGHPUT_ROUNDS: usize = 10;
const CALLS_A_CALLER: usize = 2000;
const THROUGHPUT_TARGET: f64 = 100_000.0;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let ledger = programs::ledger()?.display().to_string();
    let node = Node::start(vec![entry("ledger", &[&ledger], &["ledger"])?])?;
    let mut rows = round_trip(&node)?;
    rows.push(throughput(&node)?);
    node.shut_down()?;
    Ok(rows)
}

async fn ping(handle: &NodeHandle) -> anyhow::Result<()> {
    let answer = handle.call("ledger", "ledger", "ping", None, None).await?;
    anyhow::ensure!(
        answer.get() == "\"pong\"",
        "ping was answered {}",
        answer.get()
    );
    Ok(())
}

fn round_trip(node: &Node) -> anyhow::Result<Vec<Row>> {
    const CORES: Cores = Cores::One;
    CORES.pin()?;
    let mut echo = Echo::start()?;
    let (mut floor, mut subject) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        floor.begin_round();
        for _ in 0..CALLS {
            floor.add(echo.once()?);
        }
        let handle = node.handle().clone();
        // A task and not the bench's own thread: calls come from tasks, of the edge or of other plugins.
        let calls = node.runtime().spawn(async move {
            let mut times = Vec::with_capacity(CALLS);
            for _ in 0..CALLS {
                let begun = Moment::now();
                ping(&handle).await?;
                times.push(begun.elapsed());
            }
            anyhow::Ok(times)
        });
        subject.begin_round();
        for time in node.runtime().block_on(calls)?? {
            subject.add(time);
        }
    }
    let ratio = median_ratio(&subject, &floor.medians());
    Ok(vec![
        Row::of_times("floor: raw pipe echo of a line", CORES, &floor),
        Row::of_times("call round trip, in process", CORES, &subject)
            .with_floor(floor.percentile(50))
            .with_ratio(ratio)
            .judged("≤ 2 ×", ratio <= ROUND_TRIP_TARGET),
    ])
}

fn throughput(node: &Node) -> anyhow::Result<Row> {
    const CORES: Cores = Cores::Two;
    CORES.pin()?;
    let mut rates = Vec::new();
    let mut times = Samples::default();
    for _ in 0..THROUGHPUT_ROUNDS {
        let begun = Moment::now();
        let callers: Vec<_> = (0..IN_FLIGHT)
            .map(|_| {
                let handle = node.handle().clone();
                node.runtime().spawn(async move {
                    let mut times = Vec::with_capacity(CALLS_A_CALLER);
                    for _ in 0..CALLS_A_CALLER {
                        let begun = Moment::now();
                        ping(&handle).await?;
                        times.push(begun.elapsed());
                    }
                    anyhow::Ok(times)
                })
            })
            .collect();
        let mut all: Vec<Duration> = Vec::new();
        for caller in callers {
            all.extend(node.runtime().block_on(caller)??);
        }
        rates.push((IN_FLIGHT * CALLS_A_CALLER) as f64 / begun.elapsed().as_secs_f64());
        times.begin_round();
        for time in all {
            times.add(time);
        }
    }
    let best = rates
        .iter()
        .copied()
        .reduce(f64::max)
        .context("nothing was measured")?;
    let middle = median(&mut rates);
    let what = format!("calls in process, 32 in flight: {middle:.0}/s (best round {best:.0}/s)");
    Ok(Row::of_times(&what, CORES, &times).judged("≥ 100 000/s", middle >= THROUGHPUT_TARGET))
}
