//! Names that are shortened to a unique prefix.

use serde::Deserialize;

use crate::client::connection::{Connection, segment};
use crate::client::error::ClientError;

/// Asks about an entry. Only when there is none of that name is it looked up as a prefix: nothing was done yet, and who
/// writes whole names needs no right to list them.
///
/// # Errors
/// What `ask` says, or the prefix fits more than one entry.
pub(super) fn ask<T>(
    connection: &Connection,
    written: &str,
    ask: impl Fn(&str) -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    match ask(&segment(written)) {
        Err(missing) if missing.is("entry_not_found") => {
            let Ok(rows) = connection.entries() else {
                return Err(missing);
            };
            let names = rows
                .iter()
                .filter_map(|row| serde_json::from_str::<Named>(row.get()).ok())
                .map(|named| named.name);
            match meant(written, names)? {
                Some(name) => ask(&segment(&name)),
                None => Err(missing),
            }
        }
        answer => answer,
    }
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// The one name that begins with `written`; `None`: there is none.
///
/// # Errors
/// There are more.
pub(in crate::client) fn meant(
    written: &str,
    names: impl Iterator<Item = String>,
) -> Result<Option<String>, ClientError> {
    let mut fitting: Vec<String> = names.filter(|name| name.starts_with(written)).collect();
    match fitting.len() {
        0 | 1 => Ok(fitting.pop()),
        _ => Err(ClientError::Ambiguous {
            prefix: written.to_owned(),
            names: fitting,
        }),
    }
}
