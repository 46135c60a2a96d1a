//! The keeper's own program: one thread, one poll loop, no decision.
//!
//! | module | its job |
//! | --- | --- |
//! | `event_loop` | waits for the node, for children and for its timer |
//! | `requests` | reads and carries out what the node asks |
//! | `spawning` | starts shims |
//! | `families` | the table of launches and children: adopting, reaping, declaring gone |
//! | `ascription` | which launch an adopted process belongs to (pure) |
//! | `signalling`, `descendants` | interrupting and killing families |
//! | `outbox` | which events are due, and sending them |
//! | `retry` | when to look again without being woken (pure) |
//!
//! A crash of the keeper sends SIGKILL to every leader (the parent-death signal) and hands all its children to the node
//! ([`orphans`](crate::orphans)); nothing of it outlives it but `keeper.last` of an earlier one.

mod ascription;
mod descendants;
mod event_loop;
mod families;
mod launch;
pub(crate) mod options;
mod outbox;
mod requests;
mod retry;
mod signalling;
mod spawning;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use nix::sys::signalfd::SignalFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::identity::{ProcessId, ProcessIdentity};
use crate::leftovers::take_lock;
use crate::system::children::OwnChildren;
use crate::system::{become_subreaper, descriptors, process, signals};
use crate::wire::{Event, packet};
use event_loop::EventLoop;
use options::Options;

/// It was called by hand, or by another version.
const USAGE: u8 = 2;

/// Runs the keeper until the node is gone and every family with it; `arguments` are what
/// [`start`](crate::start()) wrote after the keeper's own name. Call it first thing in `main`, before any thread
/// exists: it closes every descriptor above 2, and the parent-death signal of its children follows the calling thread.
///
/// Success: the node went and `keeper.last` is written. Failure: another keeper holds the lock (the node was told by
/// [`Event::CannotStart`]), or a system call failed that cannot fail.
pub fn run_keeper(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(options) = Options::from_arguments(arguments) else {
        return ExitCode::from(USAGE);
    };
    let Ok(socket) = descriptors::close_inherited().and_then(|()| take_socket()) else {
        return ExitCode::from(USAGE);
    };
    let options = options.with_default_open_files(raise_open_files());
    match Surroundings::prepare(&options) {
        Ok(surroundings) => match EventLoop::new(socket, surroundings, options).run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(reason) => {
            if let Ok(bytes) = serde_json::to_vec(&Event::CannotStart { reason }) {
                // The node may be gone already; the exit code is all that is left then.
                packet::send(socket.as_fd(), &bytes, &[]).ok();
            }
            ExitCode::FAILURE
        }
    }
}

/// Moves the socket away from stdin, where a plugin could come by it.
fn take_socket() -> io::Result<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    rustix::net::sockopt::socket_type(stdin)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(stdin, 3)?;
    let null = OpenOptions::new().read(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket)
}

/// What the loop works with, once the process is a keeper.
struct Surroundings {
    own: ProcessIdentity,
    boot_id: String,
    children: OwnChildren,
    child_signals: SignalFd,
    /// Held for the keeper's life.
    lock: File,
}

impl Surroundings {
    fn prepare(options: &Options) -> Result<Self, String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        // First: a terminal's or the service manager's SIGTERM must not end it before its families.
        let child_signals =
            signals::block_all_and_watch_children().map_err(failed("could not block signals"))?;
        let own =
            process::identity(ProcessId::current()).map_err(failed("could not read /proc"))?;
        let lock = take_lock(&options.data_dir, own).map_err(|error| error.to_string())?;
        become_subreaper().map_err(failed("could not become a subreaper"))?;
        let children =
            OwnChildren::open().map_err(failed("the kernel does not list children in /proc"))?;
        let boot_id = crate::system::boot_id().map_err(failed("could not read the boot id"))?;
        Ok(Self {
            own,
            boot_id,
            children,
            child_signals,
            lock,
        })
    }
}

/// A keeper without descriptors could neither look at nor start processes; failing leaves the limit as it was. Returns
/// the former soft limit.
fn raise_open_files() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .ok();
    current
}
