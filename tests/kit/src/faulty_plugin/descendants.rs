//! Processes that the plugin leaves about. Each is this program again, in a role: `--as ROLE …`.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use crate::lifecycle::sleep_for_ever;
use crate::state::Plugin;

/// A storm that nobody ends dies down after this many links of each chain, so that a failed test does not cost the machine.
const STORM_LINKS: u64 = 20_000;

/// What a descendant's standard streams are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdio {
    /// The plugin's own.
    Inherited,
    /// None.
    Null,
}

/// Starts a descendant. The trace's path goes along so that a harness finds whose process it is.
pub(crate) fn spawn(plugin: &Plugin, role: &str, argument: &str, stdio: Stdio) {
    let mut command = itself(&[role, argument, &plugin.trace_path]);
    if stdio == Stdio::Null {
        streams_to_null(&mut command);
    }
    let _ = command.stdin(std::process::Stdio::null()).spawn();
}

fn itself(arguments: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("--as").args(arguments);
    command
}

fn streams_to_null(command: &mut Command) {
    use std::process::Stdio;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
}

/// The role in which this process was started, if any, and its arguments.
pub(crate) fn role(arguments: &[String]) -> Option<(&str, &[String])> {
    match arguments {
        [marker, role, rest @ ..] if marker == "--as" => Some((role, rest)),
        _ => None,
    }
}

/// Plays a role to its end.
pub(crate) fn play(role: &str, arguments: &[String]) -> ! {
    let argument = arguments.first().map_or("", String::as_str);
    let owner = arguments.get(1).map_or("", String::as_str);
    match role {
        // Same group, keeps stdout open, ignores TERM.
        "holder" => {
            ignore_term();
            sleep_for_ever()
        }
        // First of two forks: starts the daemon with an empty environment and leaves it to be adopted.
        "daemonize" => {
            let _ = itself(&["daemon", argument, owner]).env_clear().spawn();
            std::process::exit(0)
        }
        "daemon" => {
            let _ = rustix::process::setsid();
            ignore_term();
            let _ = std::fs::write(argument, format!("{}\n", std::process::id()));
            sleep_for_ever()
        }
        // A chain: each link starts the next and ends, so that a walk over the process list never catches up.
        "storm" => {
            let link = argument.parse().unwrap_or(0_u64);
            if link < STORM_LINKS {
                let mut next = itself(&["storm", &(link + 1).to_string(), owner]);
                streams_to_null(&mut next);
                let _ = next.spawn();
            }
            std::thread::sleep(Duration::from_millis(2));
            std::process::exit(0)
        }
        // Not a plugin's descendant: ties a program to the life of the thread that started it, then becomes it.
        "guard" => {
            let _ = rustix::process::set_parent_process_death_signal(Some(
                rustix::process::Signal::KILL,
            ));
            let _ = Command::new(argument)
                .args(arguments.get(1..).unwrap_or_default())
                .exec();
            std::process::exit(127)
        }
        _ => std::process::exit(2),
    }
}

fn ignore_term() {
    let _ = SigSet::from_iter([Signal::SIGTERM, Signal::SIGHUP]).thread_block();
}
