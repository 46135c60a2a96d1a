//! `status`: the whole node on one screen.

use serde_json::value::RawValue;
use treewarden_model::time::{Clock as _, WallTime};
use treewarden_runtime::clock::SystemClock;

use super::Verdict;
use super::connection::Connection;
use super::error::ClientError;
use super::output::{Output, array};
use super::view::{Entry, Node};
use super::words::{ago, ended, plain, span};
use super::{entry, table};
use crate::cli::OutputFormat;

/// Shows the node and its entries; those in trouble with all that helps.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(connection: &Connection, output: &mut Output) -> Result<Verdict, ClientError> {
    let rows = connection.entries()?;
    let node = match connection.get("/api/console/node") {
        Ok(answer) => Some(answer.text),
        // Who may see entries only is shown entries only.
        Err(error) if error.is("permission_denied") => None,
        Err(error) => return Err(error),
    };
    if output.format() == OutputFormat::Table {
        let entries: Vec<Entry> = connection.parse(&array(&rows))?;
        let node: Option<Node> = node
            .as_deref()
            .map(|node| connection.parse(node))
            .transpose()?;
        output.text(&text(node.as_ref(), &entries, SystemClock::new().wall()))?;
    } else {
        output.answer(&whole(node.as_deref(), &rows), String::new)?;
    }
    Ok(Verdict::Done)
}

fn whole(node: Option<&str>, rows: &[Box<RawValue>]) -> String {
    format!(
        "{{\"node\":{},\"entries\":{}}}",
        node.unwrap_or("null"),
        array(rows)
    )
}

/// The screen.
pub(super) fn text(node: Option<&Node>, entries: &[Entry], now: WallTime) -> String {
    let mut text = node.map(head).unwrap_or_default();
    if entries.is_empty() {
        text.push_str("no entries\n");
        return text;
    }
    let last_stop = |entry: &Entry| {
        entry
            .last_stop
            .as_ref()
            .and_then(ended)
            .unwrap_or_else(|| "-".to_owned())
    };
    let row = |entry: &Entry| {
        vec![
            plain(&entry.name),
            plain(&entry.state),
            ago(&entry.since, now),
            last_stop(entry),
            plain(&entry.reason),
        ]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    text.push_str(&table::table(
        &["NAME", "STATE", "FOR", "LAST STOP", "WHY"],
        &rows,
    ));
    for entry in entries.iter().filter(|entry| in_trouble(entry)) {
        text.push('\n');
        text.push_str(&entry::section(entry, now));
    }
    text
}

fn head(node: &Node) -> String {
    let ready = match &node.not_ready_reason {
        Some(why) => format!("not ready: {}", plain(why)),
        None if node.ready => "ready".to_owned(),
        None => "not ready".to_owned(),
    };
    let up = span(std::time::Duration::from_millis(node.uptime_ms));
    let mut text = format!(
        "node {}, version {}, up {up}, {ready}\n",
        plain(&node.id),
        plain(&node.version)
    );
    for warning in &node.warnings {
        text.push_str(&format!("warning: {}\n", plain(warning)));
    }
    text.push('\n');
    text
}

/// Whether somebody should look at it.
fn in_trouble(entry: &Entry) -> bool {
    let state = matches!(
        entry.state.as_str(),
        "waiting" | "backing_off" | "failed" | "blocked" | "removing"
    );
    let unclean = entry
        .last_stop
        .as_ref()
        .is_some_and(|stop| stop.cleanup_error.is_some());
    state || unclean || entry.hint.is_some() || entry.last_error.is_some()
}
