//! What recording a launch costs beside a bare append and sync. Run by hand, with `--ignored --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use treewarden_model::outcome::Outcome;
use treewarden_model::time::WallTime;

#[path = "support/support.rs"]
mod support;
use support::*;

const ROUNDS: usize = 2_000;

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_micros();
    println!(
        "{what:<42} p50 {:>6} µs   p90 {:>6} µs   p99 {:>6} µs",
        at(50),
        at(90),
        at(99)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn record_launch_beside_a_bare_append_and_sync() {
    let (files, directory) = directory();
    let opened = open(&directory).unwrap();
    let mut bare_file = File::options()
        .create(true)
        .append(true)
        .open(files.path().join("bare"))
        .unwrap();
    let (mut bare, mut launches, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    // Taken in turns, so that the disk's moods fall on both.
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        bare_file.write_all(&[7; 125]).unwrap();
        bare_file.sync_data().unwrap();
        bare.push(begin.elapsed());

        let record = next_record(&opened, "ledger");
        let begin = Instant::now();
        opened.store.record_launch(record.clone()).await.unwrap();
        launches.push(begin.elapsed());

        let stop = stop_of(&record, Outcome::Exited);
        let begin = Instant::now();
        opened
            .store
            .record_end(record.key(), stop, WallTime(1))
            .await
            .unwrap();
        ends.push(begin.elapsed());
    }
    show("bare append + fdatasync", bare);
    show("record_launch", launches);
    show("record_end", ends);

    let begin = Instant::now();
    let mut set = tokio::task::JoinSet::new();
    for number in 0..ROUNDS {
        let (store, record) = (
            opened.store.clone(),
            next_record(&opened, &format!("entry-{number}")),
        );
        set.spawn(async move { store.record_launch(record).await });
    }
    while let Some(done) = set.join_next().await {
        done.unwrap().unwrap();
    }
    println!(
        "{ROUNDS} launches at once: {:.0} a second",
        ROUNDS as f64 / begin.elapsed().as_secs_f64()
    );
    opened.store.close().await.unwrap();
    let begin = Instant::now();
    let opened = open(&directory).unwrap();
    println!(
        "opening with {} open launches: {} ms",
        opened.open_launches.len(),
        begin.elapsed().as_millis()
    );
}
