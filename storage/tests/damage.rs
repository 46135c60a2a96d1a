//! Damaged data directories: refused with a clear error, and left as they are.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

use std::fs;
use std::path::Path;

use treewarden_storage::{DesiredState, OpenError};

#[path = "support/support.rs"]
mod support;
use support::*;

fn refused_untouched(directory: &Path, expected: impl Fn(&OpenError) -> bool) {
    let before = image(directory);
    let error = open(directory).unwrap_err();
    assert!(expected(&error), "{error:?}");
    assert!(
        image(directory) == before,
        "the directory was changed ({error})"
    );
}

fn is_corrupt(error: &OpenError) -> bool {
    matches!(error, OpenError::Corrupt { .. })
        && error.to_string().contains("left as it is")
        && error.to_string().contains("put back a copy")
}

/// SUP-19
#[tokio::test]
async fn a_newer_format_is_refused_and_left_untouched() {
    let (_files, directory) = used().await;
    let format = fs::read_to_string(directory.join("format")).unwrap();
    fs::write(
        directory.join("format"),
        format.replace("format 1", "format 2"),
    )
    .unwrap();
    refused_untouched(
        &directory,
        |error| matches!(error, OpenError::Newer { found, known: 1, .. } if found == "2"),
    );
}

/// SUP-19
#[tokio::test]
async fn a_damaged_or_missing_format_is_refused_and_left_untouched() {
    let (_files, directory) = used().await;
    for text in [
        "",
        "treewarden data directory\n",
        "\u{0}\u{0}",
        "treewarden data directory\nformat x\n",
    ] {
        fs::write(directory.join("format"), text).unwrap();
        refused_untouched(&directory, is_corrupt);
    }
    fs::remove_file(directory.join("format")).unwrap();
    refused_untouched(&directory, is_corrupt);
}

/// SUP-19
#[tokio::test]
async fn a_database_that_lost_its_contents_is_refused_and_left_untouched() {
    type Damage = (&'static str, fn(&Path));
    let damages: [Damage; 6] = [
        ("emptied", |db| fs::write(db.join("db"), b"").unwrap()),
        ("garbage", |db| {
            fs::write(db.join("db"), vec![0x5a; 600_000]).unwrap()
        }),
        ("zeros", |db| {
            fs::write(db.join("db"), vec![0; 600_000]).unwrap()
        }),
        ("file removed", |db| fs::remove_file(db.join("db")).unwrap()),
        ("removed", |db| fs::remove_dir_all(db).unwrap()),
        ("no files", |db| {
            fs::remove_dir_all(db).unwrap();
            fs::create_dir(db).unwrap();
        }),
    ];
    for (damage, apply) in damages {
        let (_files, directory) = used().await;
        apply(&directory.join("db"));
        let before = image(&directory);
        let error = open(&directory).unwrap_err();
        assert!(is_corrupt(&error), "{damage}: {error:?}");
        assert!(
            image(&directory) == before,
            "{damage}: the directory was changed"
        );
    }
}

/// SUP-19
#[tokio::test]
async fn a_database_cut_anywhere_opens_whole_or_is_refused() {
    let (_files, directory) = used().await;
    let data = directory.join("db/db");
    let whole = fs::read(&data).unwrap();
    let used_bytes = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let image = image(&directory);
    let (mut refused, mut opened_whole) = (0, 0);
    for step in 0..24 {
        fs::remove_dir_all(directory.join("db")).unwrap();
        for (path, bytes) in &image {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        // A snapshot could stand in for what is cut off.
        fs::write(&data, &whole[..used_bytes * step / 24]).unwrap();
        match open(&directory) {
            Ok(opened) => {
                assert_eq!(
                    opened.store.desired().unwrap(),
                    [(name("ledger"), wanted(DesiredState::Running))],
                    "cut at {step}/24"
                );
                assert!(
                    opened.store.last_stop(&name("ledger")).unwrap().is_some(),
                    "cut at {step}/24"
                );
                opened.store.close().await.unwrap();
                opened_whole += 1;
            }
            Err(error) => {
                assert!(is_corrupt(&error), "cut at {step}/24: {error:?}");
                refused += 1;
            }
        }
    }
    assert!(
        refused > 0,
        "{refused} refused, {opened_whole} opened whole"
    );
}

/// SUP-19
#[tokio::test]
async fn an_older_database_under_a_newer_log_is_refused() {
    let (_files, directory) = used().await;
    let old = image(&directory.join("db"));
    let opened = open(&directory).unwrap();
    opened
        .store
        .set_desired(&name("ledger"), wanted(DesiredState::Stopped))
        .await
        .unwrap();
    opened.store.close().await.unwrap();
    fs::remove_dir_all(directory.join("db")).unwrap();
    for (path, bytes) in old {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    refused_untouched(&directory, is_corrupt);
}

/// SUP-19
#[tokio::test]
async fn another_nodes_database_is_refused() {
    let (_files, directory) = used().await;
    let (_others_files, other) = used().await;
    fs::remove_dir_all(directory.join("db")).unwrap();
    fs::rename(other.join("db"), directory.join("db")).unwrap();
    refused_untouched(&directory, is_corrupt);
}

/// SUP-19
#[tokio::test]
async fn damage_in_the_middle_of_the_log_is_refused_and_left_untouched() {
    let (_files, directory) = used().await;
    let log = directory.join("launches.log");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&log, bytes).unwrap();
    refused_untouched(&directory, is_corrupt);
}

/// SUP-19
#[tokio::test]
async fn the_witness_follows_a_group_within_a_second_or_so() {
    let (_files, directory) = used().await;
    let old = image(&directory.join("db"));
    let opened = open(&directory).unwrap();
    opened
        .store
        .set_desired(&name("ledger"), wanted(DesiredState::Stopped))
        .await
        .unwrap();
    // No launch and no clean stop: the log's thread does it by itself.
    for _ in 0..400 {
        if opened.store.statistics().log_syncs > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    // The directory as a crash now would leave it, with the database of before.
    let (_files_of_copy, copy) = support::directory();
    fs::create_dir_all(copy.join("db")).unwrap();
    for file in ["format", "launches.log"] {
        fs::copy(directory.join(file), copy.join(file)).unwrap();
    }
    for (path, bytes) in old {
        let path = copy.join(path.strip_prefix(&directory).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    refused_untouched(&copy, is_corrupt);
}
