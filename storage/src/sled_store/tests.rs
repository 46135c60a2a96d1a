use std::fs::File;

use treewarden_model::fingerprint::Fingerprint;
use treewarden_model::name::EntryName;

use super::*;
use crate::desired::DesiredState;

fn set(entry: &str, state: DesiredState) -> Command {
    Command::SetDesired {
        entry: EntryName::parse(entry).unwrap(),
        desired: wanted(state),
    }
}

fn wanted(state: DesiredState) -> Desired {
    Desired {
        state,
        declared: Fingerprint::from_stored([1; 32]),
    }
}

/// SUP-38
#[test]
fn a_group_whose_sync_failed_is_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = SledStore::open(directory.path(), 1 << 20).unwrap();
    store
        .commit(&[
            set("kept", DesiredState::Running),
            set("changed", DesiredState::Running),
        ])
        .unwrap();
    // Can't be synced.
    let cannot_sync = DataFile::new(File::options().write(true).open("/dev/null").unwrap());
    // Not dropped: it would wait for the database, which is still open.
    std::mem::forget(std::mem::replace(&mut store.file, cannot_sync));
    let forget = Command::ForgetDesired {
        entry: EntryName::parse("kept").unwrap(),
    };
    let failed = store.commit(&[
        set("changed", DesiredState::Stopped),
        set("new", DesiredState::Running),
        forget,
    ]);
    assert!(matches!(failed, Err(StoreError::Failed { .. })));
    let (kept, changed, new) = ("kept", "changed", "new");
    let of = |entry| store.desired_of(&EntryName::parse(entry).unwrap()).unwrap();
    assert_eq!(of(kept), Some(wanted(DesiredState::Running)));
    assert_eq!(of(changed), Some(wanted(DesiredState::Running)));
    assert_eq!(of(new), None);
    for limit in 1..4 {
        let mut request = PageRequest { after: None, limit };
        let mut rows = Vec::new();
        loop {
            let page = store.desired(&request).unwrap();
            rows.extend(page.rows);
            let Some(next) = page.next else { break };
            request.after = Some(next);
        }
        let names: Vec<_> = rows.iter().map(|(entry, _)| entry.as_str()).collect();
        assert_eq!(names, [changed, kept], "pages of {limit}");
    }
    assert_eq!(store.group().unwrap(), GroupNumber(1));
}

/// SUP-19
#[test]
fn a_damaged_row_is_named_and_the_others_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledStore::open(directory.path(), 1 << 20).unwrap();
    store
        .commit(&[
            set("a", DesiredState::Running),
            set("b", DesiredState::Running),
            set("c", DesiredState::Running),
        ])
        .unwrap();
    let key = Key::desired(&EntryName::parse("b").unwrap());
    let mut bytes = store.database.get(&key.0).unwrap().unwrap().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    store.database.insert(&key.0, bytes).unwrap();

    let page = store.desired(&PageRequest::first()).unwrap();
    assert_eq!(page.rows.len(), 2);
    assert_eq!(
        page.damaged
            .iter()
            .map(|row| row.key.as_str())
            .collect::<Vec<_>>(),
        ["desired/b"]
    );
    assert!(matches!(
        store.desired_of(&EntryName::parse("b").unwrap()),
        Err(StoreError::Damaged(_))
    ));
    let walked = store.walk(&PageRequest::first()).unwrap();
    assert_eq!(walked.damaged.len(), 1);
    // Saying it again heals it.
    store.commit(&[set("b", DesiredState::Stopped)]).unwrap();
    assert!(
        store
            .walk(&PageRequest::first())
            .unwrap()
            .damaged
            .is_empty()
    );
}

/// SUP-19
#[test]
fn a_dropped_database_has_let_go_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..40 {
        let store = SledStore::open(directory.path(), 1 << 20).unwrap();
        store
            .commit(&[set(
                "a",
                if round % 2 == 0 {
                    DesiredState::Running
                } else {
                    DesiredState::Stopped
                },
            )])
            .unwrap();
        drop(store);
        let file = File::open(directory.path().join("db")).unwrap();
        assert!(
            crate::system::lock(&file).is_ok(),
            "still held in round {round}"
        );
    }
}

/// SUP-19
#[test]
fn a_database_on_its_way_out_is_waited_for_and_is_not_corrupt() {
    let directory = tempfile::tempdir().unwrap();
    drop(SledStore::open(directory.path(), 1 << 20).unwrap());
    let holder = File::open(directory.path().join("db")).unwrap();
    crate::system::lock(&holder).unwrap();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| SledStore::open(directory.path(), 1 << 20).map(drop));
        // Long enough for a first attempt to be refused; if it is not, the opening succeeds all the same.
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(holder);
        opening.join().unwrap().unwrap();
    });
}
