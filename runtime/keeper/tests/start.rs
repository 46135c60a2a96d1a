//! How a plugin starts: the gate, and the clean surroundings it finds.
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

use std::collections::BTreeSet;
use std::fs;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::time::Duration;

use harness::*;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use treewarden_keeper::wire::{Event, Request, UserIds};
use treewarden_keeper::{ExitStatus, Ordinal, orphans, system};

/// SUP-13: no unrecorded process runs a plugin's code.
#[test]
fn closed_gate_never_runs_the_program() {
    let mut keeper = Keeper::start();
    let marker = keeper.data.path().join("ran");
    let mut plugin = keeper.spawn("touch", &[marker.to_str().unwrap()]);
    plugin.stdin = None;
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
    assert!(!keeper.wait_gone(&plugin));
    assert!(!marker.exists());
}

#[test]
fn open_gate_takes_one_byte_and_leaves_the_rest_to_the_plugin() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.spawn("cat", &[]);
    plugin.write("\nhello\n");
    plugin.stdin = None;
    assert_eq!(plugin.output(), "hello\n");
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(0));
}

/// SUP-13: code named in the plugin's environment does not run in front of the gate either.
#[test]
fn loader_variables_do_not_act_before_the_gate() {
    let mut keeper = Keeper::start();
    let mut request = keeper.request("sh", &["-c", "echo $LD_DEBUG $TREEWARDEN_LAUNCH"]);
    let text = request.launch_text.to_string();
    request.env.push(("LD_DEBUG".into(), "nonsense".into()));
    let mut plugin = keeper.spawn_request(request);
    let early = ready(
        &plugin.stdout,
        rustix::event::PollFlags::IN,
        Duration::from_millis(50),
    );
    assert!(!early, "the loader spoke before the gate opened");
    plugin.open();
    assert!(plugin.output().contains(&format!("nonsense {text}")));
}

/// SUP-30
#[test]
fn plugin_has_descriptors_0_1_2_only() {
    let mut keeper = Keeper::start();
    let _another = keeper.spawn("cat", &[]);
    let mut plugin = keeper.python("import os; print(sorted(os.listdir('/proc/self/fd')))");
    // The fourth is the listing's own.
    assert_eq!(plugin.output().trim(), "['0', '1', '2', '3']");
}

/// SUP-30
#[test]
fn plugin_has_default_signals_whatever_the_node_ignores() {
    for signal in [
        libc::SIGHUP,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGRTMIN() + 2,
    ] {
        // SAFETY: ignoring installs no handler; this test is the only user of these signals.
        #[allow(unsafe_code, reason = "std has no call for it")]
        unsafe {
            libc::signal(signal, libc::SIG_IGN)
        };
    }
    let mut keeper = Keeper::start();
    let mut plugin = keeper.spawn("grep", &["^Sig[BI]", "/proc/self/status"]);
    plugin.open();
    let output = plugin.output();
    let masks: Vec<_> = output
        .lines()
        .map(|line| line.split_whitespace().last().unwrap().to_owned())
        .collect();
    assert_eq!(masks, ["0000000000000000", "0000000000000000"], "{output}");
}

/// SUP-30
#[test]
fn plugin_has_its_own_session_directory_environment_and_limits() {
    let mut keeper = Keeper::start();
    let mut request = keeper.request("python3", &[
        "-S",
        "-c",
        "import os, resource as r; print(os.getsid(0) == os.getpid(), os.getcwd(), sorted(os.environ), r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_DATA), r.getrlimit(15))",
    ]);
    request.limits.open_files = Some(77);
    request.limits.memory_bytes = Some(1 << 30);
    request.env.push(("LC_ALL".into(), "C.UTF-8".into()));
    let mark = request.mark.encode();
    let mut plugin = keeper.spawn_request(request);
    plugin.open();
    let folder = fs::canonicalize(keeper.data.path()).unwrap();
    let expected = format!(
        "True {} ['LC_ALL', 'PATH', 'TREEWARDEN_LAUNCH'] (77, 77) (1073741824, 1073741824) ({mark}, {mark})",
        folder.display()
    );
    assert_eq!(plugin.output().trim(), expected);
}

/// The node raises its own limit of open files; programs that use `select` must not inherit it.
#[test]
fn soft_limit_of_open_files_is_restored() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.shell("ulimit -Sn");
    assert_eq!(plugin.output().trim(), "1000");
}

/// SUP-22, SUP-30
#[test]
fn other_user_is_taken_on_and_dies_with_the_keeper() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let mut keeper = Keeper::start();
    fs::set_permissions(
        keeper.data.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o711),
    )
    .unwrap();
    let mut request = keeper.request("sh", &["-c", "id -u; id -g; id -G; exec sleep 1000"]);
    request.user = Some(UserIds {
        user: 12345,
        group: 12346,
        other_groups: vec![12347],
    });
    let mut plugin = keeper.spawn_request(request);
    plugin.open();
    assert_eq!(
        [plugin.line(), plugin.line(), plugin.line()],
        ["12345", "12346", "12346 12347"]
    );
    rustix::process::pidfd_send_signal(&keeper.process.pidfd, rustix::process::Signal::KILL)
        .unwrap();
    assert!(ready(&plugin.pidfd, rustix::event::PollFlags::IN, BOUND));
    keeper.sweep();
}

#[test]
fn missing_program_is_named_and_exits_127() {
    let mut keeper = Keeper::start();
    let mut plugin = keeper.spawn("/no/such/program", &[]);
    plugin.open();
    let output = plugin.output();
    assert!(
        output.starts_with("treewarden: could not start /no/such/program: No such file"),
        "{output}"
    );
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(127));
}

#[test]
fn program_that_cannot_be_executed_exits_126() {
    let mut keeper = Keeper::start();
    let file = keeper.data.path().join("plain");
    fs::write(&file, "text").unwrap();
    let mut plugin = keeper.spawn(file.to_str().unwrap(), &[]);
    plugin.open();
    assert!(plugin.output().contains("ermission denied"));
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(126));
    let mut request = keeper.request("true", &[]);
    request.working_dir = "/no/such/folder".into();
    // It fails before the gate; whether that opens does not matter.
    let mut plugin = keeper.spawn_request(request);
    assert!(plugin.output().contains("entering the working directory: "));
    assert_eq!(keeper.wait_exited(&plugin), ExitStatus::Code(126));
}

/// SUP-35
#[test]
fn keeper_lost_while_at_the_gate_ends_the_shim() {
    orphans::become_subreaper().unwrap();
    let mut keeper = Keeper::start();
    let marker = keeper.data.path().join("ran");
    let mut plugin = keeper.spawn("touch", &[marker.to_str().unwrap()]);
    rustix::process::pidfd_send_signal(&keeper.process.pidfd, rustix::process::Signal::KILL)
        .unwrap();
    assert!(ready(&plugin.pidfd, rustix::event::PollFlags::IN, BOUND));
    plugin.stdin.take();
    assert!(!marker.exists());
    system::wait::reap(plugin.pid).unwrap();
    keeper.sweep();
}

fn send_raw(keeper: &Keeper, bytes: &[u8], descriptors: usize) {
    let null = fs::File::open("/dev/null").unwrap();
    let all = vec![null.as_fd(); descriptors];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if descriptors > 0 {
        assert!(control.push(SendAncillaryMessage::ScmRights(&all)));
    }
    sendmsg(
        keeper.link(),
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::empty(),
    )
    .unwrap();
}

/// A request with any other number of descriptors than three starts nothing and says so.
#[test]
fn exactly_three_descriptors_are_accepted() {
    let mut keeper = Keeper::start();
    let marker = keeper.data.path().join("ran");
    for count in [0, 1, 2, 4, 16] {
        let request = keeper.request("touch", &[marker.to_str().unwrap()]);
        let wanted = request.ordinal();
        let bytes = serde_json::to_vec(&Request::Spawn(Box::new(request))).unwrap();
        send_raw(&keeper, &bytes, count);
        let reason = keeper.wait_for(|event| match event {
            Event::Refused { ordinal, reason } if *ordinal == Some(wanted) => Some(reason.clone()),
            _ => None,
        });
        assert_eq!(reason, format!("{count} descriptors where 3 belong"));
    }
    assert!(system::children::of(keeper.process.pid).is_empty());
    let descriptors = fs::read_dir(format!("/proc/{}/fd", keeper.process.pid))
        .unwrap()
        .count();
    assert!(
        descriptors < 10,
        "the keeper kept {descriptors} descriptors"
    );
}

#[test]
fn nonsense_and_oversized_requests_are_refused() {
    let mut keeper = Keeper::start();
    send_raw(&keeper, b"nonsense", 3);
    send_raw(&keeper, b"", 0);
    send_raw(&keeper, &vec![b'x'; 150_000], 3);
    for part in ["expected", "EOF", "cut off"] {
        keeper.wait_for(|event| {
            matches!(event, Event::Refused { ordinal: None, reason } if reason.contains(part))
                .then_some(())
        });
    }
    let mut request = keeper.request("true", &[]);
    request.args.push("x".repeat(140_000).into());
    let null = fs::File::open("/dev/null").unwrap();
    let error = keeper
        .link()
        .try_send(&Request::Spawn(Box::new(request)), &[null.as_fd(); 3])
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("more than 131072"), "{error}");
    let mut request = keeper.request("true", &[]);
    request.env.push(("A=B".into(), "C".into()));
    keeper.send(&Request::Spawn(Box::new(request)), &[null.as_fd(); 3]);
    keeper.wait_for(|event| {
        matches!(
            event,
            Event::Refused {
                ordinal: Some(_),
                ..
            }
        )
        .then_some(())
    });
    let mut plugin = keeper.shell("echo fine");
    assert_eq!(plugin.output(), "fine\n");
}

/// A node that reads nothing costs the keeper a bounded number of launches, and no event is lost.
#[test]
fn unread_answers_bound_the_launches_in_flight_and_none_is_lost() {
    let mut keeper = Keeper::start();
    let null = fs::File::open("/dev/null").unwrap();
    // As many as the socket takes; /dev/null as stdin means that the gate is closed at once.
    let mut sent = BTreeSet::new();
    for _ in 0..1500 {
        let request = keeper.request("true", &[]);
        let ordinal = request.ordinal();
        match keeper
            .link()
            .try_send(&Request::Spawn(Box::new(request)), &[null.as_fd(); 3])
        {
            Ok(()) => drop(sent.insert(ordinal)),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                if !ready(
                    keeper.link(),
                    rustix::event::PollFlags::OUT,
                    Duration::from_millis(300),
                ) {
                    break;
                }
            }
        }
    }
    assert!(sent.len() > 64);
    let folder = format!("/proc/{}/fd", keeper.process.pid);
    let held = fs::read_dir(folder).unwrap().count();
    assert!(held < 80, "the keeper holds {held} descriptors");
    let mut gone: BTreeSet<Ordinal> = BTreeSet::new();
    while gone.len() < sent.len() {
        match keeper.next_event(BOUND).expect("every launch is told").0 {
            Event::Gone {
                ordinal,
                killed: false,
                ..
            } => assert!(gone.insert(ordinal)),
            Event::Gone { .. } => panic!("killed"),
            Event::Refused { reason, .. } => panic!("{reason}"),
            _ => {}
        }
    }
    assert_eq!(gone, sent);
    assert!(keeper.next_event(Duration::ZERO).is_none());
}

/// S9: at whatever step the descriptor table turns out to be full, nothing unowned is left, and the keeper recovers.
#[test]
fn full_descriptor_table_refuses_and_leaves_nothing_unowned() {
    let mut keeper = Keeper::start();
    // Open at both ends: a child that nobody owned would wait at the gate for ever.
    let (gate, _opener) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let pid = keeper.process.pid;
    let limit = |current: u64| {
        let new = Rlimit {
            current: Some(current),
            maximum: Some(4096),
        };
        prlimit(
            Some(Pid::from_raw(pid.get()).unwrap()),
            Resource::Nofile,
            new,
        )
        .unwrap();
    };
    let open = u64::try_from(fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()).unwrap();
    let (mut refused, mut started) = (0, 0);
    for spare in 0..16 {
        limit(open + spare);
        let request = keeper.request("true", &[]);
        let wanted = request.ordinal();
        keeper.send(&Request::Spawn(Box::new(request)), &[gate.as_fd(); 3]);
        let was_refused = keeper.wait_for(|event| match event {
            Event::Refused { ordinal, .. } if *ordinal == Some(wanted) => Some(true),
            Event::Spawned { ordinal, .. } if *ordinal == wanted => Some(false),
            _ => None,
        });
        if was_refused {
            refused += 1;
            assert!(
                system::children::of(pid).is_empty(),
                "with {spare} spare descriptors"
            );
        } else {
            started += 1;
            keeper.send(&Request::Kill { ordinal: wanted }, &[]);
            keeper.wait_for(|event| {
                matches!(event, Event::Gone { ordinal, .. } if *ordinal == wanted).then_some(())
            });
        }
    }
    assert!(
        refused >= 3 && started >= 1,
        "{refused} refused, {started} started"
    );
    assert!(system::children::of(pid).is_empty());
    assert_eq!(
        u64::try_from(fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()).unwrap(),
        open
    );
}

/// SUP-35
#[test]
fn second_keeper_on_a_data_directory_says_that_it_cannot_start() {
    let keeper = Keeper::start();
    let (link, process) =
        treewarden_keeper::start(&options(keeper.data.path(), cgroup_use())).unwrap();
    assert!(ready(&link, rustix::event::PollFlags::IN, BOUND));
    let Some((Event::CannotStart { reason }, None)) = link.try_recv().unwrap() else {
        panic!("no reason")
    };
    assert_eq!(
        reason,
        format!(
            "another keeper still holds keeper.lock: process {}",
            keeper.process.pid
        )
    );
    assert!(ready(&process.pidfd, rustix::event::PollFlags::IN, BOUND));
    assert!(link.try_recv().unwrap().is_none());
    system::wait::reap(process.pid).unwrap();
}
