//! `entry ls`.

use treewarden_model::time::{Clock as _, WallTime};
use treewarden_runtime::clock::SystemClock;

use crate::client::Verdict;
use crate::client::connection::Connection;
use crate::client::error::ClientError;
use crate::client::output::{Output, array};
use crate::client::table;
use crate::client::view::Entry;
use crate::client::words::{ago, plain};

/// Lists all entries.
///
/// # Errors
/// See [`ClientError`].
pub(super) fn run(connection: &Connection, output: &mut Output) -> Result<Verdict, ClientError> {
    let rows = connection.entries()?;
    let entries: Vec<Entry> = connection.parse(&array(&rows))?;
    output.rows(&rows, || table(&entries, SystemClock::new().wall()))?;
    if entries.is_empty() {
        output.talk("there are no entries");
    }
    Ok(Verdict::Done)
}

/// The list for people.
pub(in crate::client) fn table(entries: &[Entry], now: WallTime) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let number =
        |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let names = |names: &[String]| {
        if names.is_empty() {
            "-".to_owned()
        } else {
            plain(&names.join(","))
        }
    };
    let row = |entry: &Entry| {
        vec![
            plain(&entry.name),
            plain(&entry.state),
            ago(&entry.since, now),
            number(entry.launch),
            number(entry.pid.map(u64::from)),
            entry.restarts.to_string(),
            names(&entry.provides),
            names(&entry.uses),
        ]
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    table::table(
        &[
            "NAME", "STATE", "FOR", "LAUNCH", "PID", "RESTARTS", "PROVIDES", "USES",
        ],
        &rows,
    )
}
