use proptest::prelude::*;
use treewarden_model::id::{Instance, LaunchNumber, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::time::WallTime;
use uuid::Uuid;

use super::*;
use crate::launches::frame::HEADER;

fn record(launch: u64) -> LaunchRecord {
    LaunchRecord {
        entry: EntryName::parse("ledger").unwrap(),
        launch: LaunchNumber::from_stored(launch),
        ordinal: LaunchOrdinal(launch),
        instance: Instance::local(Uuid::from_u128(u128::from(launch))),
        pid: 100,
        start_time: 200,
        boot_id: Uuid::from_u128(1),
        session: SessionNumber(1),
        recorded_at: WallTime(3),
    }
}

/// A log of launches 1 to `count`, each ended before the next, and where its frames begin.
fn log(count: u64) -> (Vec<u8>, Vec<usize>) {
    let mut rows = LogState::new(NodeId(Uuid::from_u128(5))).rows();
    for launch in 1..=count {
        let record = record(launch);
        rows.push(LogRow::Launch(Box::new(LaunchRow::from(&record))));
        if launch < count {
            rows.push(LogRow::ended(&record.key()));
        }
    }
    let mut bytes = Vec::new();
    let mut begins = Vec::new();
    for (sequence, row) in rows.iter().enumerate() {
        begins.push(bytes.len());
        row.write(&mut bytes, sequence as u64 + 1).unwrap();
    }
    (bytes, begins)
}

fn parsed(bytes: &[u8]) -> Result<ReadLog, OpenError> {
    parse(Path::new("launches.log"), bytes)
}

/// SUP-17
#[test]
fn a_launch_without_an_end_is_open() {
    let read = parsed(&log(3).0).unwrap();
    assert!(!read.torn);
    assert_eq!(
        read.state.open.values().cloned().collect::<Vec<_>>(),
        [record(3)]
    );
}

/// SUP-13
#[test]
fn a_cut_log_is_what_its_whole_records_say() {
    let (bytes, begins) = log(4);
    for end in begins[1]..bytes.len() {
        let read = parsed(&bytes[..end]).unwrap();
        let whole = *begins.iter().rfind(|begin| **begin <= end).unwrap();
        assert_eq!(read.whole, whole as u64, "{end}");
        assert_eq!(read.torn, whole != end, "{end}");
    }
    for end in 0..begins[1] {
        assert!(
            matches!(parsed(&bytes[..end]), Err(OpenError::Corrupt { .. })),
            "{end}"
        );
    }
}

/// SUP-13
#[test]
fn zeros_after_the_last_record_are_a_torn_tail() {
    let (mut bytes, _) = log(2);
    let whole = bytes.len() as u64;
    bytes.extend_from_slice(&[0; 4096]);
    let read = parsed(&bytes).unwrap();
    assert!(read.torn);
    assert_eq!(read.whole, whole);
}

/// SUP-19
#[test]
fn a_lost_or_repeated_record_is_corrupt() {
    let (bytes, begins) = log(4);
    let lost = [&bytes[..begins[3]], &bytes[begins[4]..]].concat();
    let repeated = [&bytes[..begins[4]], &bytes[begins[3]..]].concat();
    for damaged in [lost, repeated] {
        assert!(matches!(parsed(&damaged), Err(OpenError::Corrupt { .. })));
    }
}

/// SUP-19
#[test]
fn a_record_of_an_unknown_kind_is_newer() {
    let (mut bytes, begins) = log(1);
    assert!(frame::write(&mut bytes, begins.len() as u64 + 1, 200, &[]));
    assert!(matches!(parsed(&bytes), Err(OpenError::Newer { .. })));
}

proptest! {
    /// SUP-13, SUP-19
    #[test]
    fn a_flipped_bit_is_corrupt_or_a_torn_tail(at in 0_usize..100_000, bit in 0_u8..8) {
        let (mut bytes, begins) = log(5);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let last = *begins.last().unwrap();
        match parsed(&bytes) {
            Ok(read) => {
                prop_assert!(at >= last && read.torn && read.whole == last as u64);
                prop_assert_eq!(read.state.counters.launches.values().next().copied(), Some(LaunchNumber::from_stored(4)));
            }
            Err(OpenError::Corrupt { .. }) => prop_assert!(at < last),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(parsed(&bytes));
        let (mut log, _) = log(1);
        let whole = log.len() as u64;
        log.extend_from_slice(&bytes);
        let read = parsed(&log).unwrap();
        prop_assert_eq!(read.whole, whole);
    }
}

#[test]
fn the_header_of_a_frame_is_eight_bytes() {
    let mut bytes = Vec::new();
    assert!(frame::write(&mut bytes, 1, 2, b"abc"));
    assert_eq!(bytes.len(), HEADER + 10 + 3);
}
