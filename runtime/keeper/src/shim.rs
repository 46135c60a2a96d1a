//! The exec shim: the plugin's own process, from the spawn until the plugin's program replaces it.
//!
//! It gives the plugin a clean start, marks it, waits at the gate until the launch is durably recorded, and then execs.
//! No code of the plugin's choosing runs before the gate opens: the plugin's environment reaches the shim under changed
//! names, so that a `LD_PRELOAD` of its own does not act on the shim.

pub(crate) mod arguments;
mod gate;
mod prepare;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use arguments::Arguments;
use gate::Gate;
use prepare::Setup;

/// The shim could not become the plugin, as shells say it: the program was found but cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
const NOT_FOUND: u8 = 127;

/// Becomes the plugin; `arguments` are what the keeper wrote after the shim's own name. Call it first thing in `main`:
/// it closes every descriptor above 2.
///
/// Returns only when no plugin runs: success when the gate was closed or the keeper is gone, 127 when the program was
/// not found, 126 when it, or the plugin's surroundings, could not be set up. The last two say why on stderr, which is the plugin's.
pub fn run_shim(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(arguments) = Arguments::parse(arguments) else {
        return fail(
            "treewarden: the exec shim was called by hand or by another version\n",
            NOT_EXECUTABLE,
        );
    };
    match become_plugin(&arguments) {
        Ok(Closed) => ExitCode::SUCCESS,
        Err(Failure { step, error }) => {
            let program = arguments.program.display();
            let code = if step == Step::Exec && error.kind() == io::ErrorKind::NotFound {
                NOT_FOUND
            } else {
                NOT_EXECUTABLE
            };
            fail(
                &format!("treewarden: could not start {program}: {step}{error}\n"),
                code,
            )
        }
    }
}

/// The plugin is not to run: the gate was closed, or the keeper is gone.
struct Closed;

struct Failure {
    step: Step,
    error: io::Error,
}

/// What the shim was doing when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Setup(Setup),
    Gate,
    Exec,
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setup(setup) => write!(formatter, "{setup}: "),
            Self::Gate => formatter.write_str("reading the gate: "),
            Self::Exec => Ok(()),
        }
    }
}

fn become_plugin(arguments: &Arguments) -> Result<Closed, Failure> {
    prepare::prepare(arguments).map_err(|(setup, error)| Failure {
        step: Step::Setup(setup),
        error,
    })?;
    if !gate::keeper_is_parent(arguments.keeper) {
        return Ok(Closed);
    }
    match gate::wait().map_err(|error| Failure {
        step: Step::Gate,
        error,
    })? {
        Gate::Closed => Ok(Closed),
        Gate::Open => exec(arguments)
            .map_err(|error| Failure {
                step: Step::Exec,
                error,
            })
            .map(|never| match never {}),
    }
}

fn exec(arguments: &Arguments) -> io::Result<Infallible> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that turns a shim into a plugin"
    )]
    let mut command = std::process::Command::new(&arguments.program);
    command
        .args(&arguments.args)
        .env_clear()
        .envs(arguments::plugin_environment(std::env::vars_os()));
    Err(command.exec())
}

fn fail(message: &str, code: u8) -> ExitCode {
    // Nobody is left to tell when stderr fails too; the exit code still says it.
    drop(io::stderr().write_all(message.as_bytes()));
    ExitCode::from(code)
}
