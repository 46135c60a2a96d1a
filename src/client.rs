//! Client commands: each asks a node over HTTP and writes the answer.
//!
//! stdout is data, stderr is talk. `connection` is the one place that does HTTP, `output` the one that writes; the commands between them are
//! functions from answers to text, so their tests need no node.

mod connection;
mod entry;
mod error;
mod json;
mod output;
mod progress;
mod reload;
mod status;
mod table;
#[cfg(test)]
mod tests;
mod token;
mod tree;
mod view;
mod words;

use std::process::ExitCode;

use crate::cli::{ClientCommand, ClientOptions};
use connection::Connection;
use error::ClientError;
use output::Output;

/// What a command that was answered came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is done.
    Done,
    /// The node answered, but what was asked for is not so: a stop that is not confirmed, a restart that did not start.
    NotDone,
}

/// Runs a client command: exit code 0 when it is done, else 1.
pub(crate) fn run(command: &ClientCommand, options: &ClientOptions) -> ExitCode {
    let mut output = Output::standard(options.output);
    match ask(command, options, &mut output) {
        Ok(Verdict::Done) => ExitCode::SUCCESS,
        Ok(Verdict::NotDone) => ExitCode::FAILURE,
        // Whoever reads has seen enough: `… | head` is no failure.
        Err(ClientError::Closed) => ExitCode::SUCCESS,
        Err(error) => {
            output.talk(&format!("treewarden: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn ask(
    command: &ClientCommand,
    options: &ClientOptions,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let connection = Connection::open(options)?;
    match command {
        ClientCommand::Status => status::run(&connection, output),
        ClientCommand::Tree { format } => tree::run(&connection, *format, output),
        ClientCommand::Entry(command) => entry::run(&connection, command, options, output),
        ClientCommand::Reload => reload::run(&connection, output),
    }
}
