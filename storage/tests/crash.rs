//! A node that is killed in the middle of its work: what was answered is there, and no number comes twice.
//!
//! `TW_ROUNDS` sets how often it is killed (default 8).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use treewarden_model::outcome::Outcome;
use treewarden_model::time::WallTime;
use treewarden_storage::{Desired, DesiredState, Fingerprint, LaunchRecord, StoreHandle};

#[path = "support/support.rs"]
mod support;
use support::*;

const CHILD: &str = "TREEWARDEN_TEST_CRASH_CHILD";
/// Set as well: launches and ends only, and many at once, so that the log grows fast.
const LAUNCHES_ONLY: &str = "TREEWARDEN_TEST_CRASH_LAUNCHES_ONLY";

fn rounds() -> usize {
    std::env::var("TW_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(8)
}

/// What the child says is answered: a line of a file, in one write, so that a kill cuts none.
#[derive(Clone)]
struct Answered(Arc<Mutex<File>>);

impl Answered {
    fn to(directory: &Path) -> Self {
        let file = File::options()
            .create(true)
            .append(true)
            .open(directory.with_extension("answered"))
            .unwrap();
        Self(Arc::new(Mutex::new(file)))
    }

    fn say(&self, line: &str) {
        self.0
            .lock()
            .unwrap()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }
}

async fn work(
    store: StoreHandle,
    session: treewarden_model::id::SessionNumber,
    entry: String,
    answered: Answered,
) {
    let launches_only = std::env::var_os(LAUNCHES_ONLY).is_some();
    for number in 0_u32.. {
        let mut record: LaunchRecord = record_of(&store, session, &entry).unwrap();
        if launches_only {
            record.instance.id = "x".repeat(2_000);
        }
        let launch = record.launch;
        answered.say(&format!("given {entry} {launch}"));
        store.record_launch(record.clone()).await.unwrap();
        answered.say(&format!("launched {entry} {launch}"));
        if !launches_only {
            let declared = Fingerprint::from_stored([u8::try_from(number % 250).unwrap(); 32]);
            store
                .set_desired(
                    &name(&entry),
                    Desired {
                        state: DesiredState::Stopped,
                        declared,
                    },
                )
                .await
                .unwrap();
            answered.say(&format!("desired {entry} {}", number % 250));
        }
        store
            .record_end(record.key(), stop_of(&record, Outcome::Exited), WallTime(1))
            .await
            .unwrap();
        answered.say(&format!("ended {entry} {launch}"));
    }
}

/// Not a test of its own: what the other tests start and kill.
#[test]
fn crash_child() {
    let Ok(directory) = std::env::var(CHILD) else {
        return;
    };
    let directory = Path::new(&directory);
    let opened = open(directory).unwrap();
    let answered = Answered::to(directory);
    answered.say(&format!("session {}", opened.identity.session.0));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut set = tokio::task::JoinSet::new();
        let entries = if std::env::var_os(LAUNCHES_ONLY).is_some() {
            60
        } else {
            24
        };
        for number in 0..entries {
            set.spawn(work(
                opened.store.clone(),
                opened.identity.session,
                format!("entry-{number}"),
                answered.clone(),
            ));
        }
        set.join_next().await.unwrap().unwrap();
    });
}

fn start(directory: &Path, launches_only: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if launches_only {
        command.env(LAUNCHES_ONLY, "1");
    }
    command
        .args(["--exact", "crash_child", "--nocapture"])
        .env(CHILD, directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Polls until `reached`, at most 30 seconds.
fn wait_until(child: &mut Child, mut reached: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !reached() {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "not reached in time"
        );
        assert!(
            child.try_wait().unwrap().is_none(),
            "the child ended by itself"
        );
        std::thread::yield_now();
    }
}

#[derive(Debug, Default)]
struct Seen {
    given: BTreeMap<String, u64>,
    launched: BTreeSet<(String, u64)>,
    ended: BTreeSet<(String, u64)>,
    /// The wish that was answered last, of the newest session.
    desired: BTreeMap<String, u64>,
    sessions: Vec<u64>,
    lines: usize,
}

/// Reads what was answered, and checks that no number came twice.
fn read_answers(directory: &Path) -> Seen {
    let mut seen = Seen::default();
    for line in fs::read_to_string(directory.with_extension("answered"))
        .unwrap_or_default()
        .lines()
    {
        seen.lines += 1;
        let words: Vec<&str> = line.split(' ').collect();
        let number: u64 = words.last().unwrap().parse().unwrap();
        let entry = words[1].to_owned();
        match words[0] {
            "session" => {
                assert!(
                    seen.sessions.last().is_none_or(|last| *last < number),
                    "session {number} came twice"
                );
                seen.sessions.push(number);
            }
            "given" => {
                seen.given.insert(entry, number);
            }
            "launched" => {
                // What was only given and never recorded may be given again by the next session: nothing ran under it.
                let newest = seen
                    .launched
                    .iter()
                    .filter(|(known, _)| *known == entry)
                    .map(|(_, launch)| *launch)
                    .max()
                    .unwrap_or(0);
                assert!(
                    number > newest,
                    "launch {number} of {entry} came after {newest}"
                );
                seen.launched.insert((entry, number));
            }
            "ended" => {
                seen.ended.insert((entry, number));
            }
            "desired" => {
                seen.desired.insert(entry, number);
            }
            other => panic!("{other}"),
        }
    }
    seen
}

/// Opens the directory after a kill and compares it with what was answered.
fn check(directory: &Path) {
    let seen = read_answers(directory);
    let answered = Answered::to(directory);
    let opened = open(directory).unwrap();
    assert_eq!(opened.counters_raised, None);
    assert!(opened.damaged.is_empty());
    assert!(
        seen.sessions
            .last()
            .is_none_or(|last| opened.identity.session.0 > *last)
    );
    let open_now: BTreeSet<_> = opened
        .open_launches
        .iter()
        .map(|record| (record.entry.to_string(), record.launch.get()))
        .collect();
    for launch in &seen.launched {
        let newest = seen.given.get(&launch.0) == Some(&launch.1);
        // Only the newest may have an end that is on disk and was not answered.
        assert!(
            seen.ended.contains(launch) || open_now.contains(launch) || newest,
            "{launch:?} was answered and is lost"
        );
        if newest && !seen.ended.contains(launch) && !open_now.contains(launch) {
            let stop = opened.store.last_stop(&name(&launch.0)).unwrap();
            assert_eq!(
                stop.map(|(stop, _)| stop.launch.get()),
                Some(launch.1),
                "{launch:?} is neither open nor ended"
            );
            answered.say(&format!("ended {} {}", launch.0, launch.1));
        }
    }
    for launch in &seen.ended {
        assert!(
            !open_now.contains(launch),
            "{launch:?} ended and is open again"
        );
    }
    for (entry, declared) in &seen.desired {
        let found = opened
            .store
            .desired_of(&name(entry))
            .unwrap()
            .unwrap()
            .declared
            .as_bytes()[0];
        // The next wish may be on disk without having been answered; a new session begins with 0 again.
        assert!(
            [(*declared + 1) % 250, *declared, 0].contains(&u64::from(found)),
            "{entry}: {found} after {declared}"
        );
    }
    for (entry, launch) in &seen.launched {
        let next = opened.store.next_launch(&name(entry)).unwrap().0;
        assert!(next.get() > *launch, "{entry}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        // The next session has to deal with them first.
        for record in &opened.open_launches {
            opened
                .store
                .record_end(record.key(), stop_of(record, Outcome::Killed), WallTime(2))
                .await
                .unwrap();
            answered.say(&format!("ended {} {}", record.entry, record.launch));
        }
        opened.store.close().await.unwrap();
    });
}

/// SUP-13, SUP-17, SUP-39
#[test]
fn what_was_answered_survives_a_kill_at_any_moment() {
    let (_files, directory) = directory();
    for round in 0..rounds() {
        let before = read_answers(&directory).lines;
        let mut child = start(&directory, false);
        let answered = directory.with_extension("answered");
        // Another moment in each round: in the opening, in the first group, far into the work.
        let bytes = fs::metadata(&answered).map_or(0, |found| found.len())
            + [0, 1, 40, 700, 3_000, 20_000][round % 6];
        wait_until(&mut child, || {
            bytes == 0 || fs::metadata(&answered).is_ok_and(|found| found.len() >= bytes)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        check(&directory);
        assert!(round % 6 == 0 || read_answers(&directory).lines > before);
    }
}

/// SUP-13
#[test]
fn a_kill_in_the_middle_of_a_compaction_loses_nothing() {
    let (_files, directory) = directory();
    let (new, log) = (
        directory.join("launches.log.new"),
        directory.join("launches.log"),
    );
    let size = || fs::metadata(&log).map_or(0, |found| found.len());
    let mut left = 0;
    for _ in 0..rounds().div_ceil(8) {
        let mut child = start(&directory, true);
        let mut largest = 0;
        wait_until(&mut child, || {
            largest = largest.max(size());
            // The first start and a torn tail make a new file too, of a small log.
            largest > 900_000 && (new.exists() || size() < largest)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        left += usize::from(new.exists());
        check(&directory);
        assert!(!new.exists());
    }
    // How many of the kills fell between the new file's creation and its rename depends on the disk.
    assert!(left <= rounds());
}
