//! The node gone, the keeper gone, both gone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

#[path = "support/harness.rs"]
mod harness;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use harness::*;
use rustix::event::PollFlags;
use rustix::process::{Signal, pidfd_send_signal};
use treewarden_keeper::leftovers::{
    KeeperState, NodeMarks, kill_marked, probe_keeper, read_last, scan_marked, wait_for_keeper,
};
use treewarden_keeper::orphans::{self, OrphanState};
use treewarden_keeper::{ExitStatus, LaunchText, NodeTag, ProcessId, system};

const SIGKILL: ExitStatus = ExitStatus::Signal {
    signal: libc::SIGKILL,
    core: false,
};

/// A lost keeper's children become this process's, and all of those are killed: one test at a time, also where tests
/// share a process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SUP-22, SUP-37: stdin ends, finalizers run, two seconds later the rest is killed, and the exit statuses survive.
#[test]
fn lost_node_gives_two_seconds_and_leaves_the_exit_statuses() {
    let _alone = alone();
    let mut keeper = Keeper::start();
    let folder = keeper.data.path().to_owned();
    let finalized = folder.join("finalized");
    let mut good = keeper.shell(&format!(
        "echo ready; cat; sleep 0.3; touch {}; exit 7",
        finalized.display()
    ));
    let mut stubborn = keeper.shell("trap '' TERM HUP; setsid sleep 1000 >/dev/null 2>&1 & echo ready; while :; do sleep 1; done");
    let early = keeper.shell("exit 9");
    assert_eq!(good.line(), "ready");
    assert_eq!(stubborn.line(), "ready");
    keeper.wait_gone(&early);
    let at_the_gate = keeper.spawn("touch", &[folder.join("ran").to_str().unwrap()]);
    assert_eq!(
        probe_keeper(&folder).unwrap(),
        KeeperState::Living {
            holder: Some(system::process::identity(keeper.process.pid).unwrap())
        }
    );

    let begun = Instant::now();
    keeper.lose_node();
    let mut plugins = [good, stubborn, early, at_the_gate];
    plugins.iter_mut().for_each(|plugin| plugin.stdin = None);
    assert!(keeper.wait_ended(BOUND));
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_millis(2600),
        "{took:?}"
    );
    assert_eq!(probe_keeper(&folder).unwrap(), KeeperState::Ended);

    assert!(finalized.exists());
    assert!(!folder.join("ran").exists());
    assert!(
        plugins
            .iter()
            .all(|plugin| !is_living(plugin.pid) && keeper.survivors(plugin) == 0)
    );
    let last = read_last(&folder).unwrap().unwrap();
    assert_eq!(last.keeper.pid, keeper.process.pid);
    assert_eq!(last.boot_id, system::boot_id().unwrap());
    let evidence = keeper.evidence();
    let ends: BTreeMap<_, _> = last
        .launches
        .iter()
        .map(|launch| {
            (
                launch.ordinal,
                (launch.exit_status, launch.killed, launch.evidence),
            )
        })
        .collect();
    assert_eq!(
        ends[&plugins[0].ordinal],
        (Some(ExitStatus::Code(7)), false, Some(evidence))
    );
    assert_eq!(
        ends[&plugins[1].ordinal],
        (Some(SIGKILL), true, Some(evidence))
    );
    assert_eq!(
        ends[&plugins[2].ordinal],
        (Some(ExitStatus::Code(9)), false, Some(evidence))
    );
    assert_eq!(
        ends[&plugins[3].ordinal],
        (Some(ExitStatus::Code(0)), false, Some(evidence))
    );
    let text = LaunchText(format!("{}/entry/{}", keeper.node.id, plugins[0].ordinal));
    assert_eq!(
        last.launch(&text).unwrap().exit_status,
        Some(ExitStatus::Code(7))
    );
}

/// SUP-22
#[test]
fn lost_node_with_nothing_left_ends_the_keeper_at_once() {
    let _alone = alone();
    let mut keeper = Keeper::start();
    let mut plugin = keeper.spawn("cat", &[]);
    plugin.open();
    keeper.lose_node();
    plugin.stdin = None;
    assert!(keeper.wait_ended(Duration::from_millis(1500)));
    let last = read_last(keeper.data.path()).unwrap().unwrap();
    assert_eq!(last.launches[0].exit_status, Some(ExitStatus::Code(0)));
}

/// SUP-22, SUP-33
#[test]
fn lost_node_ends_a_fork_storm_too() {
    let _alone = alone();
    let mut keeper = Keeper::start();
    let mut plugin = keeper.python(
        "
import os
os.write(1, b'storm\\n')
while True:
    if os.fork(): os._exit(0)
    os.setsid()
",
    );
    assert_eq!(plugin.line(), "storm");
    keeper.lose_node();
    assert!(keeper.wait_ended(BOUND));
    assert_eq!(keeper.survivors(&plugin), 0);
    assert!(read_last(keeper.data.path()).unwrap().unwrap().launches[0].killed);
}

/// SUP-22: the keeper keeps no copy of a plugin's pipes, else the plugin would not see its stdin end.
#[test]
fn keeper_holds_no_copy_of_the_pipes() {
    let _alone = alone();
    let mut keeper = Keeper::start();
    let mut plugin = keeper.spawn("cat", &[]);
    plugin.open();
    plugin.stdin = None;
    assert_eq!(plugin.output(), "");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    let mut writer = keeper.shell("exec >&- 2>&-; exec sleep 1000");
    assert_eq!(writer.output(), "", "end of output while the plugin lives");
    assert!(is_living(writer.pid));
    let mut reader = keeper.shell("exec <&-; exec sleep 1000");
    eventually("nobody reads its stdin", || {
        reader.stdin.as_mut().unwrap().write_all(b"x").is_err()
    });
    assert!(is_living(reader.pid));
}

/// SUP-35, SUP-37: leaders die with the keeper, the node kills and reaps the rest, and has no child left.
#[test]
fn lost_keeper_leaves_nothing_behind() {
    let _alone = alone();
    orphans::become_subreaper().unwrap();
    let mut keeper = Keeper::start();
    let leader = keeper.shell("exec sleep 1000");
    let mut daemon =
        keeper.shell("env -i setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'; exec sleep 1000");
    let stray = daemon.pid_line();
    pidfd_send_signal(&keeper.process.pidfd, Signal::KILL).unwrap();
    assert!(keeper.wait_ended(BOUND));
    assert!(
        ready(&leader.pidfd, PollFlags::IN, BOUND),
        "the leader dies by itself"
    );
    assert_eq!(
        probe_keeper(keeper.data.path()).unwrap(),
        KeeperState::Ended
    );

    let statuses = clean_up();
    for pid in [keeper.process.pid, leader.pid, daemon.pid, stray] {
        assert_eq!(statuses.get(&pid), Some(&SIGKILL), "{pid}");
    }
    assert_eq!(keeper.survivors(&leader) + keeper.survivors(&daemon), 0);
    keeper.sweep();
    assert!(read_last(keeper.data.path()).unwrap().is_none());
    let (link, process) =
        treewarden_keeper::start(&options(keeper.data.path(), cgroup_use())).unwrap();
    assert!(ready(&link, PollFlags::IN, BOUND));
    assert!(matches!(
        link.try_recv(),
        Ok(Some((treewarden_keeper::wire::Event::Hello { .. }, None)))
    ));
    drop(link);
    assert!(ready(&process.pidfd, PollFlags::IN, BOUND));
    clean_up();
}

/// SUP-33, SUP-35
#[test]
fn lost_keeper_during_a_fork_storm_leaves_nothing_behind() {
    let _alone = alone();
    orphans::become_subreaper().unwrap();
    for _ in 0..rounds(10) {
        let mut keeper = Keeper::start();
        let mut plugin = keeper.python(
            "
import os
os.write(1, b'storm\\n')
while True:
    if os.fork(): os._exit(0)
    os.setsid()
",
        );
        assert_eq!(plugin.line(), "storm");
        pidfd_send_signal(&keeper.process.pidfd, Signal::KILL).unwrap();
        assert!(keeper.wait_ended(BOUND));
        clean_up();
        assert_eq!(keeper.survivors(&plugin), 0);
        keeper.sweep();
    }
}

fn clean_up() -> BTreeMap<ProcessId, ExitStatus> {
    let mut statuses = BTreeMap::new();
    eventually("no child is left", || {
        let pass = orphans::pass().unwrap();
        statuses.extend(pass.reaped);
        pass.state == OrphanState::Done
    });
    statuses
}

/// SUP-17, SUP-35: both lost; what bears the node's marks is found and killed, by either mark.
#[test]
fn both_lost_leftovers_are_found_by_their_marks_and_killed() {
    let _alone = alone();
    orphans::become_subreaper().unwrap();
    let mut keeper = Keeper::start();
    let node = keeper.node.clone();
    let request = keeper.request("sh", &["-c", "env -i setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'; setsid sleep 1000 >/dev/null 2>&1 & echo $!; wait"]);
    let mark = request.mark;
    let mut plugin = keeper.spawn_request(request);
    plugin.open();
    let strays = [plugin.pid_line(), plugin.pid_line()];
    let mut stranger = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let found = scan_marked(&node).unwrap();
    assert!(found.len() >= 3 && found.iter().all(|process| process.mark == Some(mark)));
    pidfd_send_signal(&keeper.process.pidfd, Signal::KILL).unwrap();
    assert_eq!(
        wait_for_keeper(keeper.data.path(), BOUND).unwrap(),
        KeeperState::Ended
    );
    assert!(strays.into_iter().all(is_living));

    eventually("none is found", || kill_marked(&node).unwrap().is_empty());
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let statuses = clean_up();
    assert!(strays.into_iter().all(|pid| statuses[&pid] == SIGKILL));
    keeper.sweep();
}

/// SUP-18: whatever names another node, in either mark, is never signalled.
#[test]
fn marks_that_name_another_node_are_never_signalled() {
    let _alone = alone();
    let mut keeper = Keeper::start();
    let own = NodeMarks {
        tag: NodeTag::new(keeper.node.tag.get() ^ 0x80_000),
        id: "another".to_owned(),
    };
    let mut request = keeper.request("sleep", &["1000"]);
    request.mark.node = own.tag;
    let mut half = keeper.spawn_request(request);
    half.open();
    let mut whole = keeper.spawn("sleep", &["1000"]);
    whole.open();
    assert_eq!(kill_marked(&own).unwrap(), []);
    assert!(is_living(half.pid) && is_living(whole.pid));
    keeper.kill(&half);
    keeper.kill(&whole);
    keeper.wait_gone(&half);
    keeper.wait_gone(&whole);
}
