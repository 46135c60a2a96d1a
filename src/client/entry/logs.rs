//! `entry logs`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::names;
use crate::cli::LogsArgs;
use crate::client::Verdict;
use crate::client::connection::Connection;
use crate::client::error::ClientError;
use crate::client::output::{Output, array};
use crate::client::view::LogLine;
use crate::client::words::plain;

#[derive(Deserialize)]
struct Lines {
    lines: Vec<Box<RawValue>>,
}

/// Writes the last lines, oldest first.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    logs: &LogsArgs,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let answer: Lines = names::ask(connection, &logs.entry, |name| {
        connection.get_json(&format!(
            "/api/console/entries/{name}/logs?tail={}",
            logs.tail
        ))
    })?;
    let lines: Vec<LogLine> = connection.parse(&array(&answer.lines))?;
    output.rows(&answer.lines, || text(&lines))?;
    Ok(Verdict::Done)
}

/// The lines for people.
pub(in crate::client) fn text(lines: &[LogLine]) -> String {
    lines
        .iter()
        .map(|line| {
            format!(
                "{} {:<6} {}\n",
                plain(&line.time),
                plain(&line.stream),
                plain(&line.text)
            )
        })
        .collect()
}
