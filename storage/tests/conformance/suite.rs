//! The rules. Each function takes a way to make an empty backend.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use treewarden_model::id::{Instance, LaunchNumber, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::outcome::{Cause, Ending, Outcome, StopResult};
use treewarden_model::time::WallTime;
use treewarden_storage::{
    Command, Desired, DesiredState, Fingerprint, GroupNumber, LaunchRecordKey, Operations, Page,
    PageRequest, Reply, STOPS_KEPT, Store, StoreError, StoredNumbers, Token, TokenHash, TokenId,
};
use uuid::Uuid;

use crate::Subject;

type Make = fn() -> Subject;

fn name(text: &str) -> EntryName {
    EntryName::parse(text).unwrap()
}

fn wanted(state: DesiredState, declared: u8) -> Desired {
    Desired {
        state,
        declared: Fingerprint::from_stored([declared; 32]),
    }
}

fn set(entry: &str, desired: Desired) -> Command {
    Command::SetDesired {
        entry: name(entry),
        desired,
    }
}

fn end(entry: &str, launch: u64, outcome: Outcome, at: u64) -> Command {
    let launch = LaunchNumber::from_stored(launch);
    let ending = Ending {
        outcome,
        cause: Cause::Requested,
        evidence: None,
        exit_status: None,
        duration: Duration::from_millis(at),
        cleanup: Vec::new(),
    };
    let result = StopResult {
        entry: name(entry),
        instance: Instance::local(Uuid::from_u128(1)),
        launch,
        ending,
    };
    Command::RecordEnd {
        launch: LaunchRecordKey {
            entry: name(entry),
            launch,
        },
        result: Box::new(result),
        at: WallTime(at),
    }
}

fn token(id: u128, hash: u8) -> Token {
    Token {
        id: TokenId(Uuid::from_u128(id)),
        hash: TokenHash([hash; 32]),
        label: format!("token {id}"),
        user: "admin".to_owned(),
        operations: Operations::All,
        created: WallTime(1),
        expires: None,
    }
}

fn put(id: u128, hash: u8) -> Command {
    Command::PutToken(Box::new(token(id, hash)))
}

fn run(store: &dyn Store, commands: &[Command]) -> Vec<Result<Reply, StoreError>> {
    store.commit(commands).unwrap().replies
}

fn stops(store: &dyn Store, entry: &str) -> Vec<(u64, Outcome, u64)> {
    let stops = store.stops_of(&name(entry)).unwrap();
    stops
        .into_iter()
        .map(|stop| {
            (
                stop.result.launch.get(),
                stop.result.ending.outcome,
                stop.at.0,
            )
        })
        .collect()
}

fn all<T, K>(limit: usize, query: impl Fn(&PageRequest<K>) -> Page<T, K>) -> Vec<T> {
    let mut request = PageRequest { after: None, limit };
    let mut rows = Vec::new();
    loop {
        let page = query(&request);
        assert!(page.rows.len() <= limit);
        assert!(page.damaged.is_empty());
        rows.extend(page.rows);
        let Some(next) = page.next else { return rows };
        request.after = Some(next);
    }
}

pub(crate) fn numbers_are_remembered(make: Make) {
    let Subject { store, .. } = make();
    assert_eq!(store.numbers().unwrap(), None);
    let numbers = StoredNumbers {
        node: NodeId(Uuid::from_u128(4)),
        session: SessionNumber(2),
        ordinal: LaunchOrdinal(3),
        launch_base: LaunchNumber::from_stored(1),
    };
    assert_eq!(
        run(&*store, &[Command::BeginSession(numbers)]),
        [Ok(Reply::Changed)]
    );
    assert_eq!(store.numbers().unwrap(), Some(numbers));
}

pub(crate) fn the_last_desired_state_holds(make: Make) {
    let Subject { store, .. } = make();
    assert_eq!(store.desired_of(&name("a")).unwrap(), None);
    let (running, stopped) = (
        wanted(DesiredState::Running, 1),
        wanted(DesiredState::Stopped, 2),
    );
    let replies = run(
        &*store,
        &[
            set("a", running),
            set("a", stopped),
            set("b", running),
            set("b", running),
        ],
    );
    assert_eq!(
        replies,
        [
            Ok(Reply::Changed),
            Ok(Reply::Changed),
            Ok(Reply::Changed),
            Ok(Reply::Unchanged)
        ]
    );
    assert_eq!(store.desired_of(&name("a")).unwrap(), Some(stopped));
    let forget = || Command::ForgetDesired { entry: name("a") };
    assert_eq!(
        run(&*store, &[forget(), forget()]),
        [Ok(Reply::Changed), Ok(Reply::Unchanged)]
    );
    assert_eq!(
        all(10, |page| store.desired(page).unwrap()),
        [(name("b"), running)]
    );
}

pub(crate) fn a_confirmed_end_is_final(make: Make) {
    let Subject { store, .. } = make();
    let replies = run(
        &*store,
        &[
            end("a", 1, Outcome::Exited, 10),
            end("a", 1, Outcome::Killed, 20),
            end("a", 1, Outcome::Exited, 30),
        ],
    );
    assert_eq!(
        replies,
        [
            Ok(Reply::Changed),
            Ok(Reply::Unchanged),
            Ok(Reply::Unchanged)
        ]
    );
    assert_eq!(
        run(&*store, &[end("a", 1, Outcome::TerminationUnconfirmed, 40)]),
        [Ok(Reply::Unchanged)]
    );
    assert_eq!(stops(&*store, "a"), [(1, Outcome::Exited, 10)]);
}

pub(crate) fn an_unconfirmed_end_gives_way_to_a_later_one(make: Make) {
    let Subject { store, .. } = make();
    run(&*store, &[end("a", 1, Outcome::TerminationUnconfirmed, 10)]);
    assert_eq!(
        stops(&*store, "a"),
        [(1, Outcome::TerminationUnconfirmed, 10)]
    );
    assert_eq!(
        run(&*store, &[end("a", 1, Outcome::TerminationUnconfirmed, 10)]),
        [Ok(Reply::Unchanged)]
    );
    assert_eq!(
        run(&*store, &[end("a", 1, Outcome::Killed, 20)]),
        [Ok(Reply::Changed)]
    );
    assert_eq!(stops(&*store, "a"), [(1, Outcome::Killed, 20)]);
}

pub(crate) fn the_last_stops_are_kept_in_the_order_of_launches(make: Make) {
    let Subject { store, .. } = make();
    for launch in [1, 2, 4, 3, 5, 7, 6] {
        run(&*store, &[end("a", launch, Outcome::Exited, launch)]);
    }
    let kept: Vec<u64> = stops(&*store, "a")
        .into_iter()
        .map(|(launch, ..)| launch)
        .collect();
    assert_eq!(kept, [3, 4, 5, 6, 7]);
    assert_eq!(kept.len(), STOPS_KEPT);
    assert_eq!(stops(&*store, "b"), []);
}

pub(crate) fn the_last_launch_of_an_entry_never_falls(make: Make) {
    let Subject { store, .. } = make();
    run(
        &*store,
        &[
            end("a", 9, Outcome::Exited, 1),
            end("a", 2, Outcome::Exited, 2),
            end("b", 1, Outcome::Exited, 3),
        ],
    );
    let last = all(1, |page| store.last_launches(page).unwrap());
    assert_eq!(
        last,
        [
            (name("a"), LaunchNumber::from_stored(9)),
            (name("b"), LaunchNumber::from_stored(1))
        ]
    );
}

pub(crate) fn tokens_are_found_by_hash_and_unique(make: Make) {
    let Subject { store, .. } = make();
    assert_eq!(run(&*store, &[put(1, 1)]), [Ok(Reply::Changed)]);
    let replies = run(&*store, &[put(1, 1), put(1, 2), put(2, 1), put(2, 2)]);
    assert_eq!(
        replies,
        [
            Ok(Reply::Unchanged),
            Err(StoreError::TokenExists),
            Err(StoreError::TokenExists),
            Ok(Reply::Changed)
        ]
    );
    assert_eq!(
        store.token_by_hash(&TokenHash([2; 32])).unwrap(),
        Some(token(2, 2))
    );
    assert_eq!(store.token_by_hash(&TokenHash([3; 32])).unwrap(), None);
    assert_eq!(
        all(1, |page| store.tokens(page).unwrap()),
        [token(1, 1), token(2, 2)]
    );
}

pub(crate) fn two_tokens_with_one_hash_in_a_group_do_not_both_pass(make: Make) {
    let Subject { store, .. } = make();
    assert_eq!(
        run(&*store, &[put(1, 1), put(2, 1)]),
        [Ok(Reply::Changed), Err(StoreError::TokenExists)]
    );
    assert_eq!(all(9, |page| store.tokens(page).unwrap()), [token(1, 1)]);
}

pub(crate) fn a_deleted_token_is_gone_and_its_hash_free(make: Make) {
    let Subject { store, .. } = make();
    let delete = || Command::DeleteToken(TokenId(Uuid::from_u128(1)));
    assert_eq!(
        run(&*store, &[delete(), put(1, 1), delete(), put(2, 1)]),
        [
            Ok(Reply::Unchanged),
            Ok(Reply::Changed),
            Ok(Reply::Changed),
            Ok(Reply::Changed)
        ]
    );
    assert_eq!(
        store.token_by_hash(&TokenHash([1; 32])).unwrap(),
        Some(token(2, 1))
    );
}

pub(crate) fn pages_join_without_gap_or_repetition(make: Make) {
    let Subject { store, .. } = make();
    let names: Vec<String> = (0..40).map(|number| format!("entry-{number:02}")).collect();
    for group in names.chunks(16) {
        run(
            &*store,
            &group
                .iter()
                .map(|entry| set(entry, wanted(DesiredState::Running, 1)))
                .collect::<Vec<_>>(),
        );
    }
    for limit in [1, 7, 8, 39, 40, 41] {
        let read: Vec<String> = all(limit, |page| store.desired(page).unwrap())
            .into_iter()
            .map(|(entry, _)| entry.to_string())
            .collect();
        assert_eq!(read, names, "pages of {limit}");
    }
}

pub(crate) fn a_group_without_changes_is_no_group(make: Make) {
    let Subject { store, .. } = make();
    assert_eq!(store.group().unwrap(), GroupNumber(0));
    let first = store
        .commit(&[set("a", wanted(DesiredState::Running, 1))])
        .unwrap();
    let again = store
        .commit(&[set("a", wanted(DesiredState::Running, 1))])
        .unwrap();
    assert_eq!(
        (first.group, again.group, store.group().unwrap()),
        (GroupNumber(1), GroupNumber(1), GroupNumber(1))
    );
}

fn commands() -> impl Strategy<Value = Command> {
    let entry = prop::sample::select(vec!["a", "b"]);
    let outcome = prop::sample::select(vec![
        Outcome::Exited,
        Outcome::Killed,
        Outcome::TerminationUnconfirmed,
    ]);
    let state = prop::sample::select(vec![DesiredState::Running, DesiredState::Stopped]);
    prop_oneof![
        (entry.clone(), 1_u64..9, outcome, 0_u64..3)
            .prop_map(|(entry, launch, outcome, at)| end(entry, launch, outcome, at)),
        (entry.clone(), state, 0_u8..2)
            .prop_map(|(entry, state, declared)| set(entry, wanted(state, declared))),
        entry.prop_map(|entry| Command::ForgetDesired { entry: name(entry) }),
        (0_u128..3, 0_u8..3).prop_map(|(id, hash)| put(id, hash)),
        (0_u128..3).prop_map(|id| Command::DeleteToken(TokenId(Uuid::from_u128(id)))),
    ]
}

/// All that a backend can tell, as text.
fn contents(store: &dyn Store) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        all(9, |page| store.desired(page).unwrap()),
        store.stops_of(&name("a")).unwrap(),
        store.stops_of(&name("b")).unwrap(),
        all(9, |page| store.last_launches(page).unwrap()),
        all(9, |page| store.tokens(page).unwrap()),
    )
}

pub(crate) fn random_groups_decide_as_single_commands_do(make: Make) {
    // One backend for all cases would be faster; a new one each makes failures small.
    let mut runner = TestRunner::new(Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    });
    let groups = prop::collection::vec(prop::collection::vec(commands(), 1..20), 1..5);
    runner
        .run(&groups, |groups| {
            let (grouped, single, model) = (make(), make(), crate::memory::MemoryStore::default());
            for group in &groups {
                let replies = run(&*grouped.store, group);
                let one_by_one: Vec<_> = group
                    .iter()
                    .flat_map(|command| run(&*single.store, std::slice::from_ref(command)))
                    .collect();
                let expected = run(&model, group);
                prop_assert_eq!(&replies, &one_by_one);
                prop_assert_eq!(&replies, &expected);
            }
            prop_assert_eq!(contents(&*grouped.store), contents(&*single.store));
            prop_assert_eq!(contents(&*grouped.store), contents(&model));
            Ok(())
        })
        .unwrap();
}
