//! Control groups: one for each launch, better evidence than the tree, and never left behind.
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

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::*;
use rustix::event::PollFlags;
use rustix::process::{Signal, pidfd_send_signal};
use treewarden_keeper::leftovers::{kill_marked, read_last, scan_marked, sweep_groups};
use treewarden_keeper::orphans::{self, OrphanState};
use treewarden_keeper::wire::{Event, Limits};
use treewarden_keeper::{
    CgroupUse, EnforcedLimits, Enforcement, Evidence, ExitStatus, ProcessId, system,
};

const SIGKILL: ExitStatus = ExitStatus::Signal {
    signal: libc::SIGKILL,
    core: false,
};

/// Enough for an event that is wrong to show itself, where its absence is the point.
const WHILE: Duration = Duration::from_millis(150);

/// Takes away its mark, which is inherited, before a double fork into a session and an empty environment: nothing but
/// its group tells whose the daemon is. Its pid goes to stdout.
const STRIPPED_DAEMON: &str = "
import os, resource, time
resource.setrlimit(getattr(resource, 'RLIMIT_RTTIME', 15), (1000000, 1000000))
if os.fork() == 0:
    os.setsid()
    pid = os.fork()
    if pid:
        os.write(1, b'%d\\n' % pid)
        os._exit(0)
    null = os.open('/dev/null', os.O_RDWR)
    for number in 0, 1, 2: os.dup2(null, number)
    os.execve('/bin/sleep', ['sleep', '1000'], {})
os.wait()
input()
";

/// A keeper that makes groups; where none can be made, the test says so.
fn keeper(test: &str) -> Option<Keeper> {
    let keeper = Keeper::start();
    if keeper.groups.is_none() {
        skipped(test, "no cgroup v2 that may be written");
        return None;
    }
    Some(keeper)
}

fn group_of(keeper: &Keeper, plugin: &Plugin) -> PathBuf {
    let folder = keeper.groups.as_ref().unwrap();
    folder.join(plugin.ordinal.to_string())
}

fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn gone(keeper: &mut Keeper, plugin: &Plugin) -> (Evidence, bool) {
    let wanted = plugin.ordinal;
    keeper.wait_for(|event| match event {
        Event::Gone {
            ordinal,
            evidence,
            killed,
            ..
        } if *ordinal == wanted => Some((*evidence, *killed)),
        _ => None,
    })
}

fn gone_comes(keeper: &mut Keeper) -> bool {
    keeper.comes_within(WHILE, |event| matches!(event, Event::Gone { .. }))
}

/// SUP-32: the plugin is in its group before its first instruction, and everything it starts is born there.
#[test]
fn launch_runs_in_a_group_of_its_own_and_gives_the_better_evidence() {
    let Some(mut keeper) =
        keeper("launch_runs_in_a_group_of_its_own_and_gives_the_better_evidence")
    else {
        return;
    };
    let mut plugin = keeper.spawn(
        "sh",
        &[
            "-c",
            "grep ^0:: /proc/self/cgroup; env -i setsid grep ^0:: /proc/self/cgroup; read line",
        ],
    );
    let group = group_of(&keeper, &plugin);
    assert_eq!(members(&group), [plugin.pid.get()], "at the gate");
    plugin.open();
    let below = format!("/treewarden-{}/{}", keeper.node.id, plugin.ordinal);
    for _ in 0..2 {
        let line = plugin.line();
        assert!(line.ends_with(&below), "{line}");
    }
    plugin.write("\n");
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, false));
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!group.exists());
}

/// SUP-32: without groups nothing is made, and the evidence is the tree.
#[test]
fn keeper_that_is_told_so_makes_no_groups() {
    let mut keeper = Keeper::start_with(CgroupUse::Off);
    let mut plugin = keeper.shell("cat /proc/self/cgroup; read line");
    let output = plugin.line();
    assert!(!output.is_empty());
    assert!(groups_folder(&keeper.node).is_none_or(|folder| !folder.exists()));
    plugin.write("\n");
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Tree, false));
}

/// S2: three levels, one of them in a session of its own; the group must be empty.
#[test]
fn tree_with_a_session_in_it_is_gone_whole() {
    let Some(mut keeper) = keeper("tree_with_a_session_in_it_is_gone_whole") else {
        return;
    };
    let mut plugin =
        keeper.shell("sh -c 'setsid sh -c \"sleep 1000 & echo ready; wait\" & wait' & wait");
    assert_eq!(plugin.line(), "ready");
    let group = group_of(&keeper, &plugin);
    assert!(members(&group).len() >= 4);
    keeper.kill(&plugin);
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, true));
    assert!(!group.exists());
    assert_eq!(keeper.survivors(&plugin), 0);
}

/// SUP-32: what has no mark left is still told by its group, and holds up nobody else.
#[test]
fn process_without_any_mark_is_ascribed_by_its_group() {
    let Some(mut keeper) = keeper("process_without_any_mark_is_ascribed_by_its_group") else {
        return;
    };
    let mut first = keeper.python(STRIPPED_DAEMON);
    let daemon = first.pid_line();
    let mut second = keeper.python(STRIPPED_DAEMON);
    let other_daemon = second.pid_line();
    for plugin in [&mut first, &mut second] {
        plugin.write("\n");
        assert_eq!(keeper.wait_exited(plugin), ExitStatus::Code(0));
    }
    assert!(!keeper.comes_within(WHILE, |event| matches!(
        event,
        Event::Gone { .. } | Event::Unascribed { .. }
    )));
    keeper.kill(&first);
    assert_eq!(gone(&mut keeper, &first), (Evidence::Cgroup, true));
    assert!(!is_living(daemon) && is_living(other_daemon));
    keeper.kill(&second);
    assert_eq!(gone(&mut keeper, &second), (Evidence::Cgroup, true));
    assert!(!is_living(other_daemon));
}

/// SUP-32: gone needs the group too, whoever is in it.
#[test]
fn stranger_in_the_group_delays_gone_and_is_killed() {
    let Some(mut keeper) = keeper("stranger_in_the_group_delays_gone_and_is_killed") else {
        return;
    };
    let mut plugin = keeper.shell("read line");
    let mut stranger = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let group = group_of(&keeper, &plugin);
    fs::write(group.join("cgroup.procs"), stranger.id().to_string()).unwrap();
    plugin.write("\n");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!gone_comes(&mut keeper));
    keeper.kill(&plugin);
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, true));
    assert!(!stranger.wait().unwrap().success());
}

/// SUP-32: a group that empties by itself, without a word to the keeper, is seen.
#[test]
fn group_that_empties_by_itself_is_seen() {
    let Some(mut keeper) = keeper("group_that_empties_by_itself_is_seen") else {
        return;
    };
    let mut plugin = keeper.shell("read line");
    let mut stranger = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let group = group_of(&keeper, &plugin);
    fs::write(group.join("cgroup.procs"), stranger.id().to_string()).unwrap();
    plugin.write("\n");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!gone_comes(&mut keeper));
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, false));
}

/// SUP-32: who has the right to leave the group, and does, is still found by the tree.
#[test]
fn process_that_leaves_its_group_is_found_by_the_tree() {
    let Some(mut keeper) = keeper("process_that_leaves_its_group_is_found_by_the_tree") else {
        return;
    };
    let above = keeper.groups.as_ref().unwrap().parent().unwrap().to_owned();
    let mut plugin = keeper.shell(&format!(
        "setsid sh -c 'echo $$ > {}/cgroup.procs; echo $$; exec sleep 1000 >/dev/null 2>&1' & read line",
        above.display()
    ));
    let runaway = plugin.pid_line();
    assert!(!members(&group_of(&keeper, &plugin)).contains(&runaway.get()));
    plugin.write("\n");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!gone_comes(&mut keeper));
    keeper.kill(&plugin);
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, true));
    assert!(!is_living(runaway));
}

/// S46: groups that a family makes below its own go with it.
#[test]
fn groups_below_the_launchs_own_are_killed_and_removed() {
    let Some(mut keeper) = keeper("groups_below_the_launchs_own_are_killed_and_removed") else {
        return;
    };
    let mut plugin = keeper.shell(
        "read group; mkdir -p $group/a/b && echo $$ > $group/a/b/cgroup.procs && echo ready; sleep 1000",
    );
    let group = group_of(&keeper, &plugin);
    plugin.write(&format!("{}\n", group.display()));
    assert_eq!(plugin.line(), "ready");
    assert!(!members(&group.join("a/b")).is_empty());
    keeper.kill(&plugin);
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, true));
    assert!(!group.exists());
}

/// S46: the number of groups is that of living launches, however many there were.
#[test]
fn groups_do_not_pile_up() {
    let Some(mut keeper) = keeper("groups_do_not_pile_up") else {
        return;
    };
    let staying = keeper.shell("exec sleep 1000");
    let folder = keeper.groups.clone().unwrap();
    let count = || {
        let folders = fs::read_dir(&folder).unwrap().flatten();
        folders
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .count()
    };
    for round in 0..rounds(100) {
        let plugin = keeper.shell(if round % 2 == 0 {
            "exit 0"
        } else {
            "sleep 1000 & wait"
        });
        if round % 2 == 1 {
            keeper.kill(&plugin);
        }
        assert_eq!(gone(&mut keeper, &plugin).0, Evidence::Cgroup);
        assert_eq!(count(), 1, "round {round}");
        keeper.seen.clear();
    }
    keeper.kill(&staying);
    gone(&mut keeper, &staying);
    assert_eq!(count(), 0);
}

/// S46: a shim that ends before it can be put into its group is no reason to do without groups.
#[test]
fn launches_that_end_at_once_do_not_turn_groups_off() {
    let Some(mut keeper) = keeper("launches_that_end_at_once_do_not_turn_groups_off") else {
        return;
    };
    for _ in 0..rounds(50) {
        let mut request = keeper.request("true", &[]);
        request.working_dir = "/nowhere".into();
        let plugin = keeper.spawn_request(request);
        assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, false));
        keeper.seen.clear();
    }
    let plugin = keeper.shell("exit 0");
    assert_eq!(gone(&mut keeper, &plugin), (Evidence::Cgroup, false));
}

/// SUP-22, S46: the keeper of a lost node ends what is in the groups, says so, and leaves none.
#[test]
fn lost_node_leaves_no_group() {
    let Some(mut keeper) = keeper("lost_node_leaves_no_group") else {
        return;
    };
    let mut plugin = keeper.python(STRIPPED_DAEMON);
    let daemon = plugin.pid_line();
    let _at_the_gate = keeper.spawn("true", &[]);
    keeper.lose_node();
    plugin.stdin = None;
    assert!(keeper.wait_ended(BOUND));
    assert!(!is_living(daemon));
    let last = read_last(keeper.data.path()).unwrap().unwrap();
    assert_eq!(
        (last.launches[0].evidence, last.launches[0].killed),
        (Some(Evidence::Cgroup), true)
    );
    assert!(!keeper.groups.as_ref().unwrap().exists());
}

/// SUP-17, SUP-35, S46: both lost; what bears no mark any more is found in its group and killed, and the group removed.
#[test]
fn sweep_kills_what_has_hidden_its_marks() {
    orphans::become_subreaper().unwrap();
    let Some(mut keeper) = keeper("sweep_kills_what_has_hidden_its_marks") else {
        return;
    };
    let mut plugin = keeper.python(STRIPPED_DAEMON);
    let daemon = plugin.pid_line();
    pidfd_send_signal(&keeper.process.pidfd, Signal::KILL).unwrap();
    assert!(keeper.wait_ended(BOUND));
    assert!(ready(&plugin.pidfd, PollFlags::IN, BOUND));
    eventually("no mark is left", || {
        kill_marked(&keeper.node).unwrap().is_empty()
    });
    assert_eq!(scan_marked(&keeper.node).unwrap(), []);
    assert!(is_living(daemon));

    let mut found = Vec::new();
    eventually("no group is left", || {
        let left = sweep_groups(&keeper.node).unwrap();
        found.extend(left.iter().filter_map(|group| group.launch));
        left.is_empty()
    });
    assert_eq!(found.first(), Some(&plugin.ordinal));
    assert!(!keeper.groups.as_ref().unwrap().exists());
    let mut statuses = Vec::<(ProcessId, ExitStatus)>::new();
    eventually("no child is left", || {
        let pass = orphans::pass().unwrap();
        statuses.extend(pass.reaped);
        pass.state == OrphanState::Done
    });
    assert!(statuses.contains(&(daemon, SIGKILL)));
    assert_eq!(sweep_groups(&keeper.node).unwrap(), [], "and again");
}

/// SUP-30: below a delegated group the node sits in a room of its own, and its launches' groups beside that, where they
/// can be given controllers.
#[test]
fn groups_are_made_in_the_delegated_group_above() {
    let Some(outer) = keeper("groups_are_made_in_the_delegated_group_above") else {
        return;
    };
    let above = outer.groups.as_ref().unwrap().parent().unwrap().to_owned();
    let delegated = above.join(format!("delegated-{}", outer.node.id));
    let room = delegated.join("room");
    fs::create_dir_all(&room).unwrap();
    let attribute = rustix::fs::setxattr(
        &delegated,
        "trusted.delegate",
        b"1",
        rustix::fs::XattrFlags::empty(),
    );
    let own = std::process::id().to_string();
    fs::write(room.join("cgroup.procs"), &own).unwrap();
    let mut inner = Keeper::start();
    // The keeper is in the room; this process, which is to remove it, is not any more.
    fs::write(above.join("cgroup.procs"), &own).unwrap();
    let mut plugin = inner.shell("read line");
    let place = format!("treewarden-{}/{}", inner.node.id, plugin.ordinal);
    let (in_delegated, in_room) = (delegated.join(&place), room.join(&place));
    assert_eq!(
        (in_delegated.exists(), in_room.exists()),
        (attribute.is_ok(), attribute.is_err())
    );
    plugin.write("\n");
    assert_eq!(gone(&mut inner, &plugin), (Evidence::Cgroup, false));
    drop(inner);
    assert!(!in_delegated.parent().unwrap().exists());
    fs::remove_dir(&room).unwrap();
    fs::remove_dir(&delegated).unwrap();
}

/// SUP-30: each limit says what holds it: the group where it has the controller, else rlimit, else nothing.
#[test]
fn limits_say_what_holds_them() {
    let mut keeper = Keeper::start();
    let controllers = keeper.groups.as_ref().map_or_else(String::new, |folder| {
        fs::read_to_string(folder.parent().unwrap().join("cgroup.controllers")).unwrap()
    });
    let holds = |controller: &str, otherwise| {
        let there = controllers
            .split_whitespace()
            .any(|found| found == controller);
        Some(if there {
            Enforcement::Cgroup
        } else {
            otherwise
        })
    };
    let mut request = keeper.request("sh", &["-c", "ulimit -n; ulimit -d; read line"]);
    request.limits = Limits {
        open_files: Some(77),
        memory_bytes: Some(64 << 20),
        processes: Some(9),
        cpu_thousandths: Some(500),
    };
    let mut plugin = keeper.spawn_request(request);
    plugin.open();
    let enforced = keeper.wait_for(|event| match event {
        Event::Spawned { limits, .. } => Some(*limits),
        _ => None,
    });
    let expected = EnforcedLimits {
        memory: holds("memory", Enforcement::Rlimit),
        processes: holds("pids", Enforcement::NotEnforced),
        open_files: Some(Enforcement::Rlimit),
        cpu: holds("cpu", Enforcement::NotEnforced),
    };
    // Controllers that are there may not be given away, where the group above holds processes.
    let given = |found, expected| found == expected || expected == Some(Enforcement::Cgroup);
    assert!(given(enforced.memory, expected.memory), "{enforced:?}");
    assert!(
        given(enforced.processes, expected.processes),
        "{enforced:?}"
    );
    assert!(given(enforced.cpu, expected.cpu), "{enforced:?}");
    assert_eq!(enforced.open_files, expected.open_files);
    assert_eq!(plugin.line(), "77");
    let by_rlimit = enforced.memory == Some(Enforcement::Rlimit);
    assert_eq!(plugin.line() == "65536", by_rlimit, "KiB of RLIMIT_DATA");
    plugin.write("\n");
    gone(&mut keeper, &plugin);
    assert!(system::children::of(keeper.process.pid).is_empty());
}

/// SUP-11: the kernel's own word that it was want of memory.
#[test]
fn family_out_of_memory_is_told_so() {
    let Some(mut keeper) = keeper("family_out_of_memory_is_told_so") else {
        return;
    };
    let mut request = keeper.request("python3", &["-S", "-c", "held = bytearray(256 << 20)"]);
    request.limits.memory_bytes = Some(64 << 20);
    let mut plugin = keeper.spawn_request(request);
    let held = keeper.wait_for(|event| match event {
        Event::Spawned { limits, .. } => Some(limits.memory),
        _ => None,
    });
    plugin.open();
    let wanted = plugin.ordinal;
    let out_of_memory = keeper.wait_for(|event| match event {
        Event::Gone {
            ordinal,
            out_of_memory,
            ..
        } if *ordinal == wanted => Some(*out_of_memory),
        _ => None,
    });
    if held == Some(Enforcement::Cgroup) {
        assert!(out_of_memory);
        assert_eq!(keeper.wait_exited(&plugin), SIGKILL);
    } else {
        assert!(!out_of_memory);
        skipped(
            "family_out_of_memory_is_told_so",
            "cgroup v2 has no memory controller here",
        );
    }
}
