//! `entry …`.

mod call;
mod list;
mod logs;
mod names;
mod show;
mod verb;

use super::Verdict;
use super::connection::Connection;
use super::error::ClientError;
use super::output::Output;
use crate::cli::{ClientOptions, EntryCommand};

pub(super) use show::section;

/// Runs a command on entries.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    command: &EntryCommand,
    options: &ClientOptions,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    match command {
        EntryCommand::Ls => list::run(connection, output),
        EntryCommand::Show { entry } => show::run(connection, entry, output),
        EntryCommand::Start { entry } => verb::run(connection, verb::Verb::Start, entry, output),
        EntryCommand::Stop { entry } => verb::run(connection, verb::Verb::Stop, entry, output),
        EntryCommand::Restart { entry } => {
            verb::run(connection, verb::Verb::Restart, entry, output)
        }
        EntryCommand::Kill { entry } => verb::run(connection, verb::Verb::Kill, entry, output),
        EntryCommand::Reset { entry } => verb::run(connection, verb::Verb::Reset, entry, output),
        EntryCommand::Call(call) => call::run(connection, call, options, output),
        EntryCommand::Logs(logs) => logs::run(connection, logs, output),
    }
}

#[cfg(test)]
pub(super) mod written {
    //! What the commands write, for the golden tests.

    pub(in crate::client) use super::list::table as list;
    pub(in crate::client) use super::logs::text as logs;
    pub(in crate::client) use super::names::meant;
    pub(in crate::client) use super::show::text as show;
    pub(in crate::client) use super::verb::{Told, Verb, text as verb};
}
