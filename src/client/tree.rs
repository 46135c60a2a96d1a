//! `tree`.

use super::Verdict;
use super::connection::Connection;
use super::error::ClientError;
use super::json;
use super::output::Output;
use crate::cli::{OutputFormat, TreeFormat};

/// Shows the live actor tree as the node draws it.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    format: Option<TreeFormat>,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let one_line = output.format() == OutputFormat::Jsonl;
    let format = match (format, output.format()) {
        (Some(format), _) => format,
        (None, OutputFormat::Table) => TreeFormat::Text,
        (None, OutputFormat::Json | OutputFormat::Jsonl) => TreeFormat::Json,
    };
    let name = match format {
        TreeFormat::Text => "text",
        TreeFormat::Json => "json",
        TreeFormat::Dot => "dot",
    };
    let answer = connection.get(&format!("/debug/actors?format={name}"))?;
    match format {
        TreeFormat::Json if one_line => output.line(&json::one_line(&answer.text))?,
        TreeFormat::Json => output.line(&json::indented(&answer.text))?,
        TreeFormat::Text | TreeFormat::Dot => output.text(&answer.text)?,
    }
    Ok(Verdict::Done)
}
