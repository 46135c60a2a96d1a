use std::time::Duration;

use proptest::prelude::*;
use treewarden_model::id::{Instance, LaunchNumber};
use treewarden_model::name::EntryName;
use treewarden_model::outcome::{
    Cause, CleanupCause, CleanupCauseKind, Ending, Evidence, ExitStatus, Outcome, StopResult,
};
use treewarden_model::time::WallTime;
use uuid::Uuid;

use super::rows::{StopRow, StopsRow, TokenRow};
use super::*;
use crate::stop::RecordedStop;
use crate::token::{Operations, Token, TokenHash, TokenId};

fn token() -> TokenRow {
    TokenRow::from(&Token {
        id: TokenId(Uuid::from_u128(7)),
        hash: TokenHash([9; 32]),
        label: "deploy".to_owned(),
        user: "admin".to_owned(),
        operations: Operations::Only(vec!["entries.view".to_owned()]),
        created: WallTime(1),
        expires: Some(WallTime(2)),
    })
}

fn stop(outcome: Outcome, cause: Cause, cleanup: Vec<CleanupCause>) -> StopResult {
    StopResult {
        entry: EntryName::parse("ledger").unwrap(),
        instance: Instance::local(Uuid::from_u128(3)),
        launch: LaunchNumber::from_stored(4),
        ending: Ending {
            outcome,
            cause,
            evidence: Some(Evidence::Tree),
            exit_status: Some(ExitStatus::Signal(9)),
            duration: Duration::from_millis(1_234),
            cleanup,
        },
    }
}

#[test]
fn every_outcome_cause_evidence_and_cleanup_kind_is_read_back() {
    use CleanupCauseKind as Kind;
    for outcome in [
        Outcome::Exited,
        Outcome::Killed,
        Outcome::TerminationUnconfirmed,
    ] {
        for cause in [
            Cause::Requested,
            Cause::Replaced,
            Cause::Crashed,
            Cause::LeaseExpired,
            Cause::ConnectionLost,
            Cause::OutOfMemory,
            Cause::External,
        ] {
            for evidence in [
                None,
                Some(Evidence::Cgroup),
                Some(Evidence::Tree),
                Some(Evidence::Group),
            ] {
                let kinds = [
                    Kind::GracefulStopTimeout,
                    Kind::FinalizerFailed,
                    Kind::LocalTerminationTimeout,
                    Kind::TerminationUnconfirmed,
                    Kind::ConnectionLost,
                ];
                let cleanup = kinds.map(|kind| CleanupCause {
                    kind,
                    message: "because".to_owned(),
                });
                let mut result = stop(outcome, cause, cleanup.to_vec());
                result.ending.evidence = evidence;
                let bytes = encode(
                    b"key",
                    &StopsRow {
                        stops: vec![StopRow::new(&result, WallTime(5))],
                    },
                )
                .unwrap();
                let row: StopsRow = decode(b"key", &bytes).unwrap();
                let read = row
                    .stops
                    .into_iter()
                    .next()
                    .unwrap()
                    .read(&result.entry)
                    .unwrap();
                assert_eq!(
                    read,
                    RecordedStop {
                        result,
                        at: WallTime(5)
                    }
                );
            }
        }
    }
}

#[test]
fn the_largest_stops_fit_into_a_row() {
    let cause = CleanupCause {
        kind: CleanupCauseKind::FinalizerFailed,
        message: "ä".repeat(10_000),
    };
    let result = stop(Outcome::Killed, Cause::Requested, vec![cause; 100]);
    let stops = vec![StopRow::new(&result, WallTime(u64::MAX)); crate::STOPS_KEPT];
    let bytes = encode(b"key", &StopsRow { stops }).unwrap();
    assert!(bytes.len() <= 64 * 1024, "{}", bytes.len());
    assert!(decode::<StopsRow>(b"key", &bytes).is_ok());
}

#[test]
fn a_row_under_another_key_is_refused() {
    let bytes = encode(b"token/1", &token()).unwrap();
    assert_eq!(
        decode::<TokenRow>(b"token/2", &bytes),
        Err(CodecError::Checksum)
    );
}

#[test]
fn trailing_and_missing_bytes_are_refused() {
    let bytes = encode(b"key", &token()).unwrap();
    assert_eq!(
        decode::<TokenRow>(b"key", &[bytes.as_slice(), &[0]].concat()),
        Err(CodecError::Length)
    );
    for end in 0..bytes.len() {
        assert!(decode::<TokenRow>(b"key", &bytes[..end]).is_err(), "{end}");
    }
    // Behind a fitting checksum too.
    let mut body = encode_body(&token()).unwrap();
    body.push(0);
    assert_eq!(decode_body::<TokenRow>(&body), Err(CodecError::Body));
}

#[test]
fn a_hostile_length_allocates_nothing() {
    // A string of 2^62 bytes, as bincode writes its length.
    let body = [&[253][..], &(1_u64 << 62).to_le_bytes(), b"x"].concat();
    assert_eq!(decode_body::<String>(&body), Err(CodecError::Body));
}

proptest! {
    #[test]
    fn no_flipped_bit_is_read(at in 0_usize..10_000, bit in 0_u8..8) {
        let mut bytes = encode(b"key", &token()).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(decode::<TokenRow>(b"key", &bytes).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode::<TokenRow>(b"key", &bytes).is_err());
        drop(decode_body::<StopsRow>(&bytes));
    }
}
