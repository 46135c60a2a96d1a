//! Families: interrupting, killing, and when one is called gone.
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

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use harness::*;
use treewarden_keeper::wire::Event;
use treewarden_keeper::{CgroupUse, ExitStatus, system};

const SIGTERM: ExitStatus = ExitStatus::Signal {
    signal: libc::SIGTERM,
    core: false,
};
const SIGKILL: ExitStatus = ExitStatus::Signal {
    signal: libc::SIGKILL,
    core: false,
};

/// Enough for an event that is wrong to show itself, where its absence is the point.
const WHILE: Duration = Duration::from_millis(150);

/// A daemon with two forks, a session of its own and an empty environment; its pid goes to stdout.
const DAEMON: &str = "env -i setsid sh -c 'sleep 1000 >/dev/null 2>&1 </dev/null & echo $!' &";

/// SUP-37
#[test]
fn exit_statuses_are_the_kernels_own() {
    let mut keeper = Keeper::start();
    for (script, status) in [
        ("exit 0", ExitStatus::Code(0)),
        ("exit 42", ExitStatus::Code(42)),
        ("kill -TERM $$", SIGTERM),
        ("kill -KILL $$", SIGKILL),
        (
            "kill -40 $$",
            ExitStatus::Signal {
                signal: 40,
                core: false,
            },
        ),
    ] {
        let plugin = keeper.shell(script);
        assert_eq!(keeper.wait_exited(&plugin), status, "{script}");
        assert_eq!(keeper.wait_gone(&plugin), status == SIGKILL, "{script}");
    }
}

/// SUP-11: SIGKILL by someone else counts, for any member.
#[test]
fn sigkill_of_an_orphan_by_someone_else_is_killed() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("sleep 1000 >/dev/null 2>&1 & echo $!");
    let orphan = plugin.pid_line();
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(orphan.get()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    assert!(keeper.wait_gone(&plugin));
}

/// S1, SUP-32, SUP-36: the leader's exit is shown at once, the outcome waits for the family.
#[test]
fn same_group_child_that_ignores_the_interrupt_outlives_the_leader_and_delays_gone() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("(trap '' TERM; echo holding; exec sleep 1000) & wait");
    assert_eq!(plugin.line(), "holding");
    keeper.interrupt(&plugin);
    assert_eq!(keeper.wait_exited(&plugin), SIGTERM);
    assert!(!keeper.comes_within(WHILE, |event| matches!(event, Event::Gone { .. })));
    keeper.kill(&plugin);
    assert!(keeper.wait_gone(&plugin));
    assert_eq!(keeper.survivors(&plugin), 0);
}

/// SUP-32: a daemon in another session with an emptied environment stays in the family.
#[test]
fn double_forked_daemon_with_empty_environment_delays_gone_and_is_killed() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell(DAEMON);
    // Another launch, so that elimination does not answer.
    let _other = keeper.spawn("true", &[]);
    let daemon = plugin.pid_line();
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!keeper.comes_within(WHILE, |event| matches!(
        event,
        Event::Gone { .. } | Event::Unascribed { .. }
    )));
    assert!(is_living(daemon));
    keeper.kill(&plugin);
    assert!(keeper.wait_gone(&plugin));
    assert!(!is_living(daemon));
}

/// SUP-32
#[test]
fn daemon_is_killed_together_with_a_living_leader() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell(&format!("{DAEMON} exec sleep 1000"));
    let daemon = plugin.pid_line();
    keeper.kill(&plugin);
    assert_eq!(keeper.wait_exited(&plugin), SIGKILL);
    assert!(keeper.wait_gone(&plugin));
    assert!(!is_living(daemon));
}

/// The interrupt is SIGTERM and SIGCONT, for every member once: direct, deeper, in other sessions, stopped ones.
#[test]
fn interrupt_reaches_every_member_once() {
    let mut keeper = Keeper::start();
    let script = "
import os, signal, sys, time
def member(name, stop):
    count = [0]
    def term(*_):
        count[0] += 1
        os.write(1, f'{name} {count[0]}\\n'.encode())
        time.sleep(0.2)
        os._exit(0)
    signal.signal(signal.SIGTERM, term)
    os.write(1, b'ready\\n')
    if stop: os.kill(os.getpid(), signal.SIGSTOP)
    while True: signal.pause()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: member('grandchild', True)
    member('child', False)
if os.fork() == 0:
    if os.fork() == 0: os.setsid(); member('daemon', False)
    os._exit(0)
os.wait()
member('leader', False)
";
    let mut plugin = keeper.python(script);
    for _ in 0..4 {
        assert_eq!(plugin.line(), "ready");
    }
    eventually("the grandchild stops", || {
        system::children::of(plugin.pid).iter().any(|child| {
            system::children::of(*child)
                .iter()
                .any(|pid| system::process::stat(*pid).unwrap().state == 'T')
        })
    });
    keeper.interrupt(&plugin);
    let mut lines: Vec<_> = (0..4).map(|_| plugin.line()).collect();
    lines.sort();
    assert_eq!(lines, ["child 1", "daemon 1", "grandchild 1", "leader 1"]);
    assert!(!keeper.wait_gone(&plugin));
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert_eq!(plugin.output(), "");
}

/// Members below one that stays are interrupted where they are, stopped ones and other sessions included.
#[test]
fn interrupt_reaches_below_a_member_that_ignores_it() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.python(
        "
import os, signal
pid = os.fork()
if pid == 0:
    os.setsid()
    def term(*_):
        os.write(1, b'interrupted\\n')
        os._exit(0)
    signal.signal(signal.SIGTERM, term)
    os.write(1, b'ready\\n')
    os.kill(os.getpid(), signal.SIGSTOP)
    while True: signal.pause()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.waitpid(pid, 0)
while True: signal.pause()
",
    );
    assert_eq!(plugin.line(), "ready");
    let child = system::children::of(plugin.pid)[0];
    eventually("the child stops", || {
        system::process::stat(child).unwrap().state == 'T'
    });
    keeper.interrupt(&plugin);
    assert_eq!(plugin.line(), "interrupted");
    assert!(is_living(plugin.pid));
    keeper.kill(&plugin);
    assert!(keeper.wait_gone(&plugin));
}

/// A member handed to the keeper after the interrupt gets it too.
#[test]
fn member_adopted_after_the_interrupt_is_interrupted() {
    let mut keeper = Keeper::start();
    let script = "
import os, signal, time
def term(*_):
    # The child must not swallow its own interrupt before it has the default disposition.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        while True: signal.pause()
    os._exit(3)
signal.signal(signal.SIGTERM, term)
print('ready', flush=True)
while True: signal.pause()
";
    let mut plugin = keeper.python(script);
    assert_eq!(plugin.line(), "ready");
    keeper.interrupt(&plugin);
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(3));
    assert!(!keeper.wait_gone(&plugin));
}

/// SUP-33
#[test]
fn stopped_family_is_killed() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("setsid sh -c 'echo ready; kill -STOP $$' & kill -STOP $$");
    assert_eq!(plugin.line(), "ready");
    keeper.kill(&plugin);
    assert!(keeper.wait_gone(&plugin));
    assert_eq!(keeper.survivors(&plugin), 0);
}

fn storm(script: &str, base: usize) {
    let mut keeper = Keeper::start();
    let _other = keeper.spawn("true", &[]);
    for round in 0..rounds(base) {
        let mut plugin = keeper.python(script);
        assert_eq!(plugin.line(), "storm");
        if round % 2 == 1 {
            // Let it rage for a moment of changing length.
            std::thread::sleep(Duration::from_micros(300 * (round as u64 % 40)));
        }
        keeper.kill(&plugin);
        assert!(keeper.wait_gone(&plugin));
        assert_eq!(keeper.survivors(&plugin), 0, "round {round}");
        keeper.seen.clear();
    }
    let keeper_pid = keeper.process.pid;
    assert_eq!(
        system::children::of(keeper_pid).len(),
        1,
        "only the other launch is left"
    );
}

/// SUP-33, S5: a chain of processes that each fork a successor and exit.
#[test]
fn chain_of_forks_is_killed_until_empty() {
    storm(
        "
import os
os.write(1, b'storm\\n')
while True:
    if os.fork(): os._exit(0)
",
        20,
    );
}

/// SUP-33: the same, each in a session of its own.
#[test]
fn chain_of_sessions_is_killed_until_empty() {
    storm(
        "
import os
os.write(1, b'storm\\n')
while True:
    if os.fork(): os._exit(0)
    os.setsid()
",
        20,
    );
}

/// SUP-33, S5: a living parent that forks without end, into its group and into sessions of their own.
#[test]
fn broad_storm_is_killed_until_empty() {
    storm(
        "
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(1, b'storm\\n')
n = 0
while True:
    n += 1
    if os.fork() == 0:
        if n % 2: os.setsid()
        if os.fork() == 0: time.sleep(1000)
        time.sleep(0.002 * (n % 3))
        os._exit(0)
    if n > 200: time.sleep(0.001)
",
        20,
    );
}

/// SUP-32: no living family is ever called gone.
#[test]
fn family_that_moves_through_forks_and_sessions_is_not_called_gone_early() {
    let mut keeper = Keeper::start();
    let _other = keeper.spawn("true", &[]);
    for round in 0..rounds(40) {
        // Hops from session to session, the leader being gone, and says with its last breath that it still lived.
        let mut plugin = keeper.python(
            "
import os
for hop in range(30):
    if os.fork(): os._exit(0)
    os.setsid()
os.write(1, b'end\\n')
",
        );
        assert!(!keeper.wait_gone(&plugin));
        // All that was ever written is in the pipe by now, or it was called gone too early.
        rustix::io::ioctl_fionbio(&plugin.stdout, true).unwrap();
        assert_eq!(plugin.line(), "end", "round {round}");
        assert_eq!(keeper.survivors(&plugin), 0);
        keeper.seen.clear();
    }
}

/// SUP-29: nothing that plugins leave stays as a zombie.
#[test]
fn no_zombie_stays() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'exit 3' & ) ; done; echo done; exec sleep 1000");
    assert_eq!(plugin.line(), "done");
    let pid = keeper.process.pid;
    eventually("only the leader is left", || {
        system::children::of(pid) == [plugin.pid]
    });
    keeper.kill(&plugin);
    keeper.wait_gone(&plugin);
    assert!(system::children::of(pid).is_empty());
}

/// SUP-32: one whose marks disagree is named, and holds up every launch that started no later than it, no other.
#[test]
fn unascribed_process_is_named_and_holds_up_older_launches_only() {
    // In a group of its own it would be ascribed by that.
    let mut keeper = Keeper::start_with(CgroupUse::Off);
    let mut first = keeper.shell("read line; exit 0");
    let first_text = format!("{}/entry/{}", keeper.node.id, first.ordinal);
    // Its environment names the first launch, its mark the second.
    let mut second = keeper.shell(&format!(
        "TREEWARDEN_LAUNCH={first_text} setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'; read line; exit 0"
    ));
    let stray = second.pid_line();
    second.write("\n");
    assert_eq!(keeper.wait_exited(&second), ExitStatus::Code(0));
    keeper.wait_for(|event| match event {
        Event::Unascribed { processes, more: 0 } => {
            // The name may still be that from before its exec.
            let named = |name: &str| ["sh", "sleep"].contains(&name);
            (processes.len() == 1
                && processes[0].identity.pid == stray
                && named(&processes[0].name))
            .then_some(())
        }
        _ => None,
    });
    first.write("\n");
    assert_eq!(keeper.wait_exited(&first), ExitStatus::Code(0));
    // Started in a later clock tick, so that it surely started after the stray.
    let tick = system::process::identity(stray).unwrap().start_time;
    let mut between = Vec::new();
    let third = loop {
        let plugin = keeper.shell("exit 0");
        let start = keeper.wait_for(|event| match event {
            Event::Spawned {
                ordinal,
                start_time,
                ..
            } if *ordinal == plugin.ordinal => Some(*start_time),
            _ => None,
        });
        if start > tick {
            break plugin;
        }
        between.push(plugin);
    };
    assert!(!keeper.wait_gone(&third));
    assert!(!keeper.is_gone_told(&first) && !keeper.is_gone_told(&second));
    // While one of its possible families is not being killed, it is not touched; then it is.
    between.iter().for_each(|plugin| keeper.kill(plugin));
    keeper.kill(&second);
    assert!(!keeper.comes_within(WHILE, |event| matches!(event, Event::Gone { .. })));
    assert!(is_living(stray));
    keeper.kill(&first);
    assert!(keeper.wait_gone(&first) && keeper.wait_gone(&second));
    assert!(!is_living(stray));
    keeper.wait_for(|event| {
        matches!(event, Event::Unascribed { processes, .. } if processes.is_empty()).then_some(())
    });
}

/// SUP-32: with neither mark left, the session of the unreaped leader tells.
#[test]
fn stripped_orphan_is_ascribed_by_the_session_of_its_leader() {
    let mut keeper = Keeper::start();
    let _older = keeper.spawn("true", &[]);
    let mut plugin = keeper.python(
        "
import os, resource, time
resource.setrlimit(resource.RLIMIT_RTTIME if hasattr(resource, 'RLIMIT_RTTIME') else 15, (1000000, 1000000))
if os.fork() == 0:
    pid = os.fork()
    if pid: os.write(1, b'%d\\n' % pid); os._exit(0)
    os.execve('/bin/sleep', ['sleep', '1000'], {})
os.wait()
input()
",
    );
    let orphan = plugin.pid_line();
    plugin.write("\n");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!keeper.comes_within(WHILE, |event| matches!(
        event,
        Event::Gone { .. } | Event::Unascribed { .. }
    )));
    keeper.kill(&plugin);
    assert!(keeper.wait_gone(&plugin));
    assert!(!is_living(orphan));
}

/// S38 in small: verbs for a launch that is not known do nothing.
#[test]
fn verbs_for_unknown_launches_are_ignored() {
    let mut keeper = Keeper::start();
    let plugin = keeper.shell("exit 5");
    keeper.wait_gone(&plugin);
    keeper.kill(&plugin);
    keeper.interrupt(&plugin);
    let mut next = keeper.shell("echo fine");
    assert_eq!(next.output(), "fine\n");
    assert!(!keeper.wait_gone(&next));
}

/// The keeper outlives what a terminal or a service manager sends to everyone.
#[test]
fn keeper_ignores_every_signal_but_sigkill() {
    let mut keeper = Keeper::start();
    for signal in [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGTSTP,
        libc::SIGALRM,
    ] {
        let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
        rustix::process::pidfd_send_signal(&keeper.process.pidfd, signal).unwrap();
    }
    let mut plugin = keeper.shell("echo fine");
    assert_eq!(plugin.output(), "fine\n");
}

/// SUP-33: what cannot be killed keeps its family, costs no processor time, and is confirmed once it goes (S11).
#[test]
fn unkillable_member_keeps_its_family_and_nothing_spins() {
    let Some(freezer) = Freezer::create() else {
        return;
    };
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000");
    let member = plugin.pid_line();
    freezer.freeze(member);
    keeper.kill(&plugin);
    assert_eq!(keeper.wait_exited(&plugin), SIGKILL);
    let pid = keeper.process.pid;
    let before = processor_ticks(pid);
    assert!(
        !keeper.comes_within(Duration::from_millis(1500), |event| matches!(
            event,
            Event::Gone { .. }
        ))
    );
    let spent = processor_ticks(pid) - before;
    assert!(spent <= 5, "{spent} ticks of 10 ms in 1.5 s");
    let mut other = keeper.shell("echo fine");
    assert_eq!(other.output(), "fine\n");
    freezer.thaw();
    assert!(keeper.wait_gone(&plugin));
}

/// SUP-33: below a member that does not die nobody is handed to the keeper, so they are looked for where they are.
#[test]
fn descendants_of_an_unkillable_member_are_killed() {
    let Some(freezer) = Freezer::create() else {
        return;
    };
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("setsid sh -c 'sleep 1000 & echo $!; wait' & wait");
    let deepest = plugin.pid_line();
    freezer.freeze(plugin.pid);
    keeper.kill(&plugin);
    eventually("the deepest is killed", || !is_living(deepest));
    assert!(is_living(plugin.pid));
    freezer.thaw();
    assert!(keeper.wait_gone(&plugin));
}

fn processor_ticks(pid: treewarden_keeper::ProcessId) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = line.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// The version 1 freezer: a frozen process takes no signal, SIGKILL included, until it is thawed.
struct Freezer(PathBuf);

impl Freezer {
    fn create() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "keeper-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = Path::new("/sys/fs/cgroup/freezer").join(name);
        std::fs::create_dir(&folder).ok()?;
        folder
            .join("freezer.state")
            .exists()
            .then_some(Self(folder))
    }

    fn freeze(&self, pid: treewarden_keeper::ProcessId) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
        std::fs::write(self.0.join("freezer.state"), "FROZEN").unwrap();
        eventually("frozen", || {
            std::fs::read_to_string(self.0.join("freezer.state"))
                .unwrap()
                .trim()
                == "FROZEN"
        });
    }

    fn thaw(&self) {
        std::fs::write(self.0.join("freezer.state"), "THAWED").unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.thaw();
        eventually("the freezer's folder goes", || {
            std::fs::remove_dir(&self.0).is_ok()
        });
    }
}
