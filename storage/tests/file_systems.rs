//! Disks that are full or read-only. Needs the right to mount; says so where it is missing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use treewarden_model::outcome::Outcome;
use treewarden_model::time::WallTime;
use treewarden_storage::{OpenError, OpenOptions, StoreError, StoreHealth};

#[path = "support/support.rs"]
mod support;
use support::*;

struct Mount {
    path: PathBuf,
    _files: tempfile::TempDir,
}

impl Mount {
    /// A tmpfs of this size; `None` where mounting is not allowed.
    fn new(test: &str, size: &str) -> Option<Self> {
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("mount");
        std::fs::create_dir(&path).unwrap();
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&path)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self {
                path,
                _files: files,
            });
        }
        skipped(test, "mounting a tmpfs is not allowed");
        None
    }

    fn remount(&self, options: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.path)
            .status()
            .unwrap();
        assert!(done.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(
            Command::new("umount")
                .arg("--lazy")
                .arg(&self.path)
                .status(),
        );
    }
}

fn fill(path: &Path) -> PathBuf {
    use std::io::Write;
    let ballast = path.join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    for size in [65_536, 4096, 512] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    ballast
}

/// SUP-38
#[tokio::test]
async fn a_full_disk_closes_the_store_until_the_next_start() {
    let Some(mount) = Mount::new("a_full_disk_closes_the_store_until_the_next_start", "16m") else {
        return;
    };
    let directory = mount.path.join("data");
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    let ballast = fill(&mount.path);
    // Without a floor the log runs into the end of the disk.
    let mut recorded = vec![record];
    let failure = loop {
        let next = next_record(&opened, "ledger");
        match opened.store.record_launch(next.clone()).await {
            Ok(()) => recorded.push(next),
            Err(error) => break error,
        }
        assert!(recorded.len() < 10_000);
    };
    assert!(matches!(failure, StoreError::Failed { .. }), "{failure}");
    // Space comes back, the store does not: what the kernel dropped is not known.
    std::fs::remove_file(ballast).unwrap();
    assert!(matches!(opened.store.health(), StoreHealth::Failed(_)));
    let last = recorded.last().unwrap().clone();
    let end = opened
        .store
        .record_end(last.key(), stop_of(&last, Outcome::Exited), WallTime(1))
        .await;
    assert_eq!(end, Err(failure.clone()));
    assert_eq!(
        opened.store.next_launch(&name("ledger")).map(drop),
        Err(failure.clone())
    );
    assert_eq!(opened.store.close().await, Err(failure));

    let opened = open(&directory).unwrap();
    assert_eq!(opened.open_launches, recorded, "what was answered is there");
    assert!(next_record(&opened, "ledger").launch > last.launch);
}

/// SUP-38
#[tokio::test]
async fn a_full_disk_under_the_database_closes_the_store() {
    let Some(mount) = Mount::new("a_full_disk_under_the_database_closes_the_store", "16m") else {
        return;
    };
    let directory = mount.path.join("data");
    let opened = open(&directory).unwrap();
    let record = next_record(&opened, "ledger");
    opened.store.record_launch(record.clone()).await.unwrap();
    let ballast = fill(&mount.path);
    let mut failure = None;
    for number in 0..20_000_u64 {
        let mut stop = stop_of(&record, Outcome::Exited);
        stop.launch = launch(number + 1);
        let key = treewarden_storage::LaunchRecordKey {
            entry: record.entry.clone(),
            launch: stop.launch,
        };
        if let Err(error) = opened.store.record_end(key, stop, WallTime(1)).await {
            failure = Some(error);
            break;
        }
    }
    let failure = failure.expect("the disk is full");
    assert!(matches!(failure, StoreError::Failed { .. }), "{failure}");
    std::fs::remove_file(ballast).unwrap();
    let ledger = name("ledger");
    let next = opened.store.set_desired(
        &ledger,
        treewarden_storage::Desired {
            state: treewarden_storage::DesiredState::Stopped,
            declared: treewarden_storage::Fingerprint::from_stored([0; 32]),
        },
    );
    assert_eq!(next.await, Err(failure.clone()));
    assert_eq!(opened.store.close().await, Err(failure));
    open(&directory).unwrap();
}

/// SUP-38
#[tokio::test]
async fn on_a_tiny_disk_nothing_is_launched() {
    let Some(mount) = Mount::new("on_a_tiny_disk_nothing_is_launched", "64k") else {
        return;
    };
    match treewarden_storage::open(&mount.path.join("data"), OpenOptions::default()) {
        Ok(opened) => {
            assert_eq!(opened.store.health(), StoreHealth::Low);
            assert!(matches!(
                opened.store.next_launch(&name("ledger")),
                Err(StoreError::Low { .. })
            ));
        }
        Err(error) => assert!(matches!(error, OpenError::Io { .. }), "{error}"),
    }
    let Some(mount) = Mount::new("on_a_tiny_disk_nothing_is_launched", "8k") else {
        return;
    };
    let error = open(&mount.path.join("data")).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}

#[tokio::test]
async fn a_read_only_directory_is_an_error_that_names_it() {
    let Some(mount) = Mount::new("a_read_only_directory_is_an_error_that_names_it", "16m") else {
        return;
    };
    let directory = mount.path.join("data");
    open(&directory).unwrap().store.close().await.unwrap();
    mount.remount("ro");
    let error = treewarden_storage::open(&directory, OpenOptions::default()).unwrap_err();
    assert!(
        matches!(&error, OpenError::Io { path, .. } if path.starts_with(&directory)),
        "{error}"
    );
    mount.remount("rw");
    open(&directory).unwrap();
}
