//! A keeper under test, and what its plugins do.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    unreachable_pub,
    missing_docs,
    reason = "test code"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use treewarden_keeper::leftovers::{NodeMarks, scan_marked, sweep_groups};
use treewarden_keeper::system::process;
use treewarden_keeper::system::wait;
use treewarden_keeper::wire::{Event, Limits, Request, SpawnRequest};
use treewarden_keeper::{
    CgroupUse, Evidence, ExitStatus, KeeperOptions, KeeperProcess, LaunchText, Link, Mark, NodeTag,
    Ordinal, ProcessId, start,
};

pub const BOUND: Duration = Duration::from_secs(20);

/// Marks of a node of its own for each keeper, so that tests side by side do not find each other's processes.
fn new_node() -> NodeMarks {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    NodeMarks {
        tag: NodeTag::new((process << 5) + count % 32),
        id: format!("node-{process}-{count}"),
    }
}

/// The small binary, or the one that `TW_KEEPER` names (to measure another build of it).
pub fn program() -> PathBuf {
    std::env::var_os("TW_KEEPER").map_or_else(
        || env!("CARGO_BIN_EXE_treewarden-keeper").into(),
        PathBuf::from,
    )
}

/// How often a racy scenario is repeated, times `TW_ROUNDS` (default 1).
pub fn rounds(base: usize) -> usize {
    base * std::env::var("TW_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

pub struct Keeper {
    pub link: Option<Link>,
    pub process: KeeperProcess,
    pub data: tempfile::TempDir,
    pub node: NodeMarks,
    /// Where it makes its groups, if it does.
    pub groups: Option<PathBuf>,
    pub seen: Vec<Event>,
    next: u64,
}

pub struct Plugin {
    pub ordinal: Ordinal,
    pub pid: ProcessId,
    pub pidfd: OwnedFd,
    pub stdin: Option<File>,
    pub stdout: File,
}

/// The tests of families run three times, each time as a test program of another name. `TW_CGROUP` decides for all.
pub fn cgroup_use() -> CgroupUse {
    if let Ok(word) = std::env::var("TW_CGROUP") {
        return CgroupUse::from_word(&word).unwrap();
    }
    match env!("CARGO_CRATE_NAME") {
        "families" => CgroupUse::Off,
        "families_without_kill" => CgroupUse::WithoutKill,
        _ => CgroupUse::WhereWritable,
    }
}

/// The folder in which keepers of this test's node make their groups; `None` if it can't be written.
pub fn groups_folder(node: &NodeMarks) -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let own = Path::new(mount.split(' ').nth(4)?).join(own);
    let probe = own.join(format!("probe-{}", node.id));
    std::fs::create_dir(&probe).ok()?;
    std::fs::remove_dir(&probe).unwrap();
    Some(own.join(format!("treewarden-{}", node.id)))
}

pub fn options(data: &Path, cgroup: CgroupUse) -> KeeperOptions {
    KeeperOptions {
        program: program(),
        args: vec!["keeper".into()],
        shim_program: "/proc/self/exe".into(),
        shim_args: vec!["shim".into()],
        data_dir: data.to_owned(),
        soft_open_files: Some(1000),
        cgroup,
    }
}

impl Keeper {
    pub fn start() -> Self {
        Self::start_with(cgroup_use())
    }

    pub fn start_with(cgroup: CgroupUse) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (link, process) = start(&options(data.path(), cgroup)).unwrap();
        let node = new_node();
        let groups = groups_folder(&node).filter(|_| cgroup != CgroupUse::Off);
        let mut keeper = Self {
            link: Some(link),
            process,
            data,
            node,
            groups,
            seen: Vec::new(),
            next: 1,
        };
        let pid = keeper.process.pid;
        keeper.wait_for(|event| {
            matches!(event, Event::Hello { pid: own } if *own == pid).then_some(())
        });
        keeper
    }

    pub fn link(&self) -> &Link {
        self.link.as_ref().unwrap()
    }

    pub fn request(&mut self, program: &str, args: &[&str]) -> SpawnRequest {
        let ordinal = Ordinal::new(self.next);
        self.next += 1;
        SpawnRequest {
            mark: Mark {
                node: self.node.tag,
                ordinal,
            },
            launch_text: LaunchText(format!("{}/entry/{ordinal}", self.node.id)),
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            working_dir: self.data.path().into(),
            limits: Limits::default(),
            user: None,
        }
    }

    /// Starts a plugin that waits at the gate.
    pub fn spawn_request(&mut self, request: SpawnRequest) -> Plugin {
        let ordinal = request.ordinal();
        let (stdin_read, stdin) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (stdout, stdout_write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let request = Request::Spawn(Box::new(request));
        self.send(
            &request,
            &[
                stdin_read.as_fd(),
                stdout_write.as_fd(),
                stdout_write.as_fd(),
            ],
        );
        let (pid, pidfd) = self.wait_spawned(ordinal);
        Plugin {
            ordinal,
            pid,
            pidfd,
            stdin: Some(stdin.into()),
            stdout: stdout.into(),
        }
    }

    pub fn spawn(&mut self, program: &str, args: &[&str]) -> Plugin {
        let request = self.request(program, args);
        self.spawn_request(request)
    }

    /// Starts a shell script and opens the gate; waits until it has written `ready`.
    pub fn shell(&mut self, script: &str) -> Plugin {
        let mut plugin = self.spawn("sh", &["-c", script]);
        plugin.open();
        plugin
    }

    pub fn python(&mut self, script: &str) -> Plugin {
        let mut plugin = self.spawn("python3", &["-S", "-c", script]);
        plugin.open();
        plugin
    }

    pub fn send(&mut self, request: &Request, descriptors: &[std::os::fd::BorrowedFd<'_>]) {
        let end = Instant::now() + BOUND;
        loop {
            match self.link().try_send(request, descriptors) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                    ready(self.link(), PollFlags::OUT, Duration::from_millis(100));
                }
                Err(error) => panic!("could not send: {error}"),
            }
        }
    }

    pub fn kill(&mut self, plugin: &Plugin) {
        self.send(
            &Request::Kill {
                ordinal: plugin.ordinal,
            },
            &[],
        );
    }

    pub fn interrupt(&mut self, plugin: &Plugin) {
        self.send(
            &Request::Interrupt {
                ordinal: plugin.ordinal,
            },
            &[],
        );
    }

    /// The next event, if one comes in time.
    pub fn next_event(&mut self, bound: Duration) -> Option<(Event, Option<OwnedFd>)> {
        let end = Instant::now() + bound;
        loop {
            match self.link().try_recv() {
                Ok(Some(event)) => return Some(event),
                Ok(None) => panic!("the keeper has closed its end; seen: {:?}", self.seen),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("could not receive: {error}"),
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !ready(self.link(), PollFlags::IN, left) {
                return None;
            }
        }
    }

    /// Waits for an event; earlier events count too.
    pub fn wait_for<T>(&mut self, pick: impl Fn(&Event) -> Option<T>) -> T {
        if let Some(found) = self.seen.iter().find_map(&pick) {
            return found;
        }
        let end = Instant::now() + BOUND;
        while let Some((event, _)) = self.next_event(end.saturating_duration_since(Instant::now()))
        {
            let found = pick(&event);
            self.seen.push(event);
            if let Some(found) = found {
                return found;
            }
        }
        panic!("the event did not come; seen: {:?}", self.seen);
    }

    fn wait_spawned(&mut self, wanted: Ordinal) -> (ProcessId, OwnedFd) {
        let end = Instant::now() + BOUND;
        while let Some((event, pidfd)) =
            self.next_event(end.saturating_duration_since(Instant::now()))
        {
            self.seen.push(event.clone());
            match event {
                Event::Spawned { ordinal, pid, .. } if ordinal == wanted => {
                    return (pid, pidfd.expect("a pidfd comes along"));
                }
                Event::Refused { ordinal, reason } if ordinal == Some(wanted) => {
                    panic!("refused: {reason}")
                }
                _ => {}
            }
        }
        panic!("no answer; seen: {:?}", self.seen);
    }

    pub fn wait_exited(&mut self, plugin: &Plugin) -> ExitStatus {
        let wanted = plugin.ordinal;
        self.wait_for(|event| match event {
            Event::Exited { ordinal, status } if *ordinal == wanted => Some(*status),
            _ => None,
        })
    }

    /// Waits for the family's end; says whether it was killed.
    pub fn wait_gone(&mut self, plugin: &Plugin) -> bool {
        let wanted = plugin.ordinal;
        let (evidence, killed) = self.wait_for(|event| match event {
            Event::Gone {
                ordinal,
                evidence,
                killed,
                out_of_memory: false,
            } if *ordinal == wanted => Some((*evidence, *killed)),
            _ => None,
        });
        assert_eq!(evidence, self.evidence());
        killed
    }

    /// Removes the groups that a killed keeper has left.
    pub fn sweep(&self) {
        eventually("no group is left", || {
            sweep_groups(&self.node).unwrap().is_empty()
        });
    }

    /// The best evidence that it can give.
    pub fn evidence(&self) -> Evidence {
        match self.groups {
            Some(_) => Evidence::Cgroup,
            None => Evidence::Tree,
        }
    }

    /// Whether an event of this kind comes within a time in which it surely would if it came at all.
    pub fn comes_within(&mut self, bound: Duration, pick: impl Fn(&Event) -> bool) -> bool {
        let end = Instant::now() + bound;
        while let Some((event, _)) = self.next_event(end.saturating_duration_since(Instant::now()))
        {
            let found = pick(&event);
            self.seen.push(event);
            if found {
                return true;
            }
        }
        false
    }

    pub fn is_gone_told(&self, plugin: &Plugin) -> bool {
        self.seen
            .iter()
            .any(|event| matches!(event, Event::Gone { ordinal, .. } if *ordinal == plugin.ordinal))
    }

    /// How many living processes bear a mark of this launch.
    pub fn survivors(&self, plugin: &Plugin) -> usize {
        let found = scan_marked(&self.node).unwrap();
        found
            .iter()
            .filter(|process| {
                process
                    .mark
                    .is_some_and(|mark| mark.ordinal == plugin.ordinal)
            })
            .count()
    }

    /// Closes the node's end, as a crash of the node does.
    pub fn lose_node(&mut self) {
        self.link = None;
    }

    /// Waits for the keeper's own end.
    pub fn wait_ended(&mut self, bound: Duration) -> bool {
        ready(&self.process.pidfd, PollFlags::IN, bound)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.link = None;
        assert!(
            self.wait_ended(BOUND) || std::thread::panicking(),
            "the keeper does not end"
        );
        wait::reap(self.process.pid).ok();
        if let Some(groups) = self.groups.as_ref().filter(|_| !std::thread::panicking()) {
            assert!(!groups.exists(), "groups are left: {}", groups.display());
        }
    }
}

impl Plugin {
    /// Opens the gate.
    pub fn open(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    pub fn write(&mut self, text: &str) {
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    /// Reads one line of the plugin's output.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0; 1];
        while ready(&self.stdout, PollFlags::IN, BOUND)
            && self.stdout.read(&mut byte).unwrap() == 1
            && byte != *b"\n"
        {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    /// Reads all of the plugin's output, until every holder has closed it.
    pub fn output(&mut self) -> String {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        text
    }

    pub fn pid_line(&mut self) -> ProcessId {
        let line = self.line();
        ProcessId::try_from(
            line.trim()
                .parse::<i32>()
                .unwrap_or_else(|_| panic!("no pid: {line:?}")),
        )
        .unwrap()
    }
}

/// Notes that a test could not show anything here, and why.
pub fn skipped(test: &str, why: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skipped");
    let file = File::options().create(true).append(true).open(path);
    writeln!(file.unwrap(), "{test} {why}").unwrap();
}

/// Whether a descriptor gets ready in time.
pub fn ready(descriptor: impl AsFd, flags: PollFlags, bound: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: i64::try_from(bound.as_secs()).unwrap(),
        tv_nsec: i64::from(bound.subsec_nanos()),
    };
    poll(
        &mut [PollFd::new(&descriptor.as_fd(), flags)],
        Some(&timeout),
    )
    .unwrap()
        > 0
}

/// Waits until a condition holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + BOUND;
    while !condition() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn is_living(pid: ProcessId) -> bool {
    process::stat(pid).is_ok_and(|stat| stat.is_living())
}
