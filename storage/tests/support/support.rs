//! Helpers of the tests that open data directories.
#![allow(dead_code, reason = "each test binary uses some of them")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use treewarden_model::id::{Instance, LaunchNumber};
use treewarden_model::name::EntryName;
use treewarden_model::outcome::{Cause, Ending, Evidence, ExitStatus, Outcome, StopResult};
use treewarden_model::time::WallTime;
use treewarden_storage::{
    Desired, DesiredState, Fingerprint, LaunchRecord, OpenError, OpenOptions, Opened, StoreError,
    StoreHandle,
};
use uuid::Uuid;

pub(crate) fn name(text: &str) -> EntryName {
    EntryName::parse(text).unwrap()
}

pub(crate) fn directory() -> (TempDir, PathBuf) {
    let files = tempfile::tempdir().unwrap();
    let directory = files.path().join("data");
    (files, directory)
}

pub(crate) fn options() -> OpenOptions {
    OpenOptions {
        storage_floor: 0,
        ..OpenOptions::default()
    }
}

pub(crate) fn open(directory: &Path) -> Result<Opened, OpenError> {
    treewarden_storage::open(directory, options())
}

/// The next launch of an entry, as the node would record it.
pub(crate) fn next_record(opened: &Opened, entry: &str) -> LaunchRecord {
    record_of(&opened.store, opened.identity.session, entry).unwrap()
}

pub(crate) fn record_of(
    store: &StoreHandle,
    session: treewarden_model::id::SessionNumber,
    entry: &str,
) -> Result<LaunchRecord, StoreError> {
    let (launch, ordinal) = store.next_launch(&name(entry))?;
    Ok(LaunchRecord {
        entry: name(entry),
        launch,
        ordinal,
        instance: Instance::local(Uuid::from_u128(u128::from(ordinal.0))),
        pid: std::process::id(),
        start_time: 12_345,
        boot_id: Uuid::from_u128(6),
        session,
        recorded_at: WallTime(1_700_000_000_000),
    })
}

pub(crate) fn stop_of(record: &LaunchRecord, outcome: Outcome) -> StopResult {
    StopResult {
        entry: record.entry.clone(),
        instance: record.instance.clone(),
        launch: record.launch,
        ending: Ending {
            outcome,
            cause: Cause::Requested,
            evidence: Some(Evidence::Tree),
            exit_status: Some(ExitStatus::Code(0)),
            duration: Duration::from_millis(20),
            cleanup: Vec::new(),
        },
    }
}

pub(crate) fn launch(number: u64) -> LaunchNumber {
    LaunchNumber::from_stored(number)
}

/// Every file under a directory but the lock, with its bytes.
pub(crate) fn image(directory: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(image(&path));
        } else if path.file_name().unwrap() != "lock" {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    files
}

/// Says that a test could not run here, where the build collects such lines.
pub(crate) fn skipped(test: &str, why: &str) {
    use std::io::Write;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/skipped");
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    writeln!(file, "{test} {why}").unwrap();
}

pub(crate) fn wanted(state: DesiredState) -> Desired {
    Desired {
        state,
        declared: Fingerprint::from_stored([7; 32]),
    }
}

/// A used directory: two groups synced, one launch open.
pub(crate) async fn used() -> (TempDir, PathBuf) {
    let (files, directory) = directory();
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    opened
        .store
        .record_end(record.key(), stop_of(&record, Outcome::Exited), WallTime(1))
        .await
        .unwrap();
    opened
        .store
        .set_desired(&name("ledger"), wanted(DesiredState::Running))
        .await
        .unwrap();
    let open_record = next_record(&opened, "ledger");
    opened.store.record_launch(open_record).await.unwrap();
    opened.store.close().await.unwrap();
    (files, directory)
}
