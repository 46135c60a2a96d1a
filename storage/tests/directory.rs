//! A data directory over its life: first start, restart, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use treewarden_model::outcome::Outcome;
use treewarden_model::time::WallTime;
use treewarden_storage::{
    DesiredState, OpenError, OpenOptions, Operations, PageRequest, STOPS_KEPT, StoreError,
    StoreHealth, Token, TokenHash, TokenId,
};
use uuid::Uuid;

#[path = "support/support.rs"]
mod support;
use support::*;

fn token() -> Token {
    Token {
        id: TokenId(Uuid::from_u128(1)),
        hash: TokenHash([2; 32]),
        label: "deploy".to_owned(),
        user: "admin".to_owned(),
        operations: Operations::Only(vec!["entries.view".to_owned()]),
        created: WallTime(3),
        expires: None,
    }
}

/// SUP-13, SUP-17
#[tokio::test]
async fn numbers_grow_and_open_launches_are_known_over_restarts() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    assert!(
        opened.first_start && opened.open_launches.is_empty() && opened.counters_raised.is_none()
    );
    assert_eq!(opened.identity.session.0, 1);
    let (first, second, other) = (
        next_record(&opened, "ledger"),
        next_record(&opened, "ledger"),
        next_record(&opened, "writer"),
    );
    assert_eq!(
        (first.launch, second.launch, other.launch),
        (launch(1), launch(2), launch(1))
    );
    assert_eq!(
        (first.ordinal.0, second.ordinal.0, other.ordinal.0),
        (1, 2, 3)
    );
    // The first number is burned: its launch is never recorded.
    opened.store.record_launch(second.clone()).await.unwrap();
    opened.store.record_launch(other.clone()).await.unwrap();
    opened
        .store
        .record_end(other.key(), stop_of(&other, Outcome::Killed), WallTime(5))
        .await
        .unwrap();
    opened
        .store
        .set_desired(&name("writer"), wanted(DesiredState::Stopped))
        .await
        .unwrap();
    opened.store.put_token(token()).await.unwrap();
    let identity = opened.identity;
    opened.store.close().await.unwrap();

    let opened = open(&directory).unwrap();
    assert!(!opened.first_start && opened.counters_raised.is_none() && opened.damaged.is_empty());
    assert_eq!(
        (opened.identity.node, opened.identity.session.0),
        (identity.node, 2)
    );
    assert_eq!(opened.open_launches, [second]);
    assert_eq!(
        opened.store.last_stop(&name("writer")).unwrap(),
        Some((stop_of(&other, Outcome::Killed), WallTime(5)))
    );
    assert_eq!(opened.store.last_stop(&name("ledger")).unwrap(), None);
    assert_eq!(
        opened.store.desired().unwrap(),
        [(name("writer"), wanted(DesiredState::Stopped))]
    );
    assert_eq!(
        opened.store.token_by_hash(&TokenHash([2; 32])).unwrap(),
        Some(token())
    );
    assert_eq!(
        opened.store.tokens(&PageRequest::first()).unwrap().rows,
        [token()]
    );
    let next = next_record(&opened, "ledger");
    assert_eq!((next.launch, next.ordinal.0), (launch(3), 4));
}

/// SUP-12, SUP-17
#[tokio::test]
async fn a_launch_whose_end_is_unconfirmed_stays_open() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    opened
        .store
        .record_end(
            record.key(),
            stop_of(&record, Outcome::TerminationUnconfirmed),
            WallTime(1),
        )
        .await
        .unwrap();
    opened.store.close().await.unwrap();
    let opened = open(&directory).unwrap();
    assert_eq!(opened.open_launches, std::slice::from_ref(&record));
    opened
        .store
        .record_end(record.key(), stop_of(&record, Outcome::Killed), WallTime(2))
        .await
        .unwrap();
    opened.store.close().await.unwrap();
    assert_eq!(open(&directory).unwrap().open_launches, []);
}

#[tokio::test]
async fn many_launches_at_once_share_syncs() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let store = opened.store.clone();
            let record = next_record(&opened, &format!("entry-{number}"));
            async move { store.record_launch(record).await }
        })
        .collect();
    let mut set = tokio::task::JoinSet::new();
    for task in tasks {
        set.spawn(task);
    }
    while let Some(done) = set.join_next().await {
        done.unwrap().unwrap();
    }
    let statistics = opened.store.statistics();
    assert_eq!(statistics.launches, 200);
    assert!(statistics.log_syncs < 100, "{statistics:?}");
}

/// SUP-19
#[tokio::test]
async fn a_second_opening_fails_at_once_and_names_the_holder() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let error = open(&directory).unwrap_err();
    assert!(
        matches!(&error, OpenError::Locked { holder, .. } if *holder == Some(std::process::id())),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("pid {}", std::process::id())),
        "{error}"
    );
    opened.store.close().await.unwrap();
    open(&directory).unwrap();
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let other = opened.store.clone();
    let record = next_record(&opened, "ledger");
    opened.store.close().await.unwrap();
    assert_eq!(other.record_launch(record).await, Err(StoreError::Closed));
    assert_eq!(
        other
            .set_desired(&name("a"), wanted(DesiredState::Running))
            .await,
        Err(StoreError::Closed)
    );
    assert_eq!(other.desired(), Err(StoreError::Closed));
    assert_eq!(other.close().await, Err(StoreError::Closed));
}

/// SUP-30
#[tokio::test]
async fn others_may_pass_through_but_read_nothing() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    opened.store.close().await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o711);
    assert_eq!(mode(&directory.join("work")), 0o711);
    assert_eq!(mode(&directory.join("db")), 0o700);
    for file in ["lock", "format", "launches.log"] {
        assert_eq!(mode(&directory.join(file)), 0o600, "{file}");
    }
}

/// SUP-19
#[tokio::test]
async fn a_first_start_that_a_crash_cut_off_is_finished() {
    let (_files, directory) = directory();
    drop(open(&directory).unwrap().store.close().await);
    // As it lies there before the last step, and before each earlier one.
    let format = fs::read_to_string(directory.join("format")).unwrap();
    fs::write(
        directory.join("format"),
        format.replace("ready", "creating"),
    )
    .unwrap();
    let opened = open(&directory).unwrap();
    assert!(opened.first_start && opened.counters_raised.is_none());
    opened.store.close().await.unwrap();
    for remove in ["launches.log", "db"] {
        fs::write(
            directory.join("format"),
            format.replace("ready", "creating"),
        )
        .unwrap();
        let path = directory.join(remove);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        if remove == "db" {
            fs::remove_file(directory.join("launches.log")).unwrap();
        }
        let opened = open(&directory).unwrap();
        assert!(
            opened.first_start && opened.counters_raised.is_none(),
            "{remove}"
        );
        opened.store.close().await.unwrap();
    }
}

/// SUP-38
#[tokio::test]
async fn under_the_floor_launches_and_tokens_are_refused_but_ends_and_stops_are_not() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let (record, late) = (
        next_record(&opened, "ledger"),
        next_record(&opened, "ledger"),
    );
    opened.store.record_launch(record.clone()).await.unwrap();
    opened.store.close().await.unwrap();

    let opened = treewarden_storage::open(
        &directory,
        OpenOptions {
            storage_floor: u64::MAX,
            ..options()
        },
    )
    .unwrap();
    let low = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Low { .. })), "{result:?}")
    };
    assert_eq!(opened.store.health(), StoreHealth::Low);
    low(opened.store.next_launch(&name("ledger")).map(drop));
    low(opened.store.record_launch(late).await);
    low(opened.store.put_token(token()).await);
    opened
        .store
        .record_end(record.key(), stop_of(&record, Outcome::Exited), WallTime(1))
        .await
        .unwrap();
    opened
        .store
        .set_desired(&name("ledger"), wanted(DesiredState::Stopped))
        .await
        .unwrap();
    opened.store.close().await.unwrap();
    let opened = open(&directory).unwrap();
    assert_eq!(opened.open_launches, []);
    assert_eq!(opened.store.health(), StoreHealth::Open);
}

#[tokio::test]
async fn a_token_over_its_bounds_is_refused() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let large = Token {
        label: "x".repeat(2000),
        ..token()
    };
    assert!(matches!(
        opened.store.put_token(large).await,
        Err(StoreError::TooLarge { limit: 1024, .. })
    ));
}

/// SUP-17
#[tokio::test]
async fn the_end_of_an_old_launch_is_on_disk_though_it_is_not_among_the_last_stops() {
    let (_files, directory) = directory();
    let opened = open(&directory).unwrap();
    let mut records = Vec::new();
    for _ in 0..=STOPS_KEPT {
        let record = next_record(&opened, "ledger");
        opened.store.record_launch(record.clone()).await.unwrap();
        records.push(record);
    }
    for record in &records[1..] {
        opened
            .store
            .record_end(record.key(), stop_of(record, Outcome::Exited), WallTime(1))
            .await
            .unwrap();
    }
    let (late, syncs) = (&records[0], opened.store.statistics().log_syncs);
    opened
        .store
        .record_end(late.key(), stop_of(late, Outcome::Killed), WallTime(2))
        .await
        .unwrap();
    assert!(
        opened.store.statistics().log_syncs > syncs,
        "only the log has this end, and it was not synced"
    );
    assert_eq!(
        opened.store.stops(&name("ledger")).unwrap().len(),
        STOPS_KEPT
    );
    opened.store.close().await.unwrap();
    assert_eq!(open(&directory).unwrap().open_launches, []);
}
