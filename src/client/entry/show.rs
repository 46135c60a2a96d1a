//! `entry show`.

use treewarden_model::time::{Clock as _, WallTime};
use treewarden_runtime::clock::SystemClock;

use super::names;
use crate::client::Verdict;
use crate::client::connection::Connection;
use crate::client::error::ClientError;
use crate::client::output::Output;
use crate::client::view::Entry;
use crate::client::words::{ago, causes, ended, plain, until};

/// Width of the labels.
const LABEL: usize = 12;

/// Shows one entry.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(
    connection: &Connection,
    entry: &str,
    output: &mut Output,
) -> Result<Verdict, ClientError> {
    let answer = names::ask(connection, entry, |name| {
        connection.get(&format!("/api/console/entries/{name}"))
    })?;
    let entry: Entry = connection.parse(&answer.text)?;
    output.answer(&answer.text, || text(&entry, SystemClock::new().wall()))?;
    Ok(Verdict::Done)
}

/// All about an entry.
pub(in crate::client) fn text(entry: &Entry, now: WallTime) -> String {
    let mut text = section(entry, now);
    let list = |names: &[String]| names.join(", ");
    field(&mut text, "desired", &entry.desired);
    field(
        &mut text,
        "declared by",
        &format!("{} (run: {})", entry.source, entry.run),
    );
    field(&mut text, "command", &entry.command.join(" "));
    field(&mut text, "provides", &list(&entry.provides));
    field(&mut text, "uses", &list(&entry.uses));
    field(&mut text, "restarts", &entry.restarts.to_string());
    field(&mut text, "isolation", &entry.isolation);
    for (name, limit) in &entry.limits {
        if let Some(limit) = limit {
            field(
                &mut text,
                "limit",
                &match &limit.enforced_by {
                    Some(held) => format!("{name} {} ({})", limit.limit, plain(held)),
                    None => format!("{name} {}", limit.limit),
                },
            );
        }
    }
    text
}

/// What an operator asks first: state, since when, why, what next, how it ended, what it wrote.
pub(in crate::client) fn section(entry: &Entry, now: WallTime) -> String {
    let mut text = format!(
        "{}: {} for {} (since {})\n",
        plain(&entry.name),
        plain(&entry.state),
        ago(&entry.since, now),
        plain(&entry.since)
    );
    field(&mut text, "why", &entry.reason);
    field(&mut text, "hint", entry.hint.as_deref().unwrap_or_default());
    if let Some(next) = &entry.next_retry_at {
        field(
            &mut text,
            "next",
            &format!("started again {}", until(next, now)),
        );
    }
    if let (Some(launch), Some(instance)) = (entry.launch, &entry.instance) {
        let pid = entry
            .pid
            .map(|pid| format!(", pid {pid}"))
            .unwrap_or_default();
        field(
            &mut text,
            "running",
            &format!(
                "launch {launch}{pid}, instance {} generation {}",
                instance.id, instance.generation
            ),
        );
    }
    if let Some(stop) = &entry.last_stop {
        let launch = stop
            .launch
            .map(|launch| format!("launch {launch} "))
            .unwrap_or_default();
        let cause = stop
            .cause
            .as_deref()
            .map(|cause| format!(", cause {cause}"))
            .unwrap_or_default();
        let when = stop
            .ended_at
            .as_deref()
            .map(|at| format!(", {} ago", ago(at, now)))
            .unwrap_or_default();
        field(
            &mut text,
            "last stop",
            &format!("{launch}{}{cause}{when}", ended(stop).unwrap_or_default()),
        );
        text.push_str(&causes(stop, &" ".repeat(LABEL + 4)));
    }
    field(
        &mut text,
        "last error",
        entry.last_error.as_deref().unwrap_or_default(),
    );
    if !entry.last_lines.is_empty() {
        text.push_str("  last lines\n");
        for line in &entry.last_lines {
            text.push_str(format!("    | {}", plain(line)).trim_end());
            text.push('\n');
        }
    }
    text
}

/// A line with a label; nothing when there is nothing to say.
fn field(text: &mut String, label: &str, value: &str) {
    if !value.is_empty() {
        text.push_str(&format!("  {label:<LABEL$}{}\n", plain(value)));
    }
}
