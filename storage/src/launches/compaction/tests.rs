use treewarden_model::id::{LaunchNumber, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use uuid::Uuid;

use super::*;
use crate::launches::read;

fn state() -> LogState {
    let mut state = LogState::new(NodeId(Uuid::from_u128(5)));
    state.session = SessionNumber(4);
    for entry in ["ledger", "writer"] {
        let entry = EntryName::parse(entry).unwrap();
        for _ in 0..3 {
            state.counters.next(&entry).unwrap();
        }
    }
    state.counters.ordinal = LaunchOrdinal(90);
    state.counters.launch_base = LaunchNumber::from_stored(2);
    state
}

/// SUP-13
#[test]
fn a_compacted_log_says_the_same() {
    let directory = tempfile::tempdir().unwrap();
    rewrite(directory.path(), &state()).unwrap();
    assert_eq!(read(directory.path()).unwrap().unwrap().state, state());
}

/// SUP-13
#[test]
fn a_crash_before_the_rename_leaves_the_old_log() {
    let directory = tempfile::tempdir().unwrap();
    rewrite(directory.path(), &state()).unwrap();
    std::fs::write(directory.path().join(NEW_NAME), b"half").unwrap();
    assert_eq!(read(directory.path()).unwrap().unwrap().state, state());
    remove_leftover(directory.path()).unwrap();
    assert!(!directory.path().join(NEW_NAME).exists());
    remove_leftover(directory.path()).unwrap();
}

/// SUP-13
#[test]
fn a_jump_raises_counters_of_unknown_entries_too() {
    let mut state = state();
    let (ledger, unknown) = (
        EntryName::parse("ledger").unwrap(),
        EntryName::parse("unknown").unwrap(),
    );
    state.counters.jump(1_000_000);
    assert_eq!(
        state.counters.next(&ledger).unwrap(),
        (
            LaunchNumber::from_stored(1_000_004),
            LaunchOrdinal(1_000_091)
        )
    );
    assert_eq!(
        state.counters.next(&unknown).unwrap().0,
        LaunchNumber::from_stored(1_000_003)
    );
}

/// SUP-13
#[test]
fn the_last_number_is_not_given_twice() {
    let mut state = state();
    let ledger = EntryName::parse("ledger").unwrap();
    state
        .counters
        .raise(&ledger, LaunchNumber::from_stored(u64::MAX - 1));
    assert!(state.counters.next(&ledger).is_some());
    assert!(state.counters.next(&ledger).is_none());
}
