//! Calls of a service over HTTP: client, node and plugin on the same two cores.

mod client;

use serde_json::Map;

use crate::cores::Cores;
use crate::node::binary::{Node, ledger};
use crate::samples::{Samples, median};
use crate::table::Row;

const ROUNDS: usize = 10;
const CONNECTIONS: usize = 32;
const CALLS: usize = 20_000;
const TARGET: f64 = 25_000.0;
const CORES: Cores = Cores::Two;

pub(super) fn measure() -> anyhow::Result<Vec<Row>> {
    let mut entries = Map::new();
    entries.insert("ledger".to_owned(), ledger(&["ledger"])?);
    let node = Node::start(&entries)?;
    node.wait_served(1)?;
    CORES.pin()?;
    let mut client = client::Client::connect(node.address(), CONNECTIONS, &request(&node)?)?;
    client.run(CALLS)?;
    let (mut rates, mut times) = (Vec::new(), Samples::default());
    for _ in 0..ROUNDS {
        let run = client.run(CALLS)?;
        rates.push(run.rate);
        times.begin_round();
        for time in run.times {
            times.add(time);
        }
    }
    drop(client);
    node.shut_down()?;
    let best = rates.iter().copied().fold(0.0, f64::max);
    let middle = median(&mut rates);
    let what = format!("calls over HTTP, 32 connections: {middle:.0}/s (best round {best:.0}/s)");
    Ok(vec![
        Row::of_times(&what, CORES, &times).judged("≥ 25 000/s", middle >= TARGET),
    ])
}

fn request(node: &Node) -> anyhow::Result<Vec<u8>> {
    let body = r#"{"service":"ledger","method":"ping"}"#;
    let token = node.token()?;
    let head = format!(
        "POST /api/console/entries/ledger/call HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        node.address(),
        body.len()
    );
    Ok([head.as_bytes(), body.as_bytes()].concat())
}
