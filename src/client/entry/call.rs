//! `entry call`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::names;
use crate::cli::{CallArgs, ClientOptions, OutputFormat};
use crate::client::Verdict;
use crate::client::connection::Connection;
use crate::client::error::ClientError;
use crate::client::json;
use crate::client::output::Output;
use crate::client::progress::Progress;

/// How much longer than the plugin the client waits, so that the node's answer about the deadline arrives.
const LONGER: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Call<'a> {
    service: &'a str,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    result: Box<RawValue>,
}

/// Calls a service, and writes its result as the plugin wrote it: on one line, or indented with `-o json`.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    call: &CallArgs,
    options: &ClientOptions,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let body = Call {
        service: &call.service,
        method: &call.method,
        params: call.params.as_deref(),
        timeout: options
            .timeout
            .map(|timeout| format!("{} millis", timeout.as_millis().max(1))),
    };
    let progress = Progress::start(format!("calling {} of {}", call.method, call.entry));
    let answer = names::ask(connection, &call.entry, |name| {
        connection.post_with(&format!("/api/console/entries/{name}/call"), &body, LONGER)
    });
    drop(progress);
    let answer: Answer = connection.parse(&answer?.text)?;
    match output.format() {
        OutputFormat::Json => output.line(&json::indented(answer.result.get()))?,
        OutputFormat::Table | OutputFormat::Jsonl => {
            output.line(&json::one_line(answer.result.get()))?
        }
    }
    Ok(Verdict::Done)
}
