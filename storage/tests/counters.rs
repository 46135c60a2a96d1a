//! Counters: numbers are never given twice, whatever happens to the log.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

use std::fs;

use treewarden_model::outcome::Outcome;
use treewarden_model::time::WallTime;
use treewarden_storage::{CounterJump, StoreError};

#[path = "support/support.rs"]
mod support;
use support::*;

/// SUP-13
#[tokio::test]
async fn a_launch_number_is_recorded_once() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    let again = opened.store.record_launch(record.clone()).await;
    assert_eq!(again, Err(StoreError::StaleLaunch(record.key())));
}

/// SUP-13
#[tokio::test]
async fn a_missing_log_raises_every_counter_by_a_million() {
    let (_files, directory) = used().await;
    fs::remove_file(directory.join("launches.log")).unwrap();
    let opened = open(&directory).unwrap();
    assert_eq!(opened.counters_raised, Some(CounterJump::LogMissing));
    // The database knows of launch 1 only: launch 2 has not ended.
    assert_eq!(next_record(&opened, "ledger").launch, launch(1_000_002));
    assert_eq!(next_record(&opened, "unknown").launch, launch(1_000_001));
    assert!(opened.identity.session.0 > 1_000_000);
    opened.store.close().await.unwrap();
    // Once, and it lasts.
    let opened = open(&directory).unwrap();
    assert_eq!(opened.counters_raised, None);
    assert!(next_record(&opened, "ledger").launch > launch(1_000_001));
    assert!(next_record(&opened, "never-seen").launch > launch(1_000_000));
}

/// SUP-13
#[tokio::test]
async fn an_older_log_raises_every_counter_by_a_million() {
    let (_files, directory) = used().await;
    let old = fs::read(directory.join("launches.log")).unwrap();
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    opened.store.close().await.unwrap();
    fs::write(directory.join("launches.log"), old).unwrap();
    let opened = open(&directory).unwrap();
    assert_eq!(opened.counters_raised, Some(CounterJump::LogBehind));
    assert!(next_record(&opened, "ledger").launch > launch(1_000_000));
}

/// SUP-13
#[tokio::test]
async fn a_torn_tail_is_cut_off_and_burns_one_groups_numbers() {
    let (_files, directory) = used().await;
    let log = directory.join("launches.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(&[0, 0, 0, 60, 1, 2, 3]);
    fs::write(&log, bytes).unwrap();
    let opened = open(&directory).unwrap();
    assert_eq!(opened.counters_raised, Some(CounterJump::TornTail));
    assert_eq!(opened.open_launches.len(), 1);
    assert!(next_record(&opened, "ledger").launch > launch(2 + 64));
    assert!(next_record(&opened, "unknown").launch > launch(64));
    opened.store.close().await.unwrap();
    assert_eq!(open(&directory).unwrap().counters_raised, None);
}

/// SUP-13
#[tokio::test]
async fn the_log_is_compacted_and_keeps_counters_and_open_launches() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let kept = next_record(&opened, "kept");
    opened.store.record_launch(kept.clone()).await.unwrap();
    let mut number = 0;
    while opened.store.statistics().log_compactions == 0 {
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..60 {
            let (store, record) = (
                opened.store.clone(),
                next_record(&opened, &format!("entry-{}", number % 60)),
            );
            number += 1;
            set.spawn(async move {
                store.record_launch(record.clone()).await?;
                store
                    .record_end(record.key(), stop_of(&record, Outcome::Exited), WallTime(1))
                    .await
            });
        }
        while let Some(done) = set.join_next().await {
            done.unwrap().unwrap();
        }
        assert!(number < 20_000, "never compacted");
    }
    let next = next_record(&opened, "entry-0").launch;
    opened.store.close().await.unwrap();
    assert!(fs::metadata(directory.join("launches.log")).unwrap().len() < 200_000);
    let opened = open(&directory).unwrap();
    assert_eq!(opened.open_launches, [kept]);
    assert!(next_record(&opened, "entry-0").launch >= next);
    assert_eq!(opened.counters_raised, None);
}
