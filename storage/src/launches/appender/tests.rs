use std::fs::OpenOptions;
use std::path::Path;

use tokio::sync::Semaphore;
use treewarden_model::id::{Instance, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::time::WallTime;
use uuid::Uuid;

use super::*;
use crate::health::StoreHealth;

fn appender_to(path: &str, floor: u64) -> (AppenderSender, Arc<Health>) {
    let file = LogFile::new(OpenOptions::new().write(true).open(path).unwrap(), 0, 0);
    let state = LogState::new(NodeId(Uuid::from_u128(5)));
    let health = Arc::new(Health::new(Path::new("/dev"), floor));
    let numbers = Numbers::new(state.counters.clone());
    let (appender, sender) = Appender::new("/dev".into(), file, state, numbers, health.clone());
    std::thread::spawn(move || appender.run());
    (sender, health)
}

async fn record(sender: &AppenderSender, launch: u64) -> Result<(), StoreError> {
    let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    let (answer, answered) = oneshot::channel();
    let record = LaunchRecord {
        entry: EntryName::parse("ledger").unwrap(),
        launch: LaunchNumber::from_stored(launch),
        ordinal: LaunchOrdinal(launch),
        instance: Instance::local(Uuid::from_u128(1)),
        pid: 1,
        start_time: 1,
        boot_id: Uuid::from_u128(1),
        session: SessionNumber(1),
        recorded_at: WallTime(1),
    };
    sender.launch(record, answer, permit).unwrap();
    answered.await.unwrap()
}

/// SUP-38
#[tokio::test]
async fn a_failed_write_closes_the_store() {
    let (sender, health) = appender_to("/dev/full", 0);
    let first = record(&sender, 1).await.unwrap_err();
    assert!(
        matches!(&first, StoreError::Failed { reason } if reason.contains("could not write launches.log")),
        "{first}"
    );
    assert_eq!(record(&sender, 2).await, Err(first.clone()));
    assert!(matches!(health.state(), StoreHealth::Failed(_)));
    assert_eq!(sender.close(), Err(first));
}

/// SUP-38
#[tokio::test]
async fn a_failed_sync_closes_the_store_and_is_not_tried_again() {
    // Takes every write and can't be synced.
    let (sender, health) = appender_to("/dev/null", 0);
    let first = record(&sender, 1).await.unwrap_err();
    assert!(
        matches!(&first, StoreError::Failed { reason } if reason.contains("could not sync launches.log")),
        "{first}"
    );
    assert_eq!(record(&sender, 2).await, Err(first));
    assert_eq!(health.statistics().log_syncs, 0);
    assert_eq!(health.statistics().launches, 0);
}

/// SUP-38
#[tokio::test]
async fn a_launch_under_the_floor_is_refused_without_closing_the_store() {
    let (sender, health) = appender_to("/dev/null", u64::MAX);
    assert!(matches!(
        record(&sender, 1).await,
        Err(StoreError::Low { .. })
    ));
    assert_eq!(health.state(), StoreHealth::Low);
    assert_eq!(health.check(), Ok(()));
}
